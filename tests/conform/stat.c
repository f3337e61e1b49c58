/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

static void make_kinds(void)
{
	make_bytes("f", 12345, 1);
	NEED(mkdir("d", 0751));
	NEED(symlink("some/where", "l"));
	NEED(mkfifo("p", 0604));
}

static void show_more(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		say("%s = %s", path, error_name(errno));
	else
		say("%s = block size %ld, device %u:%u, size of a name %lld",
		    path, (long)st.st_blksize, major(st.st_rdev),
		    minor(st.st_rdev),
		    S_ISLNK(st.st_mode) ? (long long)st.st_size : -1LL);
}

TEST(kinds)
{
	struct stat st;
	struct stat other;

	make_kinds();
	show_stat("f");
	show_stat("d");
	show_stat("l");
	show_stat("p");
	show_more("f");
	show_more("d");
	show_more("l");
	show_more("p");
	NEED(lstat("f", &st));
	NEED(lstat("d", &other));
	say("device numbers = %s", st.st_dev == other.st_dev ? "one" : "two");
	say("blocks of f = %lld", (long long)st.st_blocks);
	TRY(stat("l", &st));
	TRY(stat("f/", &st));
	TRY(stat("d/", &st));
	TRY(lstat("l/", &st));
	TRY(stat("", &st));
	TRY(stat("f/x", &st));
	TRY(fstatat(AT_FDCWD, "", &st, AT_EMPTY_PATH));
	TRY(fstatat(AT_FDCWD, "f", &st, AT_NO_AUTOMOUNT));
	TRY(fstatat(AT_FDCWD, "f", &st, 0x8000000));
}

static const char *birth_of(const char *path, const struct statx *x)
{
	struct statx below = { .stx_mask = 0 };

	if (!(x->stx_mask & STATX_BTIME) || !x->stx_btime.tv_sec)
		return "unknown";
	NEED(statx(AT_FDCWD, behind(path), AT_SYMLINK_NOFOLLOW, STATX_BTIME,
		   &below));
	return below.stx_btime.tv_sec == x->stx_btime.tv_sec &&
			       below.stx_btime.tv_nsec == x->stx_btime.tv_nsec ?
		       "that below" :
		       "another one";
}

static void show_statx(const char *path)
{
	struct statx x = { .stx_mask = 0 };

	TRY(statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW,
		  STATX_BASIC_STATS | STATX_BTIME, &x));
	say("basic of %s = %s, mode %06o, %llu bytes", path,
	    (x.stx_mask & STATX_BASIC_STATS) == STATX_BASIC_STATS ? "all" :
								    "some",
	    x.stx_mode,
	    S_ISDIR(x.stx_mode) ? 0 : (unsigned long long)x.stx_size);
	say("birth of %s = %s", path, birth_of(path, &x));
}

TEST(statx)
{
	struct statx x;

	make_kinds();
	show_statx("f");
	show_statx("d");
	show_statx("l");
	TRY(statx(AT_FDCWD, "f", AT_STATX_FORCE_SYNC, STATX_SIZE, &x));
	TRY(statx(AT_FDCWD, "f", AT_STATX_DONT_SYNC, STATX_SIZE, &x));
	TRY(statx(AT_FDCWD, "f", AT_STATX_SYNC_TYPE, STATX_SIZE, &x));
	TRY(statx(AT_FDCWD, "f", 0, STATX__RESERVED, &x));
	TRY(statx(AT_FDCWD, "nosuch", 0, STATX_SIZE, &x));
	TRY(statx(AT_FDCWD, "f", 0, 0, &x));
	say("size of the answer = %llu", (unsigned long long)x.stx_size);
}

/* A file keeps its number, whatever happens to its names. */
TEST(numbers)
{
	struct stat before;
	struct stat after;
	int fd;

	make_kinds();
	NEED(stat("f", &before));
	fd = open("f", O_RDWR);
	TRY(rename("f", "g"));
	TRY(link("g", "h"));
	TRY(unlink("g"));
	NEED(stat("h", &after));
	say("number = %s", before.st_ino == after.st_ino ? "kept" : "new");
	NEED(fstat(fd, &after));
	say("number = %s", before.st_ino == after.st_ino ? "kept" : "new");
	TRY(rename("h", "d/i"));
	TRY(rename("d", "e"));
	NEED(stat("e/i", &after));
	say("number = %s", before.st_ino == after.st_ino ? "kept" : "new");
	make_file("f", "another", 0644);
	NEED(stat("f", &after));
	say("number = %s", before.st_ino == after.st_ino ? "taken" : "its own");
	NEED(stat(behind("e/i"), &after));
	say("number = %s",
	    before.st_ino == after.st_ino ? "that below" : "another one");
	NEED(stat("e/..", &before));
	NEED(stat(".", &after));
	say("number = %s", before.st_ino == after.st_ino ? "kept" : "new");
	NEED(stat("..", &before));
	say("number = %s", before.st_ino == after.st_ino ? "taken" : "its own");
}

TEST(blocks)
{
	struct stat st;
	int fd = open("f", O_RDWR | O_CREAT, 0644);

	TRY(ftruncate(fd, 1000000));
	NEED(fstat(fd, &st));
	say("blocks = %lld", (long long)st.st_blocks);
	TRY(pwrite(fd, "x", 1, 500000));
	TRY(fsync(fd));
	NEED(fstat(fd, &st));
	say("blocks = %lld", (long long)st.st_blocks);
	TRY(fallocate(fd, 0, 0, 8192));
	NEED(fstat(fd, &st));
	say("blocks = %lld", (long long)st.st_blocks);
}

TEST(filesystem)
{
	struct statvfs st = { .f_bsize = 0 };
	struct statvfs top = { .f_bsize = 0 };
	struct statvfs lower = { .f_bsize = 0 };
	struct statfs fs;

	make_kinds();
	TRY(statvfs("f", &st));
	TRY(statvfs(".", &top));
	NEED(statvfs(behind("f"), &lower));
	say("sizes = %lu %lu %lu", st.f_bsize, st.f_frsize, st.f_namemax);
	TRY(st.f_blocks == lower.f_blocks);
	TRY(st.f_files == lower.f_files);
	TRY(st.f_bavail <= lower.f_blocks && st.f_bavail > 0);
	TRY(st.f_flag & ST_RDONLY ? 1 : 0);
	TRY(st.f_fsid == top.f_fsid);
	TRY(fstatvfs(open("d", O_RDONLY), &st));
	TRY(statvfs("l", &st));
	TRY(statvfs("nosuch", &st));
	TRY(statfs("f", &fs));
	TRY(pathconf("f", _PC_NAME_MAX));
	TRY(pathconf("f", _PC_LINK_MAX));
	TRY(pathconf("f", _PC_PATH_MAX));
}
