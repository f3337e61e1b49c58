/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static long rename_flags(const char *from, const char *to, unsigned flags)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, flags);
}

TEST(files)
{
	struct stat a;
	struct stat b;
	int fd;

	make_file("a", "content of a", 0640);
	make_file("b", "b", 0604);
	(void)lstat("a", &a);
	fd = open("b", O_RDWR);
	TRY(rename("a", "b"));
	(void)lstat("b", &b);
	say("the inode number = %s", a.st_ino == b.st_ino ? "kept" : "new");
	show_names(".");
	show_content("b");
	show_fd(fd);
	TRY(pwrite(fd, "still there", 11, 0));
	show_fd(fd);
	TRY(rename("b", "b"));
	TRY(rename("nosuch", "b"));
	TRY(rename("b", "nosuch/b"));
	TRY(rename("b", "b/b"));
	TRY(rename("b", "c/"));
	TRY(rename("b", ""));
	TRY(rename("", "b"));
	TRY(link("b", "l"));
	TRY(rename("b", "l"));
	show_names(".");
	show_stat("b");
	TIMES("b", rename("b", "e"));
	show_names(".");
}

TEST(directories)
{
	NEED(mkdir("d", 0755));
	NEED(mkdir("d/e", 0755));
	NEED(mkdir("d/e/f", 0755));
	NEED(mkdir("empty", 0700));
	NEED(mkdir("full", 0755));
	make_file("full/x", "x", 0644);
	make_file("file", "file", 0644);
	TRY(rename("d", "d/e"));
	TRY(rename("d", "d/e/f"));
	TRY(rename("d", "d/new"));
	TRY(rename("d/e", "d"));
	TRY(rename("d/e", "full"));
	TRY(rename("d/e", "file"));
	TRY(rename("file", "d"));
	TRY(rename("file", "empty"));
	TRY(rename("d", "empty"));
	show_stat("empty");
	show_stat("empty/e");
	TRY(rename("empty", "new/"));
	TRY(rename(".", "dot"));
	TRY(rename("new", "."));
	TRY(rename("new", ".."));
	TRY(rename("..", "new"));
	TRY(rename("new/e", "e"));
	show_stat("new");
	show_names("e");
	show_names(".");
}

TEST(moved_parent)
{
	struct stat a;
	struct stat b;
	int fd;
	int dir;

	NEED(mkdir("d", 0755));
	NEED(mkdir("d/e", 0755));
	NEED(mkdir("to", 0755));
	make_file("d/e/f", "f", 0644);
	(void)stat("to", &a);
	fd = open("d/e/f", O_RDWR);
	dir = open("d/e", O_RDONLY | O_DIRECTORY);
	TRY(rename("d/e", "to/e"));
	TRY(write(fd, "new", 3));
	TRY_FD(openat(dir, "f", O_RDONLY));
	TRY_FD(openat(dir, "g", O_WRONLY | O_CREAT, 0644));
	(void)fstatat(dir, "..", &b, 0);
	say("the parent = %s", a.st_ino == b.st_ino ? "the new one" : "wrong");
	TRY(rename("to", "d/to"));
	TRY(write(fd, "more", 4));
	TRY_FD(openat(dir, "f", O_RDONLY));
	TRY(unlinkat(dir, "g", 0));
	show_content("d/to/e/f");
	show_names("d/to/e");
	show_stat("d");
	show_stat("d/to");
	TRY(fchdir(dir));
	TRY(rename("f", "../../f"));
	TRY(chdir("../.."));
	show_names(".");
}

TEST(noreplace)
{
	make_file("a", "a", 0644);
	make_file("b", "b", 0644);
	NEED(symlink("nosuch", "l"));
	NEED(mkdir("d", 0755));
	TRY(rename_flags("a", "b", RENAME_NOREPLACE));
	TRY(rename_flags("a", "a", RENAME_NOREPLACE));
	TRY(rename_flags("a", "d", RENAME_NOREPLACE));
	TRY(rename_flags("a", "l", RENAME_NOREPLACE));
	TRY(rename_flags("a", "c", RENAME_NOREPLACE));
	TRY(rename_flags("nosuch", "x", RENAME_NOREPLACE));
	TRY(rename_flags("d", "e", RENAME_NOREPLACE));
	show_names(".");
}

