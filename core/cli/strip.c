/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/cli/table.h"
#include "core/digest/digest.h"

/*
 * Removes digests that were copied out of a mount as real attributes.  An
 * attribute of that name whose value is no such digest is of another
 * program and stays.
 */
struct strip {
	bool dry_run;
	bool as_json;
	size_t files, attributes, failed;
};

static void strip_fail(struct strip *s, const char *path, int err)
{
	cli_complain_errno(path, err);
	s->failed++;
}

/* 0, or the first error; the attributes are those of the file at path. */
static int strip_attributes(struct strip *s, const char *path)
{
	struct buf value = { 0 };
	int id, err = 0;

	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		const char *name = digest_table[id]->attribute;
		struct digests d = { 0 };

		if (id == DIGEST_SDHASH) /* never listed, so never copied */
			continue;
		err = mount_get_attribute(path, name, &value);
		if (!err)
			err = digest_parse(id, value.data, value.len, &d);
		if (!err || err == -EPROTONOSUPPORT) {
			err = s->dry_run ? 0 : removexattr(path, name);
			err = err ? -errno : 0;
			s->attributes += !err;
		}
		digests_release(&d);
		/* -EINVAL: somebody else's attribute. */
		if (err == -ENODATA || err == -ENOTSUP || err == -EINVAL)
			err = 0;
	}
	buf_release(&value);
	return err;
}

/* The attributes of a file that its owner may not write to, or not read, are
 * reached while it has these rights.  With set-id bits, which chmod(2) may
 * clear, it is left as it is. */
static int strip_closed(struct strip *s, const char *path, int fd)
{
	struct stat st;
	int err;

	if (fstat(fd, &st) || st.st_uid != geteuid() ||
	    st.st_mode & (S_ISUID | S_ISGID) ||
	    chmod(path, (st.st_mode & 07777) | S_IRUSR | S_IWUSR))
		return -EACCES;
	err = strip_attributes(s, path);
	if (chmod(path, st.st_mode & 07777) && !err)
		err = -errno;
	return err;
}

/* A link is followed where the user has named it. */
static void strip_file(struct strip *s, const struct tree_entry *entry)
{
	const size_t before = s->attributes;
	const int fd =
		open(entry->path,
		     O_PATH | O_CLOEXEC | (entry->is_top ? 0 : O_NOFOLLOW));
	char path[40];
	int err = fd < 0 ? -errno : 0;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!err)
		err = strip_attributes(s, path);
	if (err == -EACCES && fd >= 0 && !s->dry_run)
		err = strip_closed(s, path, fd);
	if (fd >= 0)
		close(fd);
	if (err)
		strip_fail(s, entry->path, err);
	s->files += s->attributes > before;
}

/* Other filesystems below are not entered: one may be a mount of kinfs. */
static void strip_tree(struct strip *s, const char *path)
{
	struct tree_walk *walk =
		tree_walk_begin(path, TREE_FOLLOW_TOP | TREE_ONE_DEVICE);
	const struct tree_entry *entry;
	int err;

	while (walk && (entry = tree_walk_next(walk)))
		if (entry->error)
			strip_fail(s, entry->path, entry->error);
		else if (entry->is_file)
			strip_file(s, entry);
	err = tree_walk_end(walk, 0);
	if (err)
		strip_fail(s, path, err);
}

/* In a mount they are worked out, not stored. */
static int refuse_mount(const char *path)
{
	struct mount mount = { 0 };
	int err = mount_find(path, &mount);
	const bool is_outside =
		err == -ENODEV || (!err && mount_is_of_source(&mount));

	mount_release(&mount);
	if (is_outside)
		return EXIT_OK;
	if (err && err != -EXDEV)
		return cli_complain_errno(path, err);
	return cli_complain(path, "is in a kinfs mount, where digests are not "
				  "stored: there is nothing to remove");
}

static int print_result(const struct strip *s)
{
	if (s->as_json)
		return table_totals(
			json_pack("{s:b, s:I, s:I, s:I}", "dry_run", s->dry_run,
				  "files", (json_int_t)s->files, "attributes",
				  (json_int_t)s->attributes, "failed",
				  (json_int_t)s->failed),
			!s->failed, NULL);
	printf("%zu %s of %zu %s %s\n", s->attributes,
	       text_plural(s->attributes, "attribute", "attributes"), s->files,
	       text_plural(s->files, "file", "files"),
	       s->dry_run ? "would be removed" : "removed");
	return EXIT_OK;
}

static int run(const struct command *self, char **paths)
{
	struct strip *s = self->job;
	int i, code = EXIT_OK;

	for (i = 0; paths[i] && !code; i++)
		code = refuse_mount(paths[i]);
	if (code)
		return code;
	for (i = 0; paths[i]; i++)
		strip_tree(s, paths[i]);
	code = print_result(s);
	return s->failed ? EXIT_FAILED : code;
}

static const struct option_row options[] = {
	{ "dry-run", 'n', NULL, "only count",
	  OPTION_FLAG(struct strip, dry_run) },
	{ "json", 0, NULL, "one object, with totals",
	  OPTION_FLAG(struct strip, as_json) },
	{ 0 },
};

const struct command command_strip = {
	.name = "strip",
	.operands = { 1, INT_MAX },
	.lacking = "which directory?",
	.synopsis = "strip [-n] [--json] DIR...",
	.summary = "Remove digests that were copied out of a mount",
	.help = "Programs that copy attributes store a mount's digests in the copies, where\n"
		"they are not kept current.  DIR is a directory that is not in a kinfs mount;\n"
		"other filesystems below it are not entered.\n",
	.options = options,
	.job = &(struct strip){ 0 },
	.run = run,
};
