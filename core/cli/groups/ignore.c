/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hex.h"
#include "core/base/json.h"
#include "core/base/utf8.h"
#include "core/cli/groups/groups.h"
#include "core/ignore/ignore.h"

struct ignore_job {
	bool list, forget, group;
	struct groups_asking asking; /* its mount; groups on standard input */
	struct table table;
	char *file;    /* owned; beside the catalog */
	int directory; /* of that */
	struct ignore_set asked, set;
};

/* ---- the mount ---- */

static int find_mount(struct ignore_job *job, const char *path)
{
	struct mount *mount = &job->asking.mount;
	char *directory;
	int code = mount_find(path, mount);

	if (code)
		return code;
	directory = mount_get_place(mount, "catalog", "path");
	if (!directory)
		return cli_complain(
			mount->root,
			mount->is_trusted ?
				"only root and the owner of the mount may "
				"ignore pairs of it" :
				"another user mounted it: only that user may "
				"ignore pairs of it");
	job->file = path_shown(directory, IGNORE_FILE, false);
	job->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (job->directory < 0)
		code = cli_complain_errno(job->file, -errno);
	free(directory);
	return code;
}

/* ---- contents ---- */

static int content_of(const struct mount *mount, const char *path,
		      const char *rel, struct ignore_content *out)
{
	struct digests d = { 0 };
	struct stat st;
	int err = stat(path, &st) ? -errno : 0;

	if (!err && !S_ISREG(st.st_mode))
		return cli_complain(path, "not a regular file");
	if (!err)
		err = mount_told_digests(mount, rel, DIGEST_BIT(DIGEST_XXH128),
					 &d);
	if (err)
		return cli_complain_errno(path, err);
	if (!d.set)
		return cli_complain(path,
				    "has no user.xxh128: see user.kinfs.state");
	out->size = d.size;
	memcpy(out->xxh128, d.xxh128, sizeof(out->xxh128));
	return EXIT_OK;
}

static int ask_pair(struct ignore_job *job, const struct ignore_content *a,
		    const struct ignore_content *b, const char *a_path,
		    const char *b_path)
{
	struct buf remark = { 0 };
	int added = utf8_append_safe(&remark, a_path);

	if (!added)
		added = buf_append_text(&remark, " ");
	if (!added)
		added = utf8_append_safe(&remark, b_path);
	if (!added)
		added = ignore_set_add(&job->asked, a, b, remark.data);
	buf_release(&remark);
	return added < 0 ? added : 0;
}

/* Both files lie in one mount. */
static int ask_files(struct ignore_job *job, char **paths)
{
	struct mount *mount = &job->asking.mount;
	struct ignore_content a = { 0 }, b = { 0 };
	char *rel = NULL;
	int code = mount_path_or_complain(paths[1], mount, &rel);

	if (!code)
		code = content_of(mount, paths[0], mount->rel, &a);
	if (!code)
		code = content_of(mount, paths[1], rel, &b);
	free(rel);
	return code ? code : ask_pair(job, &a, &b, paths[0], paths[1]);
}

/* ---- a group ---- */

/* The head with each member, and each with itself. */
static int ask_group(struct ignore_job *job, const struct found_group *group)
{
	const struct found_member *head = group->members, *m = head,
				  *end = head + group->count;
	struct ignore_content first = { 0 }, c;
	int err = group->count ? 0 : -EINVAL;

	for (; m < end && !err; m++) {
		const char *path = m->files->names[0];

		c.size = m->size;
		if (!m->has_size || hex_decode(m->xxh128, strlen(m->xxh128),
					       c.xxh128, sizeof(c.xxh128)))
			return -EINVAL;
		if (m == head)
			first = c;
		err = ask_pair(job, &c, &c, path, path);
		if (!err)
			err = ask_pair(job, &first, &c, head->files->names[0],
				       path);
	}
	return err;
}

static int ask_groups(struct ignore_job *job)
{
	struct groups_asking *from = &job->asking;
	int code, event = 0;

	from->file = "-";
	code = groups_asking_begin(from);
	while (!code && (event = groups_next(&from->groups)) > 0)
		code = ask_group(job, &from->groups.group);
	return groups_asking_explain(from, code ? code : event);
}

/* ---- the file ---- */

static const struct column columns[] = {
	{ "a", "A", COLUMN_WORD, COLUMN_SHOWN },
	{ "b", "B", COLUMN_WORD, COLUMN_SHOWN },
	{ "remark", "PATHS", COLUMN_PATH, COLUMN_SHOWN },
	{ 0 },
};

