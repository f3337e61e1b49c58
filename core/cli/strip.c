/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/cli/record.h"
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

static bool is_digest(const struct digest_ops *info, const struct buf *value)
{
	struct digests d = { 0 };
	bool is = !digest_parse(info->id, value->data, value->len, &d);

	digests_release(&d);
	return is;
}

/* 1 when there was one to remove, 0 or a negative errno. */
static int strip_attribute(const struct strip *s, const char *path,
			   const struct digest_ops *info)
{
	struct buf value = { 0 };
	int err = mount_get_attribute(path, info->attribute, &value);
	bool found = !err && is_digest(info, &value);

	buf_release(&value);
	if (err == -ENODATA || err == -ENOTSUP)
		return 0;
	if (err)
		return err;
	if (found && !s->dry_run && lremovexattr(path, info->attribute))
		return errno == ENODATA ? 0 : -errno;
	return found;
}

static void strip_file(struct strip *s, const char *path)
{
	size_t before = s->attributes;
	int id, err;

	for (id = 0; id < DIGEST_COUNT; id++) {
		if (id == DIGEST_SDHASH) /* never listed, so never copied */
			continue;
		err = strip_attribute(s, path, digest_table[id]);
		if (err < 0) {
			strip_fail(s, path, err);
			break;
		}
		s->attributes += (size_t)err;
	}
	s->files += s->attributes > before;
}

static int strip_entry(void *arg, FTS *fts, FTSENT *entry)
{
	struct strip *s = arg;

	(void)fts;
	switch (entry->fts_info) {
	case FTS_F:
		strip_file(s, entry->fts_path);
		break;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		strip_fail(s, entry->fts_path, -entry->fts_errno);
		break;
	default:
		break;
	}
	return 0;
}

/* Other filesystems below are not entered: one may be a mount of kinfs. */
static void strip_tree(struct strip *s, char *path)
{
	int err =
		cli_walk(path, FTS_COMFOLLOW | FTS_XDEV, NULL, strip_entry, s);

	if (err)
		strip_fail(s, path, err);
}

/* In a mount they are worked out, not stored. */
static int refuse_mount(const char *path)
{
	struct mount mount = { 0 };
	int err = mount_find(path, &mount);

	mount_release(&mount);
	if (err == -ENODEV)
		return EXIT_OK;
	if (err && err != -EXDEV)
		cli_complain_errno(path, err);
	else
		cli_complain(path, "is in a kinfs mount, where digests are not "
				   "stored: there is nothing to remove");
	return EXIT_FAILED;
}

static int print_result(const struct strip *s)
{
	if (s->as_json) {
		struct record r;

		record_totals(&r);
		record_flag(&r, "dry_run", s->dry_run);
		record_number(&r, "files", (int64_t)s->files);
		record_number(&r, "attributes", (int64_t)s->attributes);
		record_number(&r, "failed", (int64_t)s->failed);
		record_complete(&r, !s->failed, NULL);
		return record_print(&r);
	}
	printf("%zu %s of %zu %s %s\n", s->attributes,
	       text_plural(s->attributes, "attribute", "attributes"), s->files,
	       text_plural(s->files, "file", "files"),
	       s->dry_run ? "would be removed" : "removed");
	return EXIT_OK;
}

static int parse_strip(struct strip *s, int argc, char **argv)
{
	int code = options_parse(&command_strip, s, argc, argv);

	if (!code && optind == argc)
		return cli_usage_error(&command_strip, "which directory?");
	return code;
}

static int run_strip(int argc, char **argv)
{
	struct strip s = { 0 };
	int code = parse_strip(&s, argc, argv), i;

	for (i = optind; i < argc && !code; i++)
		code = refuse_mount(argv[i]);
	if (code)
		return code;
	for (i = optind; i < argc; i++)
		strip_tree(&s, argv[i]);
	code = print_result(&s);
	return s.failed ? EXIT_FAILED : code;
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
	.synopsis = "strip [-n] [--json] DIR...",
	.summary = "Remove digests that were copied out of a mount",
	.help = "Programs that copy attributes store a mount's digests in the copies, where\n"
		"they are not kept current.  DIR is a directory that is not in a kinfs mount;\n"
		"other filesystems below it are not entered.\n",
	.options = options,
	.run = run_strip,
};
