/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/cli/everywhere/everywhere.h"

struct everywhere_printer {
	bool json;
};

static unsigned long long number(const json_t *object, const char *name)
{
	return (unsigned long long)json_integer_value(
		json_object_get(object, name));
}

static const char *size_of(unsigned long long bytes, char text[TEXT_SIZE_ROOM])
{
	return text_format_size((double)bytes, TEXT_UNITS_BRIEF, text);
}

static int print_group(const json_t *group)
{
	const json_t *member =
		json_array_get(json_object_get(group, "members"), 0);
	const json_t *files = json_object_get(member, "files");
	char text[TEXT_SIZE_ROOM];
	size_t i;

	printf("%llu  %zu %s, %s in exact copies\n", number(group, "group"),
	       json_array_size(files),
	       text_plural(json_array_size(files), "file", "files"),
	       size_of(number(group, "saved_exact"), text));
	for (i = 0; i < json_array_size(files); i++) {
		char *name = everywhere_name(json_array_get(files, i));

		if (!name)
			return -ENOMEM;
		printf("  %3s %6s  ", i ? "=" : "100",
		       size_of(number(member, "size"), text));
		cli_print_escaped(name, ESCAPE_TERMINAL);
		printf("\n");
		free(name);
	}
	printf("\n");
	return 0;
}

static void print_totals(const json_t *totals)
{
	char text[TEXT_SIZE_ROOM];

	printf("%llu %s, %llu %s: %s in exact copies\n",
	       number(totals, "groups"),
	       text_plural(number(totals, "groups"), "group", "groups"),
	       number(totals, "files"),
	       text_plural(number(totals, "files"), "file", "files"),
	       size_of(number(totals, "exact_bytes"), text));
}

static int take_line(void *arg, json_t *line)
{
	const struct everywhere_printer *p = arg;
	const json_t *totals = json_object_get(line, "totals");

	if (p->json)
		return cli_print_json(json_incref(line)) ? -EIO : 0;
	if (!totals)
		return print_group(line);
	print_totals(totals);
	return 0;
}

int everywhere_groups(const struct mount *mount, const char *db,
		      uint64_t min_size, bool json)
{
	struct everywhere e = { .mount = mount, .db = db };
	struct everywhere_printer p = { json };
	int err = everywhere_ask(&e,
				 json_pack("{s:{s:I}}", "groups", "min_size",
					   (json_int_t)min_size),
				 take_line, &p);

	if (err) {
		cli_complain_errno(mount->root, err);
		return EXIT_FAILED;
	}
	if (!*e.reason)
		return EXIT_OK;
	cli_complain(mount->root, "the groups are not complete: %s", e.reason);
	return EXIT_INCOMPLETE;
}
