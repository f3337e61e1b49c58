/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TEST(hard)
{
	struct stat a;
	struct stat b;
	int fd;

	make_file("f", "content", 0640);
	NEED(mkdir("d", 0755));
	TRY(link("f", "g"));
	TRY(link("f", "d/f"));
	NEED(lstat("f", &a));
	NEED(lstat("d/f", &b));
	say("the inode number = %s", a.st_ino == b.st_ino ? "equal" : "other");
	show_stat("f");
	show_stat("d/f");
	fd = open("g", O_WRONLY | O_TRUNC);
	TRY(write(fd, "changed", 7));
	show_content("d/f");
	TRY(chmod("d/f", 0600));
	show_stat("f");
	TRY(link("f", "g"));
	TRY(link("f", "d"));
	TRY(link("f", "f"));
	TRY(link("f", "nosuch/f"));
	TRY(link("f", "g/f"));
	TRY(link("f", ""));
	TRY(link("f", "new/"));
	TRY(link("nosuch", "x"));
	TRY(link("", "x"));
	TRY(link("d", "x"));
	TRY(link(".", "x"));
	TRY(linkat(AT_FDCWD, "f", AT_FDCWD, "x", 0x4000));
	show_names(".");
}

TEST(hard_special)
{
	char path[64];
	int fd;

	make_file("f", "content", 0640);
	NEED(symlink("f", "l"));
	NEED(symlink("nosuch", "dangling"));
	NEED(mkfifo("p", 0644));
	TRY(link("l", "l2"));
	show_stat("l2");
	TRY(linkat(AT_FDCWD, "l", AT_FDCWD, "f2", AT_SYMLINK_FOLLOW));
	show_stat("f2");
	TRY(link("dangling", "d2"));
	TRY(linkat(AT_FDCWD, "dangling", AT_FDCWD, "d3", AT_SYMLINK_FOLLOW));
	TRY(link("p", "p2"));
	show_stat("p2");
	fd = open("f", O_RDONLY);
	TRY(linkat(fd, "", AT_FDCWD, "f3", AT_EMPTY_PATH));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	TRY(linkat(AT_FDCWD, path, AT_FDCWD, "f4", AT_SYMLINK_FOLLOW));
	show_stat("f4");
	show_names(".");
}

TEST(hard_times)
{
	make_file("f", "content", 0640);
	NEED(mkdir("d", 0755));
	TIMES("f", link("f", "d/g"));
	TIMES("d", link("f", "d/h"));
	TIMES("d", link("f", "d/h"));
	TIMES("f", unlink("d/g"));
}

/* All of them have to be counted, and one more than ext4 allows. */
TEST(many)
{
	char name[32];
	int made = 0;

	make_file("f", "content", 0640);
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "link-%d", i);
		made += link("f", name) == 0;
	}
	TRY(made);
	show_stat("f");
	for (int i = 0; i < 500; i += 2) {
		snprintf(name, sizeof(name), "link-%d", i);
		made -= unlink(name) == 0;
	}
	show_stat("link-1");
}

static void show_link(const char *path, size_t size)
{
	char target[PATH_MAX + 1] = "";
	ssize_t len = readlink(path, target, size);

	say("target of %s = %zd, %.40s", path, len, target);
}

