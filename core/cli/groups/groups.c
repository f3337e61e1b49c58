/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/groups/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/act/dedup/dedup.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cli/everywhere/everywhere.h"
#include "core/cli/progress.h"

/* ---- text ---- */

enum { KEEP = 6 }; /* the column that is shown with --keep */

static struct column columns[] = {
	{ "score", "SCORE", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "by", "BY", COLUMN_WORD, COLUMN_VERBOSE },
	{ "size", "SIZE", COLUMN_SIZE, COLUMN_SHOWN },
	{ "on_disk", "ON DISK", COLUMN_SIZE, COLUMN_VERBOSE },
	{ "mtime", "DATE", COLUMN_DATE, COLUMN_SHOWN },
	{ "xxh128", "XXH128", COLUMN_WORD, COLUMN_VERBOSE },
	[KEEP] = { "keep", "KEEP", COLUMN_WORD, COLUMN_VERBOSE },
	{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
	{ 0 },
};

static const struct {
	const char *key, *text;
} orders[] = {
	[FOUND_BY_DOCUMENT_DATE] = { "document_date", "date in the document" },
	[FOUND_BY_NAME] = { "name", "name" },
	[FOUND_BY_MTIME] = { "mtime", "time of change" },
};

static void print_title(const struct groups_printer *p,
			const struct found_group *group, enum found_order order)
{
	char exact[TEXT_SIZE_ROOM], near[TEXT_SIZE_ROOM];

	printf("\n%zu  %zu %s", p->printed, group->files,
	       text_plural(group->files, "file", "files"));
	if (group->saved_exact)
		printf(", %s in exact copies",
		       size_text(group->saved_exact, exact));
	if (group->saved_near)
		printf(", %s in near copies",
		       size_text(group->saved_near, near));
	if (order)
		printf("; newest first, by %s", orders[order].text);
	putchar('\n');
}

/* "=" in place of the score: another copy of the file above. */
static int print_file(struct groups_printer *p, const struct found_member *m,
		      size_t i, enum found_order order)
{
	const struct found_file *f = &m->files[i];
	const int64_t date_ns = order == FOUND_BY_DOCUMENT_DATE ?
					m->document_date * 1000000000 :
					f->mtime_ns;
	json_t *row =
		json_pack("{s:o, s:s*, s:I, s:I, s:o*, s:s, s:s*}", "score",
			  i ? json_string("=") : json_integer(m->score), "by",
			  m->score == 100 ? NULL : m->by, "size",
			  (json_int_t)m->size, "on_disk", (json_int_t)f->disk,
			  "mtime", date_ns ? row_time(date_ns) : NULL, "xxh128",
			  m->xxh128, "keep", f->keep ? "keep" : NULL);

	row = json_with_names(row, f->names, f->name_count);
	return table_row(&p->table, json_with_path(row, "root", p->root));
}

/* A list that files are removed by is not made on the word of a hash: anybody can
 * make two contents of one XXH128. */
static bool is_copy(struct groups_printer *p, const struct found_member *m,
		    size_t i)
{
	const struct found_file *f = &m->files[i];
	struct dedup_result result;

	if (!dedup_verify(p->mount, &m->files[m->stays], f, &result))
		return true;
	cli_complain(f->names[0], "not named: %s", result.reason);
	p->refused++;
	return false;
}

/* With -0 all names of the exact copies that could go. */
static int print_text(struct groups_printer *p, const struct found_group *group,
		      enum found_order order)
{
	const bool nul = p->table.output.nul;
	size_t i, k;
	int code = EXIT_OK;

