/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/utf8.h"
#include "core/cli/cli.h"
#include "core/cli/progress.h"
#include "core/cli/table.h"

/*
 * kin check: whether the digests of a mount are right.  The counts are those of
 * the daemon.  With --read, each file is digested here and compared with the
 * attributes that the mount tells.
 */

struct check {
	bool read;
	struct mount mount;
	struct progress progress;
	struct reader reader;
	uint64_t read_again, read_bytes;
	uint64_t unread;    /* files and directories that cannot be read */
	uint64_t unknown;   /* files without a digest of their present state */
	struct table table; /* of the findings */
};

static const struct column columns[] = {
	{ "reason", "REASON", COLUMN_WORD, COLUMN_SHOWN },
	{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
	{ 0 },
};

/* ---- one file ---- */

/* The kernel may know older attributes of a file in the mount. */
static int look(int fd, struct statx *out)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC,
		     STATX_BASIC_STATS, out) ?
		       -errno :
		       0;
}

static bool is_same(const struct statx *a, const struct statx *b)
{
	return a->stx_size == b->stx_size &&
	       !memcmp(&a->stx_mtime, &b->stx_mtime, sizeof(a->stx_mtime)) &&
	       !memcmp(&a->stx_ctime, &b->stx_ctime, sizeof(a->stx_ctime));
}

static int compare(struct check *c, const char *path,
		   const struct digests *told, const struct digests *made)
{
	struct digest_value a, b;
	struct buf text = { 0 };
	int id, err = 0;

	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		a = digest_value_of(told, id);
		b = digest_value_of(made, id);
		if (a.bytes && b.bytes &&
		    (a.len != b.len || memcmp(a.bytes, b.bytes, a.len) != 0))
			err = buf_append_format(&text, "%s%s",
						text.len ? " " : "differing: ",
						digest_table[id]->name);
	}
	if (!err && text.len)
		err = table_row(
			&c->table,
			json_with_path(json_pack("{s:s}", "reason", text.data),
				       "path", path));
	buf_release(&text);
	return err;
}

/* The digests that the mount told before the reading are of the bytes that were
 * read if nothing has changed meanwhile. */
static int check_open_file(struct check *c, int fd, const char *path)
{
	struct digests told = { 0 }, made = { 0 };
	char name[48], state[32];
	struct statx before, after;
	int err = look(fd, &before);

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	/* A digest that is still to be made would be waited for. */
	if (!err &&
	    (getxattr(name, STATE_ATTRIBUTE, state, sizeof(state)) != 5 ||
	     memcmp(state, "fresh", 5) != 0))
		err = -ENODATA;
	if (!err)
		err = cli_told_digests(name, c->reader.digest_set, &told);
	/* A mount may have pages from before a change that nobody saw. */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (!err)
		err = reader_digest_fd(&c->reader, fd, basename(path), &made);
	if (!err)
		err = look(fd, &after);
	if (!err && !is_same(&before, &after))
		err = -ENODATA;
	if (!err) {
		c->read_again++;
		c->read_bytes += made.size;
		err = compare(c, path, &told, &made);
	}
	digests_release(&told);
	digests_release(&made);
	return err;
}

/* That a file cannot be read, or changes meanwhile, is no finding. */
static int check_entry(struct check *c, struct tree_walk *walk,
		       const struct tree_entry *e)
{
	int fd, err = 0;

	if (e->is_directory && c->mount.listings &&
	    !strcmp(e->path, c->mount.listings))
		tree_walk_skip(walk);
	if (e->error)
		c->unread += e->error != -ENOENT;
	if (!e->is_file)
		return 0;
	err = reader_open(e->path, false, &fd);
	if (!err) {
		err = check_open_file(c, fd,
				      path_below(e->path, c->mount.point));
		(void)close(fd);
	}
	if (err > 0 || err == -ENOMEM)
		return err;
	if (err == -ENODATA || err == -ESTALE || err == -ENOENT)
		c->unknown++;
	else if (err)
		c->unread++;
	return 0;
}

/* ---- all files ---- */

