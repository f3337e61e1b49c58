/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Every combination of a class of users (owner, group, others) and its bits:
 * who may do what.  The results of one combination are one line.
 */
#define CLASSES 3

struct line {
	char text[512];
	size_t used;
};

static void add(struct line *l, const char *what, long result)
{
	const char *name = result < 0 ? error_name(errno) : "ok";

	if (l->used < sizeof(l->text))
		l->used += (size_t)snprintf(l->text + l->used,
					    sizeof(l->text) - l->used, " %s:%s",
					    what, name);
}

static void add_fd(struct line *l, const char *what, int fd)
{
	add(l, what, fd);
	if (fd >= 0)
		close(fd);
}

/* alice is the owner, in the group, or somebody else. */
static void own(const char *path, int class)
{
	need(chown(path, class == 0 ? alice.uid : bob.uid,
		   class == 1 ? SHARED_GROUP : bob.gid) == 0,
	     "chown");
}

static mode_t bits_of(unsigned bits, int class)
{
	/* The other classes have the opposite rights. */
	unsigned others = ~bits & 7;

	return (class == 0 ? bits : others) << 6 |
	       (class == 1 ? bits : others) << 3 | (class == 2 ? bits : others);
}

static void show_line(const char *what, int class, unsigned bits,
		      const struct line *l)
{
	static const char *const names[CLASSES] = { "owner", "group", "other" };

	say("%s, %s, bits %u =%s", what, names[class], bits, l->text);
}

static void try_file(struct line *l)
{
	struct stat st;

	add_fd(l, "open-r", open("f", O_RDONLY));
	add_fd(l, "open-w", open("f", O_WRONLY));
	add_fd(l, "open-rw", open("f", O_RDWR));
	add_fd(l, "open-append", open("f", O_WRONLY | O_APPEND));
	add_fd(l, "open-trunc", open("f", O_RDONLY | O_TRUNC));
	add_fd(l, "open-creat", open("f", O_RDONLY | O_CREAT, 0600));
	add_fd(l, "open-path", open("f", O_PATH));
	add(l, "truncate", truncate("f", 1));
	add(l, "access-r", eaccess("f", R_OK));
	add(l, "access-w", eaccess("f", W_OK));
	add(l, "access-x", eaccess("f", X_OK));
	add(l, "stat", stat("f", &st));
	add(l, "times", utimensat(AT_FDCWD, "f", NULL, 0));
	add(l, "exec", execl("f", "f", (char *)NULL));
}

TEST_AS_ROOT(files)
{
	for (int class = 0; class < CLASSES; class ++) {
		for (unsigned bits = 0; bits < 8; bits++) {
			struct line l = { .used = 0 };

			make_file("f", "content", 0600);
			own("f", class);
			need(chmod("f", bits_of(bits, class)) == 0, "chmod");
			need(seteuid(0) == 0 && setegid(alice.gid) == 0 &&
				     seteuid(alice.uid) == 0,
			     "alice");
			try_file(&l);
			need(seteuid(0) == 0 && setegid(0) == 0, "root");
			show_line("file", class, bits, &l);
		}
	}
}

static void try_directory(struct line *l)
{
	char target[16];
	struct stat st;

	add_fd(l, "opendir", open("d", O_RDONLY | O_DIRECTORY));
	add(l, "chdir", chdir("d"));
	if (strcmp(l->text + l->used - 2, "ok") == 0)
		need(chdir("..") == 0, "chdir");
	add(l, "stat", stat("d/f", &st));
	add(l, "stat-none", stat("d/none", &st));
	add_fd(l, "open", open("d/f", O_RDWR));
	add(l, "readlink", readlink("d/l", target, sizeof(target)));
	add_fd(l, "create", open("d/new", O_WRONLY | O_CREAT | O_EXCL, 0600));
	add(l, "mkdir", mkdir("d/dir", 0700));
	add(l, "mkdir-exists", mkdir("d/f", 0700));
	add(l, "symlink", symlink("x", "d/sym"));
	add(l, "mkfifo", mkfifo("d/fifo", 0600));
	add(l, "link", link("d/f", "d/hard"));
	add(l, "rename", rename("d/f", "d/g"));
	add(l, "rename-out", rename("d/h", "out"));
	add(l, "unlink", unlink("d/l"));
	add(l, "unlink-none", unlink("d/none"));
	add(l, "rmdir", rmdir("d/e"));
	add(l, "access-w", eaccess("d", W_OK));
}

