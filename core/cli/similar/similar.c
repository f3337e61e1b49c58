/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/text.h"

/* ---- the columns of files ---- */

enum { SHARED = 4 }; /* the column that is shown with --relation shares */

static struct column columns[] = {
	{ "score", "SCORE", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "relation", "RELATION", COLUMN_WORD, COLUMN_SHOWN },
	{ "distinctive", "DISTINCTIVE", COLUMN_NUMBER, COLUMN_VERBOSE },
	{ "by", "BY", COLUMN_WORD, COLUMN_VERBOSE },
	{ "shared", "SHARED", COLUMN_SIZE, COLUMN_VERBOSE },
	{ "sise", "SISE", COLUMN_NUMBER, COLUMN_VERBOSE },
	{ "simhash", "SIMHASH", COLUMN_NUMBER, COLUMN_VERBOSE },
	{ "rdc", "RDC", COLUMN_NUMBER, COLUMN_VERBOSE },
	{ "sif", "SIF", COLUMN_NUMBER, COLUMN_VERBOSE },
	{ "ssdeep", "SSDEEP", COLUMN_NUMBER, COLUMN_VERBOSE },
	{ "size", "SIZE", COLUMN_SIZE, COLUMN_SHOWN },
	{ "on_disk", "ON DISK", COLUMN_SIZE, COLUMN_VERBOSE },
	{ "mtime", "DATE", COLUMN_DATE, COLUMN_SHOWN },
	{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
	{ 0 },
};

/* ---- one operand ---- */

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Sets the digests of a file that is not in the mount. */
static int digest_own(struct similar_job *job)
{
	struct reader reader;
	int err = reader_init(&reader, DIGEST_DEFAULT);

	if (!err)
		err = reader_digest_named(&reader, job->name, true,
					  &job->digests);
	reader_release(&reader);
	if (!job->digests.size)
		job->digests.set = 0;
	return err ? cli_complain_errno(job->name, err) : 0;
}

static int list_file(struct similar_job *job)
{
	const bool outside = job->of || job->in;
	const size_t before = job->table.rows;
	struct stat st;
	int err = outside ? digest_own(job) : 0;

	if (!err)
		err = job->in ? similar_find_in(job) : similar_find(job);
	if (!err)
		err = similar_print(job);
	if (err || *job->reason || job->everywhere || job->table.rows > before)
		return err;
	/* An empty file resembles nothing. */
	if (outside ? !job->digests.set : stat(job->path, &st) || !st.st_size)
		return 0;
	if (!job->in)
		err = similar_find_near(job);
	if (!err && !*job->reason)
		similar_complain_near(job);
	return err;
}

static int list_directories(struct similar_job *job)
{
	int err = similar_find_directories(job);

	return err ? err : similar_print(job);
}

/* Whether the paths are of the kind that is asked for, and of one mount. */
static int check_kind(struct similar_job *job)
{
	const char *wrong = NULL, *rel = job->mount.rel, *other;
	const bool is_tree = is_directory(job->path);
	struct stat st;

	job->is_directory = is_tree;
	if (is_tree &&
	    (job->relation != SIMILAR_RELATIONS || job->why || job->everywhere))
		wrong = "a directory; --relation, --why and --everywhere are "
			"about files";
	else if (is_tree && !*rel)
		wrong = "the whole mount, which nothing is beside; kin groups "
			"lists what is alike in it";
	else if (!is_tree && (stat(job->path, &st) || !S_ISREG(st.st_mode)))
		wrong = "neither a file nor a directory";
	if (wrong)
		return cli_complain(job->path, "%s", wrong);
	if (!job->other)
		return 0;
	if (mount_path_or_complain(job->other, &job->mount, &job->other_rel))
		return EXIT_FAILED;
	other = job->other_rel;
	if (stat(job->other, &st) ||
	    !(is_tree ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode)))
		wrong = is_tree ? "not a directory" : "not a regular file";
	else if (is_tree &&
		 (!*other || path_below(other, rel) || path_below(rel, other)))
		wrong = "one of the directories is inside of the other";
	return wrong ? cli_complain(job->other, "%s", wrong) : 0;
}