TEST(exchange)
{
	make_file("a", "content of a", 0600);
	make_file("b", "b", 0644);
	NEED(mkdir("d", 0755));
	NEED(mkdir("d/e", 0755));
	make_file("d/e/x", "x", 0644);
	TRY(rename_flags("a", "b", RENAME_EXCHANGE));
	show_stat("a");
	show_content("b");
	TRY(rename_flags("a", "d", RENAME_EXCHANGE));
	show_stat("a");
	show_stat("d");
	show_names("a/e");
	TRY(rename_flags("b", "a/e", RENAME_EXCHANGE));
	show_names("b");
	show_content("a/e");
	TRY(rename_flags("b", "nosuch", RENAME_EXCHANGE));
	TRY(rename_flags("nosuch", "b", RENAME_EXCHANGE));
	TRY(rename_flags("b", "b/x", RENAME_EXCHANGE));
	TRY(rename_flags("a", "b", RENAME_EXCHANGE | RENAME_NOREPLACE));
	TRY(rename_flags("a", "b", 1u << 7));
	show_names(".");
}

TEST(whiteout)
{
	make_file("a", "a", 0644);
	TRY(rename_flags("a", "b", RENAME_WHITEOUT));
}

TEST(times)
{
	NEED(mkdir("d", 0755));
	NEED(mkdir("e", 0755));
	make_file("d/f", "f", 0644);
	make_file("e/g", "g", 0644);
	TIMES("d", rename("d/f", "e/f"));
	TIMES("e", rename("e/f", "d/f"));
	TIMES("d/f", rename("d/f", "d/f"));
	TIMES("e/g", rename("e/g", "e/g"));
	TIMES("d", rename("nosuch", "d/f"));
}

TEST_AS_ROOT(sticky)
{
	NEED(mkdir("s", 0777));
	NEED(chmod("s", 01777));
	NEED(chmod(".", 0777));
	be(&alice);
	make_file("s/a", "a", 0666);
	NEED(mkdir("s/da", 0777));
	be(&bob);
	make_file("s/b", "b", 0666);
	NEED(mkdir("s/db", 0777));
	TRY(rename("s/a", "s/c"));
	TRY(rename("s/b", "s/a"));
	TRY(rename("s/da", "s/dc"));
	TRY(rename("s/da", "outside"));
	TRY(unlink("s/a"));
	TRY(rmdir("s/da"));
	TRY(rename_flags("s/b", "s/a", RENAME_EXCHANGE));
	TRY(rename("s/b", "s/c"));
	TRY(rename("s/db", "s/da"));
	be(&alice);
	TRY(rename("s/a", "s/d"));
	TRY(rename("s/d", "s/c"));
	be(&root);
	TRY(rename("s/c", "s/d"));
	TRY(chown("s", bob.uid, bob.gid));
	be(&bob);
	TRY(rename("s/da", "s/dx"));
	TRY(unlink("s/d"));
	show_names("s");
}

/* A directory whose ".." changes must be writable itself. */
TEST_AS_ROOT(permission)
{
	NEED(chmod(".", 0777));
	NEED(mkdir("closed", 0755));
	NEED(mkdir("closed/open", 0777));
	NEED(chmod("closed/open", 0777));
	make_file("closed/f", "f", 0666);
	NEED(mkdir("other", 0777));
	NEED(chmod("other", 0777));
	NEED(mkdir("other/theirs", 0755));
	be(&alice);
	TRY(rename("closed/f", "f"));
	TRY(rename("closed/open", "open"));
	TRY(rename("other/theirs", "theirs"));
	TRY(rename("other/theirs", "other/t"));
	TRY(mkdir("mine", 0555));
	TRY(rename("mine", "other/mine"));
	TRY(rename("mine", "closed/mine"));
	TRY(chmod("mine", 0755));
	TRY(rename("mine", "other/mine"));
	TRY(rename("other", "closed/open/other"));
	show_names("closed/open");
	show_names(".");
}

TEST_AS_ROOT(owner_and_mode)
{
	make_file("f", "f", 0644);
	NEED(chown("f", alice.uid, SHARED_GROUP));
	NEED(chmod("f", 06755));
	NEED(mkdir("d", 0755));
	NEED(chown("d", bob.uid, bob.gid));
	NEED(chmod("d", 02777));
	TRY(rename("f", "d/f"));
	show_stat("d/f");
	TRY(mkdir("e", 0755));
	TRY(rename("e", "d/e"));
	show_stat("d/e");
}
