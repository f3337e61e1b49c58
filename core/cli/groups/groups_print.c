/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/groups/groups_print.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/cli/cli.h"

/* How kin groups prints a group. */

static const char *size_of(uint64_t bytes, char out[TEXT_SIZE_ROOM])
{
	return text_format_size((double)bytes, TEXT_UNITS_BRIEF, out);
}

static bool is_root(const struct groups_printer *p)
{
	return strcmp(p->root, "/") == 0;
}

/* ---- text ---- */

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

static void style(const struct groups_printer *p, const char *code)
{
	if (p->terminal)
		fputs(code, stdout);
}

static void print_path(const struct groups_printer *p, const char *path)
{
	if (!is_root(p))
		cli_print_escaped(p->root, ESCAPE_TERMINAL);
	putchar('/');
	cli_print_escaped(path, ESCAPE_TERMINAL);
}

static void print_title(const struct groups_printer *p,
			const struct found_group *group)
{
	char exact[TEXT_SIZE_ROOM], near[TEXT_SIZE_ROOM];

	style(p, BOLD);
	printf("%zu  %zu %s", p->printed, group->files,
	       text_plural(group->files, "file", "files"));
	if (group->saved_exact)
		printf(", %s in exact copies",
		       size_of(group->saved_exact, exact));
	if (group->saved_near)
		printf(", %s in near copies", size_of(group->saved_near, near));
	style(p, PLAIN);
	putchar('\n');
}

/* "=" in place of the score: another copy of the file above; "+": another name
 * of it. */
static void print_file(const struct groups_printer *p,
		       const struct found_member *m, size_t i)
{
	char size[TEXT_SIZE_ROOM];
	size_t k;

	if (i)
		printf("    =");
	else
		printf("%5d", m->score);
	printf("%7s  ", size_of(m->size, size));
	if (i)
		style(p, DIM);
	print_path(p, m->files[i].path);
	if (i)
		style(p, PLAIN);
	if (m->files[i].keep)
		printf("  (keep)");
	putchar('\n');
	for (k = 0; k < m->files[i].link_count; k++) {
		fputs("    +         ", stdout);
		print_path(p, m->files[i].links[k]);
		putchar('\n');
	}
}

static void print_text(const struct groups_printer *p,
		       const struct found_group *group)
{
	size_t i, k;

	if (p->printed > 1)
		putchar('\n');
	print_title(p, group);
	for (i = 0; i < group->count; i++)
		for (k = 0; k < group->members[i].file_count; k++)
			print_file(p, &group->members[i], k);
}

/* ---- JSON ---- */

/* Takes value. */
static int set(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value) ? -ENOMEM : 0;
}

static int add_links(json_t *object, const struct found_file *file)
{
	json_t *links = json_array();
	size_t i;
	int err = links ? 0 : -ENOMEM;

	for (i = 0; i < file->link_count && !err; i++) {
		json_t *link = json_object();

		err = link ? cli_set_json_path(link, "path", file->links[i]) :
			     -ENOMEM;
		if (json_array_append_new(links, link) && !err)
			err = -ENOMEM;
	}
	if (!err)
		err = json_object_set(object, "links", links) ? -ENOMEM : 0;
	json_decref(links);
	return err;
}

static int fill_file(json_t *object, const struct found_file *file)
{
	int err = cli_set_json_path(object, "path", file->path);

	if (!err)
		err = set(object, "mtime",
			  json_real((double)file->mtime_ns / 1e9));
	if (!err)
		err = set(object, "disk", json_integer((json_int_t)file->disk));
	if (!err && file->goes)
		err = set(object, "removable", json_true());
	if (!err && file->keep)
		err = set(object, "keep", json_true());
	if (!err && file->nlink > 1)
		err = set(object, "nlink",
			  json_integer((json_int_t)file->nlink));
	return err || !file->link_count ? err : add_links(object, file);
}

static int add_files(json_t *array, const struct found_member *m)
{
	size_t i;
	int err = 0;

	for (i = 0; i < m->file_count && !err; i++) {
		json_t *object = json_object();

		err = object ? fill_file(object, &m->files[i]) : -ENOMEM;
		if (json_array_append_new(array, object) && !err)
			err = -ENOMEM;
	}
	return err;
}

