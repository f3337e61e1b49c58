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

struct dedup_job {
	struct name_list keep; /* directories */
	bool *keep_used;       /* owned; of each */
	const char *undo;      /* a journal */
	const char *wanted_journal;
	char *journal; /* owned; the one that is written */
	struct table table;
	int threshold;   /* of --blocks; 0: the mount's */
	const char *how; /* NULL: not said */
	bool apply, blocks;
	struct dedup_plan plan;
	size_t done, left;
	uint64_t bytes; /* set free by what was done, or what would be */
};

/* ---- printing ---- */

static void tell_skipped(void *arg, const char *path, const char *reason)
{
	struct dedup_job *job = arg;

	cli_complain(path, "left alone: %s", reason);
	job->left++;
}

/* -v: of a method that shares blocks. */
static const struct column columns[] = {
	{ "method", "METHOD", COLUMN_WORD, COLUMN_SHOWN },
	{ "bytes", "SAVED", COLUMN_SIZE, COLUMN_SHOWN },
	{ "shared_before", "SHARED", COLUMN_SIZE, COLUMN_VERBOSE },
	{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
	{ "kept", "keep", COLUMN_NOTE, COLUMN_SHOWN },
	{ 0 },
};

/* ---- a step ---- */

/* Does one step, or without a journal says what it would come to. */
static int do_step(struct dedup_job *job, size_t file, FILE *j, bool *stop_out)
{
	const struct dedup_plan *p = &job->plan;
	const struct dedup_file *f = &p->files[file];
	const bool sharing = dedup_is_sharing(p->rules.method);
	struct dedup_result r;
	bool done = !dedup_apply(&job->plan, file, j, &r);
	uint64_t bytes = sharing ? r.gain :
			 done    ? (uint64_t)f->st.st_blocks * 512 :
				   0;
	json_t *row;

	*stop_out = r.no_journal;
	job->done += done;
	job->bytes += bytes;
	if (!done && !job->table.output.json)
		tell_skipped(job, f->paths[0], r.reason);
	else
		job->left += !done;
	if (!job->table.output.json && (j || !done))
		return EXIT_OK;
	row = json_pack("{s:s, s:b, s:I, s:o*, s:s*}", "method",
			dedup_method_names[p->rules.method], "done", j && done,
			"bytes", (json_int_t)bytes, "shared_before",
			row_number(sharing ? (int64_t)r.shared : -1), "reason",
			done ? NULL : r.reason);
	if (json_set_path(row, "path", f->paths[0]) ||
	    json_set_path(row, "kept", p->files[f->keep].paths[0]) ||
	    (f->path_count > 1 &&
	     json_object_set_new(row, "links",
				 json_paths((const char *const *)f->paths + 1,
					    f->path_count - 1)))) {
		json_decref(row);
		row = NULL;
	}
	return table_row(&job->table, row);
}

/* ---- carrying it out ---- */

/* By default DIRECTORY/dedup/DATE-PID.journal. */
static int create_journal(struct dedup_job *job, FILE **out)
{
	const char *text = "no place for the journal: %s; name one with "
			   "--journal";
	struct buf path = { 0 };
	time_t now = time(NULL);
	char date[32];
	struct tm tm;
	int err = job->wanted_journal ?
			  buf_append_text(&path, job->wanted_journal) :
			  catalog_state_directory(&path);

	if (!err && !job->wanted_journal) {
		err = buf_append_text(&path, "/dedup");
		if (!err)
			err = catalog_make_directories(path.data);
		if (!err && localtime_r(&now, &tm) &&
		    strftime(date, sizeof(date), "%Y-%m-%d-%H%M%S", &tm))
			err = buf_append_format(&path, "/%s-%d.journal", date,
						(int)getpid());
	}
	job->journal = buf_take(&path);
	if (!err) {
		err = dedup_journal_create(job->journal, out);
		text = err == -EPERM ?
			       "the directory of the journal belongs to "
			       "another user, or others may write to the "
			       "directory, and so replace it; nothing was "
			       "changed" :
			       "the journal cannot be written: %s; nothing was "
			       "changed";
	}
	return err ? cli_complain(job->journal, text, err_text(err)) : EXIT_OK;
}

static int print_end(const struct dedup_job *job)
{
	const enum dedup_method method = job->plan.rules.method;
	const bool sharing = dedup_is_sharing(method);
	const char *files = text_plural(job->done, "file", "files");
	char size[TEXT_SIZE_ROOM];
	json_t *totals;

	if (job->table.output.json) {
		totals =
			json_pack("{s:s, s:b, s:I, s:I, s:I, s:I}", "method",
				  dedup_method_names[method], "applied",
				  job->apply, "files", (json_int_t)job->done,
				  "bytes", (json_int_t)job->bytes, "left_alone",
				  (json_int_t)job->left, "linked_before",
				  (json_int_t)job->plan.linked_count);
		if (job->apply)
			(void)json_set_path(totals, "journal", job->journal);
		return table_totals(totals, !job->left, NULL);
	}
	(void)text_format_size((double)job->bytes, TEXT_UNITS_BRIEF, size);
	if (job->apply)
		printf("%zu %s %s, %s freed, %zu left alone.\n", job->done,
		       files,
		       !sharing ? "replaced" :
				  text_plural(job->done, "shares blocks",
					      "share blocks"),
		       size, job->left);
	else
		printf("%zu %s would %s %s.  Nothing was changed; --apply does "
		       "it.\n",
		       job->done, files,
		       sharing ? "share blocks, which frees at least" :
				 "be replaced, which frees",
		       size);
	if (job->plan.linked_count)
		printf("%zu %s of a kept file already.\n",
		       job->plan.linked_count,
		       text_plural(job->plan.linked_count,
				   "path is a hard link",
				   "paths are hard links"));
	if (!job->apply || !job->done || sharing)
		return EXIT_OK;
	fputs("kin dedup --undo ", stdout);
	utf8_print_safe(stdout, job->journal);
	puts("   takes it back");
	return EXIT_OK;
}

static int run_plan(struct dedup_job *job)
{
	const bool sharing = dedup_is_sharing(job->plan.rules.method);
	FILE *j = NULL;
	bool stopped = false, told = sharing;
	size_t i;
	int code = job->apply ? create_journal(job, &j) : EXIT_OK;

	job->table.columns = columns;
	job->table.output.verbose = sharing;
	for (i = 0; i < job->plan.file_count && !code; i++) {
		if (job->plan.files[i].keep == SIZE_MAX)
			continue;
		if (stopped) {
			job->left++;
			continue;
		}
		if (j && !told)
			cli_complain(job->journal,
				     "has each step, also if this run is "
				     "interrupted: kin dedup --undo takes "
				     "them back");
		told = true;
		code = do_step(job, i, j, &stopped);
		if (stopped)
			cli_complain(job->journal, "cannot be written any "
						   "more: no other file is "
						   "replaced");
	}
	if (j)
		(void)fclose(j);
	return code ? code : print_end(job);
}

/* ---- taking it back ---- */

static int take_back(struct dedup_job *job)
{
	struct dedup_undo n = {
		.force_metadata = job->plan.rules.force_metadata,
		.tell = tell_skipped,
		.arg = job,
	};
	int err = dedup_undo(job->undo, &n);

	if (err == -EINVAL || err == -EPERM || err == -EBUSY)
		return cli_complain(
			job->undo, "%s; nothing was changed",
			err == -EINVAL ? "is not a journal of kin dedup" :
			err == -EPERM  ? "another user may have written it" :
					 "kin dedup is still writing it");
	if (err)
		return cli_complain_errno(job->undo, err);
	if (job->table.output.json)
		return table_totals(json_pack("{s:I, s:I, s:I}", "restored",
					      (json_int_t)n.restored, "failed",
					      (json_int_t)job->left,
					      "nothing_to_do",
					      (json_int_t)n.nothing),
				    !job->left, NULL);
	printf("%zu %s restored, %zu not, %zu needed nothing\n", n.restored,
	       text_plural(n.restored, "file", "files"), job->left, n.nothing);
	return EXIT_OK;
}

/* ---- options ---- */

static int take_keep(void *arg, const char *text)
{
	struct dedup_job *job = arg;
	char *path;

	if (keep_order_parse(text, &job->plan.rules.keep))
		return EXIT_OK;
	path = realpath(text, NULL);
	return path ? array_add_string(&job->keep.names, &job->keep.count,
				       path) :
		      cli_complain_errno(text, -errno);
}

static int check(struct dedup_job *job, char **paths)
{
	int how = 0;

	while (job->how && how <= DEDUP_REMOVE &&
	       strcmp(job->how, dedup_method_names[how]) != 0)
		how++;
	if (how > DEDUP_REMOVE)
		return cli_usage_error(
			&command_dedup,
			"--how: '%s' is not hardlink, reflink or remove",
			job->how);
	if (job->blocks && job->how && how != DEDUP_REFLINK)
		return cli_usage_error(
			&command_dedup,
			"--blocks shares blocks: it goes with --how "
			"reflink alone");
	if (operand_count(paths) != !job->undo)
		return cli_usage_error(
			&command_dedup,
			"a mount or one file of groups is needed, which is "
			"what kin groups --json printed, or -; or --undo and "
			"a journal alone");
	job->plan.rules.method =
		job->blocks ? DEDUP_BLOCKS : (enum dedup_method)how;
	return EXIT_OK;
}

/* ---- the plan ---- */

/* The groups of a mount, or of a file. */
static int read_groups(struct dedup_job *job, char **operands)
{
	static struct groups_asking asking;
	struct groups *from = &asking.groups;
	struct stat st;
	int code = EXIT_OK, event = 0;

	asking.wish.exact = !job->blocks;
	asking.wish.vcs = job->plan.rules.internal;
	asking.best.threshold = job->threshold;
	if (strcmp(operands[0], "-") && !stat(operands[0], &st) &&
	    S_ISDIR(st.st_mode)) {
		code = groups_asking_operands(&asking, &command_dedup,
					      operands);
		job->table.relative = *operands[0] != '/';
	} else {
		asking.file = operands[0];
	}
	if (!code)
		code = groups_asking_begin(&asking);
	while (!code && (event = progress_groups_next(
				 from, "searching for copies", false)) > 0) {
		event = dedup_plan_add(&job->plan, from->root, &from->group);
		if (event)
			break;
	}
	progress_clear();
	if (event == -EXDEV)
		code = cli_complain(
			job->plan.refused,
			from->root ? "line %zu of %s: the path leads outside "
				     "of %s; nothing was changed" :
				     "line %zu of %s: not a plain path; "
				     "nothing was changed",
			from->file.number, asking.file, from->root);
	else if (event)
		code = groups_asking_explain(&asking, event);
	else if (!code && !asking.file && from->totals.incomplete)
		/* Files that are not hashed yet are no error here. */
		cli_complain(from->root, "not all files are hashed: there may "
					 "be more copies");
	groups_close(from);
	return code;
}

static int make_plan(struct dedup_job *job, char **operands)
{
	struct dedup_plan *p = &job->plan;
	size_t i;
	int code;

	p->skip = tell_skipped;
	p->arg = job;
	p->rules.directories = job->keep.names;
	p->rules.directory_count = job->keep.count;
	p->rules.used = job->keep_used = calloc(job->keep.count + 1, 1);
	if (!job->keep_used)
		return cli_complain_errno(NULL, -ENOMEM);
	code = read_groups(job, operands);
	if (!code && !p->file_count && job->left)
		return cli_complain(operands[0],
				    "none of the files can be used; were the "
				    "groups made of another mount?  Nothing "
				    "was changed");
	/* A directory that protects nothing is a mistake: that of another mount,
	 * or the tree below this one. */
	for (i = 0; !code && p->file_count && i < job->keep.count; i++)
		if (!job->keep_used[i])
			code = cli_complain(
				job->keep.names[i],
				"--keep: no file of the groups is below this "
				"directory; nothing was changed");
	return code;
}

static struct dedup_job dedup_job;

static int run(const struct command *self, char **paths)
{
	struct dedup_job *job = self->job;
	int code = check(job, paths);

	if (!code && job->undo)
		code = take_back(job);
	else if (!code && !(code = make_plan(job, paths)))
		code = run_plan(job);
	return !code && job->left ? EXIT_FAILED : code;
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
	{ "vcs", 0, NULL, "also below .git and the like, and in caches",
	  OPTION_FLAG(struct dedup_job, plan.rules.internal) },
	{ "threshold", 0, "N",
	  "with --blocks, least score with the head of a group",
	  OPTION_THRESHOLD(struct dedup_job, threshold) },
	FILTER_OPTIONS(struct dedup_job, plan.rules.filter),
	{ "force-metadata", 0, NULL, "even if owner, mode or attributes differ",
	  OPTION_FLAG(struct dedup_job, plan.rules.force_metadata) },
	{ "apply", 0, NULL, "do it; exit status 1 if something was left alone",
	  OPTION_FLAG(struct dedup_job, apply) },
	{ "journal", 0, "FILE",
	  "where to note what is done (in the state directory)",
	  OPTION_TEXT(struct dedup_job, wanted_journal) },
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
	.job = &dedup_job,
	.run = run,
};
