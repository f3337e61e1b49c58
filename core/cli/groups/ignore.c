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
	struct table table;
	char *file;    /* owned; beside the catalog */
	int directory; /* of that */
	struct ignore_set set;
	size_t changed;
};

/* ---- the mount ---- */

static int find_mount(struct ignore_job *job, const char *path,
		      struct mount *out)
{
	char *directory;
	int code = mount_find_or_complain(path, out);

	if (code)
		return code;
	directory = mount_get_place(out, "catalog", "path");
	if (directory &&
	    asprintf(&job->file, "%s/" IGNORE_FILE, directory) >= 0)
		job->directory =
			open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(directory);
	if (job->directory >= 0)
		return EXIT_OK;
	if (job->file)
		return cli_complain_errno(job->file, -errno);
	return cli_complain(
		out->root,
		out->is_trusted ?
			"only root and the owner of the mount may ignore "
			"pairs of it" :
			"another user mounted it: only that user may "
			"ignore pairs of it");
}

/* ---- contents ---- */

static int content_of(const char *path, struct ignore_content *out)
{
	struct digests d = { 0 };
	struct stat st;
	int err = stat(path, &st) ? -errno : 0;

	if (!err && !S_ISREG(st.st_mode))
		return cli_complain(path, "not a regular file");
	if (!err)
		err = cli_told_digests(path, DIGEST_BIT(DIGEST_XXH128), &d);
	if (err)
		return cli_complain_errno(path, err);
	if (!d.set)
		return cli_complain(path,
				    "has no user.xxh128: see user.kinfs.state");
	out->size = d.size;
	memcpy(out->xxh128, d.xxh128, sizeof(out->xxh128));
	return EXIT_OK;
}

static int change(struct ignore_job *job, const struct ignore_content *a,
		  const struct ignore_content *b, const char *a_path,
		  const char *b_path)
{
	struct buf remark = { 0 };
	int done = 0;

	if (job->forget) {
		job->changed += ignore_set_remove(&job->set, a, b);
		return 0;
	}
	done = utf8_append_safe(&remark, a_path);
	if (!done)
		done = buf_append_text(&remark, " ");
	if (!done)
		done = utf8_append_safe(&remark, b_path);
	if (!done)
		done = ignore_set_add(&job->set, a, b, remark.data);
	buf_release(&remark);
	job->changed += done == 1;
	return done < 0 ? done : 0;
}

/* ---- a group ---- */

static bool member_content(const struct found_member *m,
			   struct ignore_content *out)
{
	out->size = m->size;
	return m->has_size && *m->xxh128 &&
	       !hex_decode(m->xxh128, strlen(m->xxh128), out->xxh128,
			   sizeof(out->xxh128));
}

/* The head with each member, and each with itself. */
static int change_group(struct ignore_job *job, const struct found_group *group)
{
	const struct found_member *all = group->members;
	struct ignore_content head, c;
	size_t i;
	int err = 0;

	if (!group->count || !member_content(&all[0], &head))
		return -EINVAL;
	for (i = 0; i < group->count && !err; i++) {
		const char *path;

		if (!member_content(&all[i], &c))
			return -EINVAL;
		path = all[i].files->names[0];
		err = change(job, &c, &c, path, path);
		if (!err && i)
			err = change(job, &head, &c, all[0].files->names[0],
				     path);
	}
	return err;
}

static int change_groups(struct ignore_job *job)
{
	struct groups_asking asking = { .file = "-" };
	int code = groups_asking_begin(&asking), err = 0;

	while (!code && (err = groups_next(&asking.groups)) > 0) {
		err = change_group(job, &asking.groups.group);
		if (err)
			break;
	}
	if (err)
		code = groups_asking_failed(&asking, err,
					    "nothing was changed");
	groups_asking_release(&asking);
	return code;
}

/* ---- the file ---- */

static const struct column columns[] = {
	{ "a", "A", COLUMN_WORD, COLUMN_SHOWN },
	{ "b", "B", COLUMN_WORD, COLUMN_SHOWN },
	{ "remark", "PATHS", COLUMN_PATH, COLUMN_SHOWN },
	{ 0 },
};

static int print_pair(struct ignore_job *job, const struct ignore_line *line)
{
	char a[IGNORE_TEXT_ROOM], b[IGNORE_TEXT_ROOM],
		*text = strndup(line->text, line->len);
	const char *remark = text ? strstr(text, " # ") : NULL;
	json_t *row =
		json_pack("{s:s, s:s}", "a", ignore_format(&line->pair.a, a),
			  "b", ignore_format(&line->pair.b, b));

	(void)json_set_path(row, "remark",
			    remark ? remark + strlen(" # ") : "");
	free(text);
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

/* Both files lie in one mount. */
static int check_pair(char **paths, const struct mount *mount,
		      struct ignore_content contents[2])
{
	char *rel = NULL;
	int code = mount_path_or_complain(paths[1], mount->root, &rel);

	free(rel);
	if (!code)
		code = content_of(paths[0], &contents[0]);
	return code ? code : content_of(paths[1], &contents[1]);
}

static int run_paths(struct ignore_job *job, char **paths)
{
	struct ignore_content contents[2] = { 0 };
	struct mount mount = { 0 };
	int code = find_mount(job, paths[0], &mount), err = 0;

	if (!code && !job->group && !job->list)
		code = check_pair(paths, &mount, contents);
	mount_release(&mount);
	if (code)
		return code;
	if (!job->list)
		err = ignore_lock(job->directory);
	if (!err)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freed at last */
		err = ignore_load(job->directory, &job->set, NULL);
	if (!err)
		code = tell_lines(job);
	if (!err && !code && job->group)
		code = change_groups(job);
	else if (!err && !code && !job->list)
		err = change(job, &contents[0], &contents[1], paths[0],
			     paths[1]);
	if (!err && !code && job->changed)
		err = ignore_save(job->directory, &job->set);
	if (err)
		return cli_complain_errno(job->file, err);
	if (!code && job->forget && !job->changed)
		code = cli_complain(job->group ? NULL : paths[0],
				    "the pair was not ignored");
	return code;
}

/* ---- the command ---- */

static struct ignore_job ignore_job = { .directory = -1,
					.table.columns = columns };

static int run(const struct command *self, char **paths)
{
	struct ignore_job *job = self->job;
	const int operands = job->list || job->group ? 1 : 2;

	if (job->list && (job->forget || job->group))
		return cli_usage_error(self,
				       "--list goes with no other option");
	if (job->table.output.json && !job->list)
		return cli_usage_error(self, "--json is for --list");
	if (operand_count(paths) != operands)
		return cli_usage_error(self, operands == 1 ?
						     "which mount?" :
						     "which two files?");
	return run_paths(job, paths);
}

static const struct option_row options[] = {
	{ "group", 0, NULL,
	  "read groups from standard input, as kin groups --json prints them",
	  OPTION_FLAG(struct ignore_job, group) },
	{ "list", 0, NULL, "print the pairs",
	  OPTION_FLAG(struct ignore_job, list) },
	{ "json", 0, NULL, "with --list, an object a line",
	  OPTION_FLAG(struct ignore_job, table.output.json) },
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
	.job = &ignore_job,
	.run = run,
};