static int fill_member(json_t *object, const struct found_member *m, bool head)
{
	json_t *files = json_array();
	int err = files ? add_files(files, m) : -ENOMEM;

	if (!err)
		err = set(object, "score", json_integer(m->score));
	if (!err && head)
		err = set(object, "head", json_true());
	if (!err)
		err = set(object, "size", json_integer((json_int_t)m->size));
	if (!err)
		err = set(object, "xxh128", json_string(m->xxh128));
	if (!err && json_object_set(object, "files", files))
		err = -ENOMEM;
	json_decref(files);
	return err;
}

static int add_members(json_t *array, const struct found_group *group)
{
	size_t i;
	int err = 0;

	for (i = 0; i < group->count && !err; i++) {
		json_t *object = json_object();

		err = object ? fill_member(object, &group->members[i], !i) :
			       -ENOMEM;
		if (json_array_append_new(array, object) && !err)
			err = -ENOMEM;
	}
	return err;
}

static int print_group_json(const struct groups_printer *p,
			    const struct found_group *group, int threshold)
{
	json_t *object = json_object(), *members = json_array();
	int err = object && members ? add_members(members, group) : -ENOMEM;

	if (!err)
		err = set(object, "group",
			  json_integer((json_int_t)p->printed));
	if (!err)
		err = cli_set_json_path(object, "root", p->root);
	if (!err)
		err = set(object, "threshold", json_integer(threshold));
	if (!err)
		err = set(object, "saved_exact",
			  json_integer((json_int_t)group->saved_exact));
	if (!err)
		err = set(object, "saved_near",
			  json_integer((json_int_t)group->saved_near));
	if (!err && json_object_set(object, "members", members))
		err = -ENOMEM;
	json_decref(members);
	if (!err)
		return cli_print_json(object) ? -EIO : 0;
	json_decref(object);
	return err;
}

static int print_totals_json(const struct groups_totals *t)
{
	const char *state = t->incomplete ? "incomplete" : "complete";
	json_t *line = json_pack("{s:{s:I, s:I, s:I, s:I, s:b, s:s}}", "totals",
				 "groups", (json_int_t)t->groups, "files",
				 (json_int_t)t->files, "exact_bytes",
				 (json_int_t)t->exact_bytes, "near_bytes",
				 (json_int_t)t->near_bytes, "complete",
				 !t->incomplete, "state", state);

	return line ? cli_print_json(line) ? -EIO : 0 : -ENOMEM;
}

/* ---- paths ---- */

static void print_nul_path(const struct groups_printer *p, const char *path)
{
	printf("%s/%s%c", is_root(p) ? "" : p->root, path, '\0');
}

/* All names of the exact copies that could go. */
static void print_nul(const struct groups_printer *p,
		      const struct found_group *group)
{
	size_t i, k, n;

	for (i = 0; i < group->count; i++)
		for (k = 0; k < group->members[i].file_count; k++) {
			const struct found_file *f =
				&group->members[i].files[k];

			if (!f->goes)
				continue;
			print_nul_path(p, f->path);
			for (n = 0; n < f->link_count; n++)
				print_nul_path(p, f->links[n]);
		}
}

/* ---- all ---- */

int groups_print(struct groups_printer *p, const struct found_group *group,
		 int threshold)
{
	p->printed++;
	switch (p->format) {
	case GROUPS_TEXT:
		print_text(p, group);
		break;
	case GROUPS_JSON:
		return print_group_json(p, group, threshold);
	case GROUPS_NUL:
		print_nul(p, group);
		break;
	}
	return 0;
}

int groups_print_totals(struct groups_printer *p, const struct groups_totals *t)
{
	char exact[TEXT_SIZE_ROOM], near[TEXT_SIZE_ROOM];

	if (p->format == GROUPS_JSON)
		return print_totals_json(t);
	if (p->format != GROUPS_TEXT)
		return 0;
	if (p->printed)
		putchar('\n');
	style(p, BOLD);
	printf("%llu %s, %llu %s: %s in exact copies, %s in near "
	       "copies\n",
	       (unsigned long long)t->groups,
	       text_plural(t->groups, "group", "groups"),
	       (unsigned long long)t->files,
	       text_plural(t->files, "file", "files"),
	       text_format_size((double)t->exact_bytes, TEXT_UNITS_FULL, exact),
	       text_format_size((double)t->near_bytes, TEXT_UNITS_FULL, near));
	style(p, PLAIN);
	return 0;
}
