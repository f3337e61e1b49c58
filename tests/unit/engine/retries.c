/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"

#include <limits.h>
#include <sys/sysmacros.h>

/* A directory whose names change while the scan reads it is not given up. */

enum { READS_STALE = 4 }; /* that often it changes, and no scan comes back */

static struct fixture *changes_in; /* NULL: nothing changes */
static struct file_key busy;
static int reads_left;
static ino_t elusive; /* 0, or what is never opened while no name changes */

static void change(void)
{
	engine_name_removed(changes_in->engine, &busy, "nobody");
}

static int stat_at(int fd, const char *name, struct stat *st, int flags)
{
	struct statx stx;

	if (statx(fd, name, flags, STATX_BASIC_STATS, &stx))
		return -1;
	*st = (struct stat){
		.st_dev = makedev(stx.stx_dev_major, stx.stx_dev_minor),
		.st_ino = stx.stx_ino,
		.st_mode = stx.stx_mode,
		.st_nlink = stx.stx_nlink,
		.st_size = (off_t)stx.stx_size,
		.st_mtim = { stx.stx_mtime.tv_sec, stx.stx_mtime.tv_nsec },
		.st_ctim = { stx.stx_ctime.tv_sec, stx.stx_ctime.tv_nsec },
	};
	return 0;
}

/* Stands before the C library's, which the scan calls for each entry of a
 * directory.  When it comes to the first one names change. */
int fstatat(int fd, const char *name, struct stat *st, int flags)
{
	if (changes_in && strcmp(name, "first") == 0 && reads_left) {
		reads_left--;
		change();
	}
	return stat_at(fd, name, st, flags);
}

/* The same; called for what was opened by its name. */
int fstat(int fd, struct stat *st)
{
	int err = stat_at(fd, "", st, AT_EMPTY_PATH);

	if (changes_in && !err && st->st_ino == elusive)
		change();
	return err;
}

static const char text[] = "the same in all of them, and long enough";

static void make_directory(struct fixture *f, const char *path)
{
	char full[512];

	(void)snprintf(full, sizeof(full), "%s/%s", f->source, path);
	assert_int_equal(mkdir(full, 0700), 0);
}

static void make(struct fixture *f)
{
	fixture_make(f);
	make_directory(f, "busy");
	write_file(f, "busy/first", text, sizeof(text));
	write_file(f, "busy/second", text, sizeof(text));
}

static void start(struct fixture *f, int reads)
{
	f->options.source_fd = f->source_fd;
	f->options.source = f->source;
	f->options.catalog_dir = f->catalog;
	assert_int_equal(engine_open(&f->options, &f->engine), 0);
	key_of(f, "busy", &busy);
	reads_left = reads;
	changes_in = f;
	assert_int_equal(engine_start(f->engine), 0);
}

TEST(test_names_in_a_directory_that_changes_all_the_time)
{
	struct search_hits hits;
	struct fixture f;

	make(&f);
	start(&f, INT_MAX);
	wait_idle(&f);
	find_similar(&f, "busy/first", &hits);
	assert_non_null(find_hit(&hits, "busy/second"));
	search_hits_release(&hits);
	fixture_remove(&f);
	changes_in = NULL;
}

TEST(test_what_vanished_from_a_directory_that_stops_changing)
{
	char path[512];
	struct fixture f;

	make(&f);
	start(&f, 0);
	wait_idle(&f);
	assert_int_equal(status_number(&f, "files"), 2);
	(void)snprintf(path, sizeof(path), "%s/busy/second", f.source);
	assert_int_equal(unlink(path), 0);
	reads_left = READS_STALE;
	engine_rescan(f.engine);
	wait_idle(&f);
	assert_int_equal(reads_left, 0);
	assert_int_equal(status_number(&f, "files"), 1);
	fixture_remove(&f);
	changes_in = NULL;
}

/* Its name comes only when its parent is read again, and what is in it is not
 * known before. */
TEST(test_what_is_below_a_directory_whose_name_was_missed)
{
	struct stat st = { 0 };
	struct fixture f;

	make(&f);
	make_directory(&f, "busy/below");
	write_file(&f, "busy/below/third", text, sizeof(text));
	assert_int_equal(fstatat(f.source_fd, "busy/below", &st, 0), 0);
	elusive = st.st_ino;
	start(&f, 1);
	wait_idle(&f);
	assert_int_equal(status_number(&f, "files"), 3);
	fixture_remove(&f);
	changes_in = NULL;
	elusive = 0;
}