static void fill_directory(const char *name)
{
	need(mkdir(name, 0700) == 0 && chdir(name) == 0, "directory");
	need(chmod(".", 0777) == 0, "chmod");
	NEED(mkdir("d", 0700));
	make_file("d/f", "content", 0666);
	make_file("d/h", "content", 0666);
	NEED(symlink("target", "d/l"));
	NEED(mkdir("d/e", 0777));
}

TEST_AS_ROOT(directories)
{
	char name[32];

	need(chmod(".", 0755) == 0, "chmod");
	for (int class = 0; class < CLASSES; class ++) {
		for (unsigned bits = 0; bits < 8; bits++) {
			struct line l = { .used = 0 };

			snprintf(name, sizeof(name), "%d-%u", class, bits);
			fill_directory(name);
			own("d", class);
			need(chmod("d", bits_of(bits, class)) == 0, "chmod");
			need(setegid(alice.gid) == 0 && seteuid(alice.uid) == 0,
			     "alice");
			try_directory(&l);
			need(seteuid(0) == 0 && setegid(0) == 0, "root");
			show_line("directory", class, bits, &l);
			show_names("d");
			need(chdir("..") == 0, "chdir");
		}
	}
}

/* Root may do everything but execute what nobody may. */
TEST_AS_ROOT(root)
{
	for (unsigned bits = 0; bits < 8; bits++) {
		struct line l = { .used = 0 };

		make_file("f", "content", 0600);
		need(chown("f", alice.uid, alice.gid) == 0, "chown");
		need(chmod("f", bits << 6) == 0, "chmod");
		try_file(&l);
		show_line("file of another", 0, bits, &l);
	}
}

/* A path is as closed as its most closed part. */
TEST_AS_ROOT(path)
{
	struct stat st;

	NEED(mkdir("a", 0755));
	NEED(mkdir("a/b", 0755));
	NEED(mkdir("a/b/c", 0755));
	make_file("a/b/c/f", "content", 0644);
	NEED(symlink("a/b/c/f", "l"));
	NEED(chmod("a/b", 0700));
	be(&alice);
	TRY(stat("a/b", &st));
	TRY(stat("a/b/c", &st));
	TRY(stat("a/b/c/f", &st));
	TRY(stat("a/b/nosuch", &st));
	TRY(lstat("l", &st));
	TRY(stat("l", &st));
	TRY_FD(open("l", O_RDONLY));
	TRY(chdir("a/b/c"));
	be(&root);
	TRY(chdir("a/b/c"));
	be(&alice);
	TRY_FD(open("f", O_RDONLY));
	TRY_FD(open("../c/f", O_RDONLY));
	TRY_FD(open("..", O_RDONLY));
	show_names(".");
}

/* Groups count, and only those one is in. */
TEST_AS_ROOT(groups)
{
	make_file("f", "content", 0640);
	NEED(chown("f", 0, SHARED_GROUP));
	make_file("g", "content", 0604);
	NEED(chown("g", 0, SHARED_GROUP));
	make_file("h", "content", 0040);
	NEED(chown("h", alice.uid, alice.gid));
	be(&alice);
	TRY_FD(open("f", O_RDONLY));
	TRY_FD(open("f", O_WRONLY));
	TRY_FD(open("g", O_RDONLY));
	TRY_FD(open("h", O_RDONLY));
	be(&bob);
	TRY_FD(open("f", O_RDONLY));
	TRY_FD(open("g", O_RDONLY));
	TRY_FD(open("h", O_RDONLY));
}