static void set_rules(struct similar_job *job)
{
	json_int_t share_min = INDEX_SHARE_MIN;

	job->rules.threshold = 60;
	(void)json_unpack(job->mount.status, "{s?i, s?I}", "threshold",
			  &job->rules.threshold, "share_min", &share_min);
	if (job->best.threshold)
		job->rules.threshold = job->best.threshold;
	job->rules.share_min =
		job->share_min ? job->share_min : (uint64_t)share_min;
}

static int answer(struct similar_job *job)
{
	int code = job->of ? once_mount(job->path, false) : 0;
	/* The verdict of a pair needs no mount, nor has an export one. */
	bool outside;

	if (!code)
		code = job->in ? -ENODEV : mount_find(job->path, &job->mount);
	outside = code == -ENODEV && (job->in || job->why);
	if (code == -ENODEV && !outside)
		return cli_complain(job->path,
				    "not in a kinfs mount; kin similar --of "
				    "FILE DIRECTORY asks about any directory");
	if (outside)
		code = 0;
	else if (!code)
		code = mount_listings_or_complain(&job->mount);
	if (!code && !outside && !job->of)
		code = check_kind(job);
	if (code)
		return code;
	set_rules(job);
	if (job->of && *job->mount.rel && is_directory(job->path))
		job->within = job->mount.rel;
	if (job->is_directory)
		return job->other ? similar_trees(job) : list_directories(job);
	return job->why ? similar_why(job) : list_file(job);
}

/* ---- the end of an operand ---- */

static void complain_incomplete(const struct similar_job *job)
{
	static const char *const texts[][2] = {
		{ "busy", "not known yet: a program has it open for writing" },
		{ "pending", "not known yet: it is not hashed" },
		{ "skipped:",
		  "not known: it is not hashed because of the mount's "
		  "options" },
		{ "error:", "not known: it could not be read" },
	};
	const char *text = NULL;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strncmp(job->reason, texts[i][0], strlen(texts[i][0])))
			text = texts[i][1];
	if (job->unknown)
		cli_complain(job->name,
			     "%zu %s as different; "
			     "kin status --failed --skipped lists them",
			     job->unknown,
			     text_plural(job->unknown,
					 "file has no digests and counts",
					 "files have no digests and count"));
	else if (text || !job->mount.root ||
		 !cli_complain_hashing(job->mount.root))
		cli_complain(job->name, "%s (%s)",
			     text ? text : "the answer is not complete",
			     job->reason);
}

static int run_operand(struct similar_job *job, const char *path,
		       const char *other)
{
	int code;

	job->path = path;
	job->other = other;
	job->name = job->of ? job->of : path;
	job->is_directory = job->cut = false;
	*job->reason = '\0';
	job->table.relative = *path != '/';
	code = answer(job);
	if (code < 0) {
		code = cli_complain_errno(path, code);
	} else if (!code && *job->reason) {
		complain_incomplete(job);
		code = EXIT_INCOMPLETE;
		if (!*job->doubt)
			memcpy(job->doubt, job->reason, sizeof(job->doubt));
	} else if (!code && job->cut && !job->best.limit && !job->why) {
		cli_complain(job->name, "%s",
			     job->is_directory ?
				     "other directories have content in common "
				     "with it, too; only the best are listed" :
				     "there are more than the mount's limit; "
				     "see --limit");
	}
	job->any_cut |= job->cut;
	mount_release(&job->mount);
	digests_release(&job->digests);
	job->digests = (struct digests){ 0 };
	while (job->row_count)
		similar_row_release(&job->rows[--job->row_count]);
	similar_row_release(&job->nearest);
	similar_row_release(&job->longest);
	return code;
}

/* ---- the command ---- */

static const char *relation_name(size_t i)
{
	return i < SIMILAR_RELATIONS ? similar_relation_names[i] : NULL;
}