static int read_all(struct check *c)
{
	const json_t *name;
	const struct digest_ops *ops;
	uint32_t set = 0;
	const struct tree_entry *entry;
	struct tree_walk *walk;
	size_t i;
	int err;

	json_array_foreach(json_object_get(c->mount.status, "digests"), i,
			   name) {
		ops = digest_find(json_string_value(name));
		set |= ops ? DIGEST_BIT(ops->id) : 0;
	}
	err = reader_init(&c->reader, set & DIGEST_KEPT);
	if (err)
		return err;
	walk = tree_walk_begin(c->mount.point, TREE_ONE_DEVICE);
	while (walk && !err && (entry = tree_walk_next(walk)))
		err = check_entry(c, walk, entry);
	return tree_walk_end(walk, err);
}

/* ---- the answer ---- */

static void print_text(const struct check *c, const char *directory)
{
	fputs("Catalog ", stdout);
	utf8_print_safe(stdout, directory);
	printf("\n%lld files: %lld fresh, %lld pending, %lld failed\n",
	       c->progress.files, told_number(c->mount.status, "fresh"),
	       c->progress.left, c->progress.failed);
	if (c->read)
		printf("%" PRIu64 " read again; %" PRIu64
		       " new or changed, %" PRIu64 " could not be read\n",
		       c->read_again, c->unknown, c->unread);
	if (!c->table.rows) {
		puts("In order");
		return;
	}
	printf("%zu findings; to have all files hashed again, unmount, "
	       "remove ",
	       c->table.rows);
	utf8_print_safe(stdout, directory);
	puts("/data.mdb and mount");
}

static int print_json(const struct check *c, const char *directory)
{
	json_t *totals = JSON_NUMBERS(
		{ "findings", c->table.rows },
		{ "files", told_number(c->mount.status, "files") },
		{ "directories", told_number(c->mount.status, "directories") },
		{ "fresh", told_number(c->mount.status, "fresh") },
		{ "pending", told_number(c->mount.status, "pending") },
		{ "failed", told_number(c->mount.status, "failed") },
		{ "read", c->read_again }, { "read_bytes", c->read_bytes },
		{ "unknown", c->unknown }, { "unread", c->unread });

	return table_totals(json_with_path(totals, "catalog", directory),
			    !c->unread && !c->unknown, NULL);
}

/* ---- the command ---- */

static int run(const struct command *self, char **paths)
{
	struct check *c = self->job;
	const char *root, *directory;
	int code = mount_find(*paths, &c->mount);

	if (code)
		return code;
	root = c->mount.root;
	progress_read(c->mount.status, &c->progress);
	directory = json_string_value(json_object_get(
		json_object_get(c->mount.status, "catalog"), "path"));
	if (!c->progress.counted || !directory)
		return -EPERM;
	if (c->progress.error)
		return cli_complain(root, "the catalog cannot be used: %s",
				    c->progress.error);
	if (c->progress.reading)
		return cli_complain(root, "the catalog is being read; kin "
					  "wait waits for that");
	if (c->read)
		code = read_all(c);
	if (!code && c->table.output.json)
		code = print_json(c, directory);
	else if (!code)
		print_text(c, directory);
	return code >= 0 && c->table.rows ? EXIT_FAILED : code;
}

static const struct option_row options[] = {
	{ "read", 0, NULL, "read every file and compare its digests",
	  OPTION_FLAG(struct check, read) },
	{ "json", 0, NULL,
	  "the findings, an object a line, the last one with totals",
	  OPTION_FLAG(struct check, table.output.json) },
	{ 0 },
};

const struct command command_check = {
	.name = "check",
	.operands = { 1, 1 },
	.lacking = "which mount?",
	.synopsis = "check [--read] [--json] MOUNT",
	.summary = "Count the files of a kinfs mount, and verify their digests",
	.help = "MOUNT is the mount point or any path below it.  A catalog is a cache: unmount,\n"
		"remove its data.mdb, and the next mount hashes all files again.\n",
	.options = options,
	.notes = "Exit status: 0 in order; 1 there are findings; 2 usage.\n",
	.job = &(struct check){ .table.columns = columns },
	.run = run,
};