	table_titles(&p->table);
	if (!nul)
		print_title(p, group, order);
	for (i = 0; i < group->count; i++) {
		const struct found_member *m = &group->members[i];

		for (k = 0; k < m->file_count && !code; k++)
			if (!nul || (m->files[k].goes && is_copy(p, m, k)))
				code = print_file(p, m, k, order);
	}
	return code;
}

/* ---- a group ---- */

int groups_print(struct groups_printer *p, struct found_group *group,
		 int threshold)
{
	enum found_order order = FOUND_BY_NOTHING;
	int err = p->table.output.nul ? 0 : found_group_order(group, &order);
	json_t *line;

	if (err)
		return err;
	p->printed++;
	if (!p->table.output.json)
		return print_text(p, group, order);
	line = json_pack("{s:I, s:i, s:I, s:I, s:s*, s:o}", "group",
			 (json_int_t)p->printed, "threshold", threshold,
			 "saved_exact", (json_int_t)group->saved_exact,
			 "saved_near", (json_int_t)group->saved_near, "order",
			 orders[order].key, "members",
			 found_members_json(group, false));
	return cli_print_json(json_with_path(line, "root", p->root));
}

int groups_print_totals(struct groups_printer *p, const struct groups_totals *t)
{
	char exact[TEXT_SIZE_ROOM], near[TEXT_SIZE_ROOM];

	if (p->table.output.json)
		return table_totals(
			JSON_NUMBERS({ "groups", t->groups },
				     { "files", t->files },
				     { "exact_bytes", t->exact_bytes },
				     { "near_bytes", t->near_bytes },
				     { "failed", t->failed },
				     { "failed_texts", t->failed_texts }),
			!t->incomplete, "incomplete");
	if (p->table.output.nul)
		return 0;
	printf("%s%llu %s, %llu %s: %s in exact copies, %s in near copies\n",
	       p->printed ? "\n" : "", (unsigned long long)t->groups,
	       text_plural(t->groups, "group", "groups"),
	       (unsigned long long)t->files,
	       text_plural(t->files, "file", "files"),
	       size_text(t->exact_bytes, exact),
	       size_text(t->near_bytes, near));
	return 0;
}

/* ---- the command ---- */

struct groups_job {
	struct groups_asking asking; /* first */
	struct groups_printer printer;
	bool everywhere; /* of all hosts */
};

/* Other hosts' files are known by their contents alone. */
static int list_everywhere(struct groups_job *job, char **operands)
{
	struct groups_asking *a = &job->asking;
	int code;

	if (operand_count(operands) != 1)
		return cli_usage_error(&command_groups,
				       "--everywhere asks one mount");
	code = mount_find(*operands, &a->mount);
	return code ? code :
		      everywhere_groups(&a->mount, a->wish.filter.min_size,
					&job->printer);
}

static int list(struct groups_job *job)
{
	struct groups *g = &job->asking.groups;
	struct groups_printer *p = &job->printer;
	const uint64_t limit = job->asking.best.limit;
	int code = groups_asking_begin(&job->asking), event = 0;

	p->mount = &job->asking.mount;
	p->root = job->asking.mount.root;
	/* Groups on a terminal show themselves how far it is. */
	while (!code &&
	       (event = progress_groups_next(g, "searching for groups",
					     isatty(STDOUT_FILENO))) > 0) {
		if (limit && p->printed == limit)
			continue;
		code = groups_print(p, &g->group, g->totals.threshold);
		(void)fflush(stdout);
	}
	if (!code && !event)
		code = groups_print_totals(p, &g->totals);
	if (code || event)
		return groups_asking_explain(&job->asking, code ? code : event);
	if (g->totals.incomplete)
		return cli_complain_incomplete(p->root, g->totals.failed,
					       g->totals.failed_texts);
	return p->refused ? EXIT_INCOMPLETE : EXIT_OK;
}

static int run(const struct command *self, char **paths)
{
	struct groups_job *job = self->job;
	int code;

	if (job->everywhere)
		return list_everywhere(job, paths);
	if (job->asking.wish.keep.count)
		columns[KEEP].place = COLUMN_SHOWN;
	job->printer.table.relative = *paths && **paths != '/';
	code = groups_asking_operands(&job->asking, self, paths);
	return code ? code : list(job);
}

static const struct option_row options[] = {
	GROUPS_ASKING_OPTIONS,
	{ "json", 0, NULL, "an object a line, the last one with totals",
	  OPTION_FLAG(struct groups_job, printer.table.output.json),
	  .excludes = "null" },
	{ "null", '0', NULL,
	  "the paths of exact copies that could go, each ended by NUL",
	  OPTION_FLAG(struct groups_job, printer.table.output.nul) },
	{ "verbose", 'v', NULL, "also bytes on disk, XXH128, what is kept",
	  OPTION_FLAG(struct groups_job, printer.table.output.verbose) },
	{ "everywhere", 0, NULL,
	  "identical files on several hosts, by the mount's kin-share",
	  OPTION_FLAG(struct groups_job, everywhere),
	  .excludes = "across keep include exclude threshold limit null" },
	{ 0 },
};

const struct command command_groups = {
	.name = "groups",
	.synopsis =
		"groups [OPTION]... MOUNT [PATH]...\n"
		"       kin groups --everywhere [--min-size N] [--json] MOUNT",
	.summary = "List the near-duplicates of a mount in groups",
	.help = "Each group has a head, of score 100; the scores of the others are those with the\n"
		"head; = marks one more copy of the file above.  Members come from new to old,\n"
		"groups by the space that could be saved.  kin dedup reads --json.\n",
	.options = options,
	.notes =
		"Exit status: 0 ok; 1 failed; 2 usage; 3 the groups are not complete.\n",
	.job = &(struct groups_job){ .printer.table.columns = columns },
	.run = run,
};
