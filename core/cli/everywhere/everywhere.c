/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/everywhere/everywhere.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/cli/cli.h"
#include "core/cli/groups/groups.h"

/* A descriptor of the directory of the mount's catalog. */
static int open_catalog(const struct mount *mount)
{
	char *path = mount_get_place(mount, "catalog", "path");
	int fd = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	free(path);
	return fd;
}

int everywhere_ask(struct lines *c, const struct mount *mount, json_t *request)
{
	const int dir = open_catalog(mount);
	const int fd = client_ask_share(dir, request);

	*c = (struct lines){ 0 };
	if (dir >= 0)
		close(dir);
	if (fd >= 0)
		return client_answer(c, fdopen(fd, "re"));
	return fd == -ENOMEM ? fd : 0;
}

json_t *everywhere_next(struct lines *c)
{
	return c->in && client_next(c) > 0 ? c->line : NULL;
}

const char *everywhere_doubt(const struct lines *c)
{
	if (!c->in)
		return "no kin-share publishes this mount";
	if (!c->ended)
		return "kin-share ended before its answer did";
	return json_is_true(json_object_get(c->line, "complete")) ?
		       NULL :
		       json_string_value(json_object_get(c->line, "reason"));
}

/* ---- names ---- */

/* A path that is not told is the id of nothing that can be opened. */
char *everywhere_name(const json_t *file)
{
	const char *host = json_string_value(json_object_get(file, "host"));
	char *path = json_get_path(file, "path"), *name = NULL;

	if (asprintf(&name, "%s:%s", host ? host : "?",
		     path ? path : "(not told)") < 0)
		name = NULL;
	free(path);
	return name;
}

/* ---- the state ---- */

json_t *everywhere_status(const struct mount *mount)
{
	struct lines c;
	int catalog = open_catalog(mount);
	json_t *share = NULL;
	bool published = catalog >= 0 && !faccessat(catalog, "share", F_OK, 0);

	if (catalog >= 0)
		close(catalog);
	if (!published)
		return NULL;
	if (!everywhere_ask(&c, mount,
			    json_pack("{s:s}", "relation", "status")))
		share = json_incref(everywhere_next(&c));
	lines_close(&c);
	return share ? share :
		       json_pack("{s:b, s:b, s:s}", "connected", 0, "current",
				 0, "error", "kin-share does not run");
}

/* ---- groups ---- */

/* A file is HOST:PATH in text. */
static int name_files(json_t *line)
{
	json_t *members = json_object_get(line, "members"), *member, *file;
	size_t i, k;
	int err = 0;

	json_array_foreach(members, i, member)
		json_array_foreach(json_object_get(member, "files"), k, file) {
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
	int code = name_files(line);

	if (!code)
		code = groups_take_line(&g, line);
	if (code == GROUPS_GROUP)
		code = groups_print(p, &g.group, 0);
	else if (code == GROUPS_END)
		code = groups_print_totals(p, &g.totals);
	groups_close(&g);
	return code == -EINVAL ? -EBADMSG : code;
}

int everywhere_groups(const struct mount *mount, uint64_t min_size,
		      struct groups_printer *p)
{
	static struct lines c;
	const char *doubt;
	json_t *line;
	int code = everywhere_ask(&c, mount,
				  json_pack("{s:s, s:I}", "relation", "groups",
					    "min_size", (json_int_t)min_size));

	while (!code && (line = everywhere_next(&c)))
		code = p->table.output.json ?
			       cli_print_json(json_incref(line)) :
			       print_text(p, line);
	doubt = code ? NULL : everywhere_doubt(&c);
	if (doubt) {
		cli_complain(mount->root, "the groups are not complete: %s",
			     doubt);
		code = EXIT_INCOMPLETE;
	}
	return code;
}