static int take_relation(void *arg, const char *name)
{
	struct similar_job *job = arg;
	int i = 0;

	while (i < SIMILAR_RELATIONS &&
	       strcmp(name, similar_relation_names[i]) != 0)
		i++;
	job->relation = (enum similar_relation)i;
	if (i < SIMILAR_RELATIONS)
		return EXIT_OK;
	return options_complain_value(&command_similar, "relation", name,
				      relation_name);
}

static int check(const struct similar_job *job, int operands)
{
	const char *wrong = NULL;

	if (job->everywhere &&
	    (operands > 1 || !similar_asks(job, INDEX_ALIKE)))
		wrong = "--everywhere takes one file, and finds copies and "
			"versions";
	else if (job->of && operands != 1)
		wrong = "in which mount?";
	else if (!operands)
		wrong = "which file or directory?";
	else if (job->why && operands != 2)
		wrong = "--why takes two files";
	else if (job->in && operands != 1)
		wrong = "--in takes one file";
	return wrong ? cli_usage_error(&command_similar, "%s", wrong) : EXIT_OK;
}

static struct similar_job similar_job = { .table.columns = columns,
					  .relation = SIMILAR_RELATIONS };

static int run(const struct command *self, char **paths)
{
	struct similar_job *job = self->job;
	const int operands = operand_count(paths);
	int code = check(job, operands), each;
	bool pair;

	if (code)
		return code;
	pair = job->why || (operands == 2 &&
			    (is_directory(paths[0]) || is_directory(paths[1])));
	job->several = operands > 1 && !pair;
	if (job->relation == SIMILAR_SHARES)
		columns[SHARED].place = COLUMN_SHOWN;
	for (; *paths; paths += pair ? 2 : 1) {
		each = run_operand(job, paths[0], pair ? paths[1] : NULL);
		if (each && code != EXIT_FAILED)
			code = each;
	}
	if (job->table.output.json && !job->why && code != EXIT_FAILED &&
	    table_totals(json_pack("{s:I, s:b}", "files",
				   (json_int_t)job->table.rows, "cut",
				   job->any_cut),
			 !*job->doubt, job->doubt))
		return EXIT_FAILED;
	return code;
}

static const struct option_row options[] = {
	{ "relation", 0, "RELATION",
	  "only these; FILE contains PATH, is within it, ...",
	  OPTION_TAKE(take_relation), .value = relation_name },
	BEST_OPTIONS(struct similar_job, best),
	{ "share-min", 0, "N",
	  "least passage that is shared (default: the mount's)",
	  OPTION_SIZE(struct similar_job, share_min) },
	FILTER_OPTIONS(struct similar_job, filter),
	{ "of", 0, "FILE", "FILE need not be in the mount; - is standard input",
	  OPTION_TEXT(struct similar_job, of), .excludes = "in why" },
	{ "in", 0, "EXPORT", "search in a file that kin export wrote",
	  OPTION_TEXT(struct similar_job, in), .excludes = "everywhere" },
	{ "why", 0, NULL, "why the second file is listed or not for the first",
	  OPTION_FLAG(struct similar_job, why), .excludes = "in everywhere" },
	{ "everywhere", 0, NULL,
	  "also what other hosts have, by the mount's kin-share",
	  OPTION_FLAG(struct similar_job, everywhere) },
	OUTPUT_OPTIONS(struct similar_job, table.output),
	{ 0 },
};

const struct command command_similar = {
	.name = "similar",
	.synopsis =
		"similar [OPTION]... PATH... | --of FILE [MOUNT] | --in EXPORT FILE\n"
		"       kin similar --why [OPTION]... FILE FILE",
	.summary = "List what resembles a file or directory of a kinfs mount",
	.help = "A file: its copies and versions, what it is within, contains, has a passage of.\n"
		"A directory: the like.  Two directories: how their files differ.\n",
	.options = options,
	.notes = "Exit status: 0 ok; 1 failed; 2 usage; 3 FILE is being "
		 "written, or not hashed.\n",
	.job = &similar_job,
	.run = run,
};