TEST(symbolic)
{
	char target[2 * PATH_MAX];

	make_file("f", "content", 0640);
	TRY(symlink("f", "l"));
	show_stat("l");
	show_link("l", PATH_MAX);
	show_content("l");
	TRY(symlink("somewhere/else", "l"));
	TRY(symlink("f", "nosuch/l"));
	TRY(symlink("f", "f/l"));
	TRY(symlink("", "empty"));
	TRY(symlink("f", ""));
	TRY(symlink("f", "slash/"));
	memset(target, 'a', sizeof(target));
	for (size_t len = 58; len <= 62; len++) {
		target[len] = '\0';
		snprintf(target + len + 1, 16, "l%zu", len);
		TRY(symlink(target, target + len + 1));
		show_link(target + len + 1, PATH_MAX);
		show_stat(target + len + 1);
		target[len] = 'a';
	}
	target[4095] = '\0';
	TRY(symlink(target, "long"));
	show_link("long", PATH_MAX);
	show_link("long", 100);
	show_stat("long");
	target[4095] = 'a';
	target[4096] = '\0';
	TRY(symlink(target, "longer"));
	show_link("l", 1);
	show_link("f", PATH_MAX);
	show_link("nosuch", PATH_MAX);
	TRY(readlink("l", target, 0));
	show_names(".");
}

TEST(loops)
{
	char from[32] = "f";
	char to[32];

	make_file("f", "content", 0640);
	NEED(mkdir("d", 0755));
	NEED(symlink("self", "self"));
	NEED(symlink("b", "a"));
	NEED(symlink("a", "b"));
	NEED(symlink("..", "d/up"));
	for (int i = 0; i < 45; i++) {
		snprintf(to, sizeof(to), "chain-%d", i);
		NEED(symlink(from, to));
		memcpy(from, to, sizeof(from));
	}
	TRY_FD(open("self", O_RDONLY));
	TRY_FD(open("a", O_RDONLY | O_CREAT, 0644));
	TRY(chmod("a", 0600));
	TRY(truncate("self", 0));
	TRY(access("self/x", F_OK));
	TRY(chdir("a"));
	TRY(unlink("self/x"));
	TRY_FD(open("chain-38", O_RDONLY));
	TRY_FD(open("chain-39", O_RDONLY));
	TRY_FD(open("chain-40", O_RDONLY));
	TRY_FD(open("chain-44", O_RDONLY));
	TRY_FD(open("d/up/d/up/d/up/f", O_RDONLY));
	show_stat("self");
}

TEST(symbolic_attributes)
{
	make_file("f", "content", 0640);
	NEED(symlink("f", "l"));
	TRY(fchmodat(AT_FDCWD, "l", 0600, AT_SYMLINK_NOFOLLOW));
	TRY(chmod("l", 0604));
	show_stat("l");
	show_stat("f");
	TRY(fchownat(AT_FDCWD, "l", getuid(), getgid(), AT_SYMLINK_NOFOLLOW));
	TRY(lchown("l", 17, 18));
	show_stat("l");
	show_stat("f");
	TRY(utimensat(AT_FDCWD, "l",
		      (struct timespec[]){ { .tv_sec = 11 },
					   { .tv_sec = 12, .tv_nsec = 3 } },
		      AT_SYMLINK_NOFOLLOW));
	TIMES("l", rename("l", "m"));
	TIMES("m", link("m", "n"));
}

TEST_AS_ROOT(hard_permission)
{
	NEED(chmod(".", 0777));
	make_file("f", "content", 0600);
	make_file("g", "content", 0666);
	NEED(mkdir("closed", 0755));
	be(&alice);
	TRY(link("f", "f2"));
	TRY(link("g", "g2"));
	TRY(link("g", "closed/g"));
	TRY(symlink("g", "closed/l"));
	make_file("mine", "mine", 0600);
	TRY(link("mine", "mine2"));
	be(&bob);
	TRY(link("mine", "mine3"));
	TRY(unlink("mine2"));
	show_names(".");
}

TEST_AS_ROOT(symbolic_owner)
{
	NEED(chmod(".", 0777));
	NEED(mkdir("g", 0777));
	NEED(chown("g", 0, SHARED_GROUP));
	NEED(chmod("g", 02777));
	be(&alice);
	TRY(symlink("x", "l"));
	TRY(symlink("x", "g/l"));
	show_stat("l");
	show_stat("g/l");
	be(&bob);
	TRY(lchown("l", bob.uid, bob.gid));
	TRY(readlink("l", (char[8]){ "" }, 8));
}
