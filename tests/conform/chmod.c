/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

TEST(modes)
{
	static const mode_t modes[] = { 0,     0400,  0777,  01777, 02777,
					04777, 07777, 02666, 06644, 0124 };
	int fd;

	make_file("f", "content", 0644);
	NEED(mkdir("d", 0755));
	NEED(mkfifo("p", 0755));
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		TRY(chmod("f", modes[i]));
		show_stat("f");
		TRY(chmod("d", modes[i]));
		show_stat("d");
		TRY(chmod("p", modes[i]));
		show_stat("p");
	}
	TRY(chmod("f", 0644));
	fd = TRY_FD(open("f", O_RDONLY));
	TRY(fchmod(fd, 0606));
	show_fd(fd);
	TRY(chmod("f", 0100777));
	TRY(chmod("nosuch", 0));
	TRY(chmod("f/x", 0));
	TRY(chmod("", 0));
	TIMES("f", chmod("f", 0600));
	TIMES("f", chmod("f", 0600));
	TIMES("d", chmod("d", 0700));
}

TEST_AS_ROOT(owner_only)
{
	make_file("f", "content", 0666);
	NEED(chown("f", alice.uid, alice.gid));
	NEED(chmod(".", 0777));
	be(&bob);
	TRY(chmod("f", 0777));
	TRY(utimensat(AT_FDCWD, "f",
		      (struct timespec[]){ { .tv_sec = 1 }, { .tv_sec = 2 } },
		      0));
	TRY(utimensat(AT_FDCWD, "f", NULL, 0));
	be(&alice);
	TRY(chmod("f", 04755));
	show_stat("f");
	TRY(chmod("f", 02755));
	show_stat("f");
	TRY(chmod("f", 01644));
	show_stat("f");
	be(&root);
	TRY(chmod("f", 07777));
	show_stat("f");
}

/* Set-group-ID on a file of a group that is not one's own is dropped. */
TEST_AS_ROOT(foreign_group)
{
	make_file("f", "content", 0644);
	NEED(mkdir("d", 0755));
	NEED(chown("f", alice.uid, 5555));
	NEED(chown("d", alice.uid, 5555));
	be(&alice);
	TRY(chmod("f", 02755));
	show_stat("f");
	TRY(chmod("f", 06755));
	show_stat("f");
	TRY(chmod("d", 02755));
	show_stat("d");
	be(&root);
	TRY(chown("f", alice.uid, SHARED_GROUP));
	be(&alice);
	TRY(chmod("f", 02755));
	show_stat("f");
	TRY(chmod("f", 02644));
	show_stat("f");
}

TEST_AS_ROOT(chown_root)
{
	int fd;

	make_file("f", "content", 0644);
	NEED(mkdir("d", 0755));
	TRY(chown("f", 17, 18));
	show_stat("f");
	TRY(chown("f", (uid_t)-1, 19));
	show_stat("f");
	TRY(chown("f", 20, (gid_t)-1));
	show_stat("f");
	TIMES("f", chown("f", (uid_t)-1, (gid_t)-1));
	TIMES("f", chown("f", 20, 19));
	TIMES("d", chown("d", 20, 19));
	TRY(chmod("f", 06755));
	TRY(chown("f", 1, 2));
	show_stat("f");
	TRY(chmod("f", 06745));
	TRY(chown("f", 1, 3));
	show_stat("f");
	TRY(chmod("f", 06755));
	TRY(chown("f", (uid_t)-1, (gid_t)-1));
	show_stat("f");
	TRY(chmod("d", 06755));
	TRY(chown("d", 1, 2));
	show_stat("d");
	fd = TRY_FD(open("f", O_RDONLY));
	TRY(fchown(fd, 77, 78));
	show_fd(fd);
	TRY(fchownat(fd, "", 79, 80, AT_EMPTY_PATH));
	show_stat("f");
	TRY(chown("f", 4294967294u, 4294967294u));
	show_stat("f");
	TRY(chown("nosuch", 1, 1));
	TRY(chown("f/x", 1, 1));
}

TEST_AS_ROOT(chown_user)
{
	make_file("f", "content", 0644);
	NEED(chown("f", alice.uid, alice.gid));
	NEED(chmod(".", 0777));
	be(&alice);
	TRY(chmod("f", 06755));
	TRY(chown("f", alice.uid, SHARED_GROUP));
	show_stat("f");
	TRY(chmod("f", 06755));
	TRY(chown("f", (uid_t)-1, alice.gid));
	show_stat("f");
	TRY(chmod("f", 06755));
	TRY(chown("f", (uid_t)-1, (gid_t)-1));
	show_stat("f");
	TRY(chown("f", alice.uid, alice.gid));
	show_stat("f");
	TRY(chown("f", bob.uid, (gid_t)-1));
	TRY(chown("f", (uid_t)-1, bob.gid));
	TRY(chown("f", 0, 0));
	be(&bob);
	TRY(chown("f", (uid_t)-1, SHARED_GROUP));
	TRY(chown("f", bob.uid, bob.gid));
	TRY(chown("f", (uid_t)-1, (gid_t)-1));
	show_stat("f");
}

TEST(chown_as_is)
{
	make_file("f", "content", 0644);
	TRY(chown("f", getuid(), getgid()));
	TRY(chown("f", (uid_t)-1, SHARED_GROUP));
	show_stat("f");
	TRY(chmod("f", 06755));
	TRY(chown("f", (uid_t)-1, getgid()));
	show_stat("f");
	TRY(chown("f", 1, (gid_t)-1));
	TRY(chown("f", (uid_t)-1, 1));
	show_stat("f");
}
