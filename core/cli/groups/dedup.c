/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/act/dedup/dedup.h"
#include "core/base/array.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/catalog/catalog.h"
#include "core/cli/groups/groups.h"
#include "core/cli/progress.h"

static struct dedup_job {
	struct groups_asking asking; /* first */
	const char *undo;            /* a journal */
	const char *journal;         /* the one that is written */
	struct table table;
	const char *how; /* NULL: not said */
	bool blocks;
	bool stopped; /* the journal cannot be written any more */
	struct dedup_plan plan;
	size_t done, left;
	uint64_t bytes; /* set free by what was done, or what would be */
} job;

static void tell_skipped(const char *path, const char *reason)
{
	cli_complain(path, "left alone: %s", reason);
	job.left++;
}

/* ---- carrying it out ---- */

/* -v: of a method that shares blocks. */
static const struct column columns[] = {
	{ "method", "METHOD", COLUMN_WORD, COLUMN_SHOWN },
	{ "bytes", "SAVED", COLUMN_SIZE, COLUMN_SHOWN },
	{ "shared_before", "SHARED", COLUMN_SIZE, COLUMN_VERBOSE },
	{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
	{ "kept", "keep", COLUMN_NOTE, COLUMN_SHOWN },
	{ 0 },
};

/* Does one step, or without a journal says what it would come to. */
static int do_step(const struct dedup_file *f, FILE *j)
{
	const struct dedup_rules *rules = &job.plan.rules;
	struct dedup_result r;
	bool done = !dedup_apply(rules, f, j, &r);
	json_t *row;

	job.stopped = r.no_journal;
	job.done += done;
	job.bytes += r.gain;
	if (!done && !job.table.output.json)
		tell_skipped(f->found.names[0], r.reason);
	else
		job.left += !done;
	if (!job.table.output.json && (rules->apply || !done))
		return EXIT_OK;
	row = json_pack(
		"{s:s, s:b, s:I, s:o*, s:s*}", "method",
		dedup_method_names[rules->method], "done", rules->apply && done,
		"bytes", (json_int_t)r.gain, "shared_before",
		row_number(dedup_is_sharing(rules->method) ? (int64_t)r.shared :
							     -1),
		"reason", done ? NULL : r.reason);
	row = json_with_names(row, f->found.names, f->found.name_count);
	return table_row(&job.table,
			 json_with_path(row, "kept", f->keep->found.names[0]));
}

/* By default DIRECTORY/dedup/DATE-PID.journal. */
static int create_journal(FILE **out)
{
	const time_t now = time(NULL);
	struct buf path = { 0 };
	char date[32];
	struct tm tm;
	int err = 0;

	if (!job.journal) {
		err = catalog_state_directory(&path);
		if (!err)
			err = buf_append_text(&path, "/dedup");
		if (!err)
			err = catalog_make_directories(path.data);
		if (!err && localtime_r(&now, &tm) &&
		    strftime(date, sizeof(date), "%Y-%m-%d-%H%M%S", &tm))
			err = buf_append_format(&path, "/%s-%d.journal", date,
						(int)getpid());
		job.journal = path.data;
		if (err)
			return cli_complain(job.journal,
					    "no place for the journal: %s; "
					    "name one with --journal",
					    err_text(err));
	}
	err = dedup_journal_create(job.journal, out);
	if (err == -EPERM)
		return cli_complain(job.journal,
				    "the directory of the journal belongs to "
				    "another user, or others may write to the "
				    "directory, and so replace it; nothing was "
				    "changed");
	return err ? cli_complain(job.journal,
				  "the journal cannot be written: %s; nothing "
				  "was changed",
				  err_text(err)) :
		     EXIT_OK;
}

static int print_end(void)
{
	const enum dedup_method method = job.plan.rules.method;
	const bool sharing = dedup_is_sharing(method);
	const size_t linked = job.plan.linked_count;
	const char *files = text_plural(job.done, "file", "files");
	char size[TEXT_SIZE_ROOM];

	if (job.table.output.json)
		return table_totals(
			json_with_path(
				json_pack("{s:s, s:b, s:I, s:I, s:I, s:I}",
					  "method", dedup_method_names[method],
					  "applied", job.plan.rules.apply,
					  "files", (json_int_t)job.done,
					  "bytes", (json_int_t)job.bytes,
					  "left_alone", (json_int_t)job.left,
					  "linked_before", (json_int_t)linked),
				"journal",
				job.plan.rules.apply ? job.journal : NULL),
			!job.left, NULL);
	(void)size_text((uint64_t)job.bytes, size);
	if (job.plan.rules.apply)
		printf("%zu %s %s, %s freed, %zu left alone.\n", job.done,
		       files,
		       !sharing ? "replaced" :
				  text_plural(job.done, "shares blocks",
					      "share blocks"),
		       size, job.left);
	else
		printf("%zu %s would %s %s.  Nothing was changed; --apply does "
		       "it.\n",
		       job.done, files,
		       sharing ? "share blocks, which frees at least" :
				 "be replaced, which frees",
		       size);
	if (linked)
		printf("%zu %s of a kept file already.\n", linked,
		       text_plural(linked, "path is a hard link",
				   "paths are hard links"));
	if (job.plan.rules.apply && job.done && !sharing) {
		fputs("kin dedup --undo ", stdout);
		utf8_print_safe(stdout, job.journal);
		puts("   takes it back");
	}
	return EXIT_OK;
}

static int run_plan(void)
{
	const bool sharing = dedup_is_sharing(job.plan.rules.method);
	struct dedup_file **f = job.plan.files;
	FILE *j = NULL;
	bool told = sharing;
	/* Shared blocks change no content, so there is nothing to note. */
	const bool journal =
		job.plan.rules.apply && job.plan.rules.method != DEDUP_BLOCKS;
	int code = journal ? create_journal(&j) : EXIT_OK;

	job.table.columns = columns;
	job.table.output.verbose = sharing;
	for (; f < job.plan.files + job.plan.file_count && !code; f++) {
		if (!(*f)->keep)
			continue;
		if (job.stopped) {
			job.left++;
			continue;
		}
		if (j && !told)
			cli_complain(job.journal,
				     "has each step, also if this run is "
				     "interrupted: kin dedup --undo takes "
				     "them back");
		told = true;
		code = do_step(*f, j);
		if (job.stopped)
			cli_complain(job.journal, "cannot be written any "
						  "more: no other file is "
						  "replaced");
	}
	if (j)
		(void)fclose(j);
	return code ? code : print_end();
}

/* ---- taking it back ---- */

static int take_back(void)
{
	struct dedup_undo n = {
		.force_metadata = job.plan.rules.force_metadata,
		.tell = tell_skipped,
	};
	int err = dedup_undo(job.undo, &n);
	const char *why = err == -EINVAL ? "is not a journal of kin dedup" :
			  err == -EPERM  ? "another user may have written it" :
			  err == -EBUSY  ? "kin dedup is still writing it" :
					   NULL;

	if (why)
		return cli_complain(job.undo, "%s; nothing was changed", why);
	if (err)
		return cli_complain_errno(job.undo, err);
	if (job.table.output.json)
		return table_totals(
			JSON_NUMBERS({ "restored", n.restored },
				     { "failed", job.left },
				     { "nothing_to_do", n.nothing }),
			!job.left, NULL);
	printf("%zu %s restored, %zu not, %zu needed nothing\n", n.restored,
	       text_plural(n.restored, "file", "files"), job.left, n.nothing);
	return EXIT_OK;
}

/* ---- the plan ---- */

static int add_groups(const char *source)
{
	struct groups *from = &job.asking.groups;
	int code = groups_asking_begin(&job.asking), event = 0;

	while (!code && (event = progress_groups_next(
				 from, "searching for copies", false)) > 0)
		code = dedup_plan_add(&job.plan, from->root, &from->group);
	if (!code)
		code = event;
	if (code == -EXDEV)
		return cli_complain(
			job.plan.refused,
			from->root ? "line %zu of %s: the path leads outside "
				     "of %s; nothing was changed" :
				     "line %zu of %s: not a plain path; "
				     "nothing was changed",
			from->lines.number, source, from->root);
	/* Files that are not hashed are no error here. */
	if (!code && from->totals.failed)
		cli_complain_failed(from->root, from->totals.failed, 0);
	if (!code && !job.asking.file && from->totals.incomplete)
		cli_complain(from->root, "not all files are hashed: there may "
					 "be more copies");
	return groups_asking_explain(&job.asking, code);
}

/* Of the groups of a mount, or of a file. */
static int make_plan(const struct command *self, char **operands)
{
	struct dedup_plan *p = &job.plan;
	const struct name_list *keep = &p->rules.directories;
	struct stat st;
	size_t i;
	int code = EXIT_OK;

	p->skip = tell_skipped;
	p->rules.internal = job.asking.wish.internal;
	p->rules.used = calloc(keep->count + 1, 1);
	if (!p->rules.used)
		return -ENOMEM;
	job.asking.wish.exact = !job.blocks;
	if (strcmp(operands[0], "-") && !stat(operands[0], &st) &&
	    S_ISDIR(st.st_mode)) {
		code = groups_asking_operands(&job.asking, self, operands);
		job.table.relative = *operands[0] != '/';
	} else {
		job.asking.file = operands[0];
	}
	if (!code)
		code = add_groups(operands[0]);
	groups_close(&job.asking.groups); /* the mount need not keep it */
	if (!code && !p->file_count && job.left)
		return cli_complain(operands[0],
				    "none of the files can be used; were the "
				    "groups made of another mount?  Nothing "
				    "was changed");
	/* A directory that protects nothing is a mistake: that of another mount,
	 * or the tree below this one. */
	for (i = 0; !code && p->file_count && i < keep->count; i++)
		if (!p->rules.used[i])
			code = cli_complain(
				keep->names[i],
				"--keep: no file of the groups is below this "
				"directory; nothing was changed");
	return code;
}

/* ---- options ---- */

static int take_keep(void *object, const char *text)
{
	struct dedup_rules *rules = &((struct dedup_job *)object)->plan.rules;
	char *path;

	if (keep_order_parse(text, &rules->keep))
		return EXIT_OK;
	path = realpath(text, NULL);
	return path ? array_add_string(&rules->directories.names,
				       &rules->directories.count, path) :
		      cli_complain_errno(text, -errno);
}

static int run(const struct command *self, char **operands)
{
	int how = 0, code;

	while (job.how && how <= DEDUP_REMOVE &&
	       strcmp(job.how, dedup_method_names[how]) != 0)
		how++;
	if (how > DEDUP_REMOVE)
		return cli_usage_error(
			self, "--how: '%s' is not hardlink, reflink or remove",
			job.how);
	if (job.blocks && job.how && how != DEDUP_REFLINK)
		return cli_usage_error(self, "--blocks shares blocks: it goes "
					     "with --how reflink alone");
	if (operand_count(operands) != !job.undo)
		return cli_usage_error(
			self, "a mount or one file of groups is needed, which "
			      "is what kin groups --json printed, or -; or "
			      "--undo and a journal alone");
	job.plan.rules.method =
		job.blocks ? DEDUP_BLOCKS : (enum dedup_method)how;
	code = job.undo ? take_back() : make_plan(self, operands);
	if (!code && !job.undo)
		code = run_plan();
	return !code && job.left ? EXIT_FAILED : code;
}

static const struct option_row options[] = {
	{ "how", 0, "hardlink|reflink|remove",
	  "another name of the kept file (default), its blocks, or nothing",
	  OPTION_TEXT(struct dedup_job, how) },
	{ "blocks", 0, NULL,
	  "near-duplicates share their equal blocks (XFS, btrfs)",
	  OPTION_FLAG(struct dedup_job, blocks) },
	{ "keep", 0, "oldest|newest|shortest|DIR",
	  "which one stays (oldest); all below a DIR stay",
	  OPTION_TAKE(take_keep) },
	{ "vcs", 0, NULL, "also what lies in trashes, snapshots, .git, caches",
	  OPTION_FLAG(struct dedup_job, asking.wish.internal) },
	{ "threshold", 0, "N",
	  "with --blocks, least score with the head of a group",
	  OPTION_THRESHOLD(struct dedup_job, asking.best.threshold) },
	FILTER_OPTIONS(struct dedup_job, plan.rules.filter),
	{ "force-metadata", 0, NULL, "even if owner, mode or attributes differ",
	  OPTION_FLAG(struct dedup_job, plan.rules.force_metadata) },
	{ "apply", 0, NULL, "do it; exit status 1 if something was left alone",
	  OPTION_FLAG(struct dedup_job, plan.rules.apply) },
	{ "journal", 0, "FILE",
	  "where to note what is done (in the state directory)",
	  OPTION_TEXT(struct dedup_job, journal) },
	{ "undo", 0, "JOURNAL", "take back what a journal says",
	  OPTION_TEXT(struct dedup_job, undo) },
	{ "json", 0, NULL, "an object a line",
	  OPTION_FLAG(struct dedup_job, table.output.json) },
	{ 0 },
};

const struct command command_dedup = {
	.name = "dedup",
	.synopsis = "dedup [OPTION]... GROUPS | --undo JOURNAL",
	.summary = "Turn exact copies into links, shared blocks or nothing",
	.help = "GROUPS is a mount, a file of kin groups --json, or -.  Without --apply the plan\n"
		"is printed.  With it each copy is compared byte by byte, and replaced at once.\n",
	.options = options,
	.job = &job,
	.run = run,
};