/* Owned. */
static char *remark_of(const struct ignore_line *line)
{
	const char *mark = memmem(line->text, line->len, " # ", 3);

	return mark ? strndup(mark + 3,
			      line->len - (size_t)(mark + 3 - line->text)) :
		      strdup("");
}

static int print_pair(struct ignore_job *job, const struct ignore_line *line)
{
	char a[IGNORE_TEXT_ROOM], b[IGNORE_TEXT_ROOM],
		*remark = remark_of(line);
	json_t *row =
		json_pack("{s:s, s:s}", "a", ignore_format(&line->pair.a, a),
			  "b", ignore_format(&line->pair.b, b));

	row = json_with_path(row, "remark", remark);
	free(remark);
	return table_row(&job->table, row);
}

/* Names damaged lines, and with --list prints the others. */
static int tell_lines(struct ignore_job *job)
{
	struct ignore_line line = { 0 };
	int code = EXIT_OK;

	while (!code && ignore_next_line(&job->set.text, &line))
		if (line.damaged)
			cli_complain(
				job->file,
				"line %zu is not a pair of contents; it is "
				"kept and decides nothing",
				line.number);
		else if (line.is_pair && job->list)
			code = print_pair(job, &line);
	if (!code && job->table.output.json)
		code = table_totals(json_pack("{s:I}", "pairs",
					      (json_int_t)job->table.rows),
				    !job->set.damaged, NULL);
	return job->list && job->set.damaged ? EXIT_FAILED : code;
}

static int change(struct ignore_job *job, const char *path)
{
	struct ignore_line line = { 0 };
	size_t changed = 0;
	char *remark;
	int done = 0;

	while (done >= 0 && ignore_next_line(&job->asked.text, &line)) {
		remark = remark_of(&line);
		done = job->forget ? ignore_set_remove(&job->set, &line.pair.a,
						       &line.pair.b) :
		       remark      ? ignore_set_add(&job->set, &line.pair.a,
						    &line.pair.b, remark) :
				     -ENOMEM;
		free(remark);
		changed += done == 1;
	}
	if (done < 0 || changed)
		return done < 0 ? done : ignore_save(job->directory, &job->set);
	return job->forget ? cli_complain(job->group ? NULL : path,
					  "the pair was not ignored") :
			     EXIT_OK;
}

/* ---- the command ---- */

static int run(const struct command *self, char **paths)
{
	struct ignore_job *job = self->job;
	const int operands = job->list || job->group ? 1 : 2;
	int code;

	if (operand_count(paths) != operands)
		return cli_usage_error(self, operands == 1 ?
						     "which mount?" :
						     "which two files?");
	code = find_mount(job, *paths);
	/* All is read before the lock is taken. */
	if (!code && !job->list)
		code = job->group ? ask_groups(job) : ask_files(job, paths);
	if (code)
		return code;
	if (!job->list)
		code = ignore_lock(job->directory);
	if (!code)
		code = ignore_load(job->directory, &job->set, NULL);
	if (!code)
		code = tell_lines(job);
	if (!code && !job->list)
		code = change(job, *paths);
	return code < 0 ? cli_complain_errno(job->file, code) : code;
}

static const struct option_row options[] = {
	{ "group", 0, NULL,
	  "read groups from standard input, as kin groups --json prints them",
	  OPTION_FLAG(struct ignore_job, group) },
	{ "list", 0, NULL, "print the pairs",
	  OPTION_FLAG(struct ignore_job, list), .excludes = "forget group" },
	{ "json", 0, NULL, "with --list, an object a line",
	  OPTION_FLAG(struct ignore_job, table.output.json), .needs = "list" },
	{ "forget", 0, NULL, "take the decision back",
	  OPTION_FLAG(struct ignore_job, forget) },
	{ 0 },
};

const struct command command_ignore = {
	.name = "ignore",
	.synopsis =
		"ignore [--forget] A B | --group MOUNT | --list [--json] MOUNT",
	.summary = "Leave pairs that are known to be alike out of listings",
	.help = "The contents of the files A and B of one mount are known to be alike: listings\n"
		"leave the pair out, and groups in which each member is known with the head.\n",
	.options = options,
	.job = &(struct ignore_job){ .table.columns = columns },
	.run = run,
};
