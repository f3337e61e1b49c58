/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/uio.h>

#include "tests/unit/engine/fixture.h"

/* A file that is removed while it is hashed leaves no record behind. */

static struct fixture *removes_from; /* NULL: nothing is removed */
static struct file_key root;
static _Thread_local bool reads, has_read;

/* Stands before the C library's, which a background worker reads a file with. */
ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset,
		int flags)
{
	(void)flags;
	reads = true;
	return preadv(fd, iov, count, offset);
}

/* A worker asks before it opens a file, and again when it has read it. */
static enum source_use note_use(void *ctx, dev_t device, ino_t inode)
{
	(void)ctx;
	(void)device;
	(void)inode;
	has_read = reads;
	return SOURCE_UNUSED;
}

static void remove_the_file(struct fixture *f)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/file", f->source);
	assert_int_equal(unlink(path), 0);
	engine_name_removed(f->engine, &root, "file");
}

/* As above.  The file goes right after the last look at it, which does not
 * notice that any more. */
int fstat(int fd, struct stat *st)
{
	struct fixture *f = removes_from;
	int result = fstatat(fd, "", st, AT_EMPTY_PATH);

	if (f && has_read) {
		removes_from = NULL;
		remove_the_file(f);
	}
	return result;
}

TEST(test_removed_after_the_last_look)
{
	struct fixture f;

	fixture_make(&f);
	write_file(&f, "file", "some content", 12);
	f.options.host.use = note_use;
	f.options.workers = 1;
	f.options.host.ctx = &f;
	f.options.source_fd = f.source_fd;
	f.options.source = f.source;
	f.options.catalog_dir = f.catalog;
	assert_int_equal(engine_open(&f.options, &f.engine), 0);
	key_of(&f, ".", &root);
	removes_from = &f;
	assert_int_equal(engine_start(f.engine), 0);
	wait_idle(&f);
	assert_null(removes_from);
	assert_int_equal(status_number(&f, "files"), 0);
	assert_int_equal(status_number(&f, "fresh"), 0);
	fixture_remove(&f);
}
