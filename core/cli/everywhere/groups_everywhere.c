/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/cli/cli.h"
#include "core/cli/everywhere/everywhere.h"
#include "core/cli/groups/groups.h"

/* A file is HOST:PATH in text. */
static int name_files(json_t *line)
{
	json_t *members = json_object_get(line, "members"), *member, *file;
	size_t i, k;
	int err = 0;

	json_array_foreach(members, i, member)
		json_array_foreach(json_object_get(member, "files"), k, file)
	{
		char *name = everywhere_name(file);

		if (!err)
			err = name ? json_set_path(file, "path", name) :
				     -ENOMEM;
		free(name);
	}
	return err;
}

static int print_text(struct groups_printer *p, json_t *line)
{
	struct groups g = { 0 };
	int err = name_files(line);

	if (!err)
		err = groups_take_line(&g, line);
	if (!err)
		err = groups_print_totals(p, &g.totals);
	else if (err == GROUPS_GROUP)
		err = groups_print(p, &g.group, 0);
	groups_close(&g);
	return err == -EINVAL ? -EBADMSG : err;
}

int everywhere_groups(const struct mount *mount, uint64_t min_size,
		      const struct output *output)
{
	struct groups_printer p = { 0 };
	struct everywhere e;
	json_t *line;
	int err = everywhere_ask(&e, mount,
				 json_pack("{s:{s:I}}", "groups", "min_size",
					   (json_int_t)min_size));

	groups_printer_init(&p, output, false);
	while (!err && (line = everywhere_next(&e)))
		if (!output->json)
			err = print_text(&p, line);
		else if (cli_print_json(json_incref(line)))
			err = -EIO;
	client_close(&e.answer);
	if (err)
		return cli_complain_errno(mount->root, err);
	if (!*e.reason)
		return EXIT_OK;
	cli_complain(mount->root, "the groups are not complete: %s", e.reason);
	return EXIT_INCOMPLETE;
}
