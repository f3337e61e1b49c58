/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/groups/groups_print.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/cli/cli.h"
#include "core/cli/record.h"

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

static void record_file(struct record *r, const struct found_file *f)
{
	size_t i;

	record_object(r, NULL);
	record_path(r, "path", f->path);
	record_time(r, "mtime", f->mtime_ns);
	record_number(r, "disk", (int64_t)f->disk);
	if (f->goes)
		record_flag(r, "removable", true);
	if (f->keep)
		record_flag(r, "keep", true);
	if (f->nlink > 1)
		record_number(r, "nlink", (int64_t)f->nlink);
	if (f->link_count)
		record_list(r, "links");
	for (i = 0; i < f->link_count; i++) {
		record_object(r, NULL);
		record_path(r, "path", f->links[i]);
		record_close(r);
	}
	if (f->link_count)
		record_close(r);
	record_close(r);
}

static void record_member(struct record *r, const struct found_member *m,
			  bool head)
{
	size_t i;

	record_object(r, NULL);
	record_number(r, "score", m->score);
	if (head)
		record_flag(r, "head", true);
	record_number(r, "size", (int64_t)m->size);
	record_text(r, "xxh128", m->xxh128);
	record_list(r, "files");
	for (i = 0; i < m->file_count; i++)
		record_file(r, &m->files[i]);
	record_close(r);
	record_close(r);
}

static int print_group_json(const struct groups_printer *p,
			    const struct found_group *group, int threshold)
{
	struct record r;
	size_t i;

	record_begin(&r);
	record_number(&r, "group", (int64_t)p->printed);
	record_path(&r, "root", p->root);
	record_number(&r, "threshold", threshold);
	record_number(&r, "saved_exact", (int64_t)group->saved_exact);
	record_number(&r, "saved_near", (int64_t)group->saved_near);
	record_list(&r, "members");
	for (i = 0; i < group->count; i++)
		record_member(&r, &group->members[i], !i);
	record_close(&r);
	return record_print(&r) ? -EIO : 0;
}

static int print_totals_json(const struct groups_totals *t)
{
	struct record r;

	record_begin(&r);
	record_object(&r, "totals");
	record_number(&r, "groups", (int64_t)t->groups);
	record_number(&r, "files", (int64_t)t->files);
	record_number(&r, "exact_bytes", (int64_t)t->exact_bytes);
	record_number(&r, "near_bytes", (int64_t)t->near_bytes);
	record_flag(&r, "complete", !t->incomplete);
	record_text(&r, "state", t->incomplete ? "incomplete" : "complete");
	record_close(&r);
	return record_print(&r) ? -EIO : 0;
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
