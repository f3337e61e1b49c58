/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

TEST(make)
{
	make_file("f", "content", 0644);
	NEED(symlink("nosuch", "dangling"));
	TRY(mkdir("d", 0755));
	TRY(mkdir("d", 0700));
	TRY(mkdir("d/", 0700));
	TRY(mkdir("e/", 0700));
	TRY(mkdir("f", 0700));
	TRY(mkdir("f/d", 0700));
	TRY(mkdir("nosuch/d", 0700));
	TRY(mkdir("dangling", 0700));
	TRY(mkdir("", 0700));
	TRY(mkdir(".", 0700));
	TRY(mkdir("..", 0700));
	TRY(mkdir("d/d", 0700));
	TRY(mkdir("d/e", 0700));
	show_stat("d");
	show_stat("e");
	TRY(rmdir("d/e"));
	show_stat("d");
	TIMES("d", mkdir("d/g", 0700));
	TIMES("d", mkdir("d/g", 0700));
	show_names("d");
	show_names(".");
}

TEST(modes)
{
	static const mode_t modes[] = { 0,     0700,  0777,  01777,
					02777, 04777, 07777, 0111 };
	static const mode_t masks[] = { 0, 022, 077, 0777 };
	char name[32];
	int fd;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		for (size_t j = 0; j < sizeof(masks) / sizeof(masks[0]); j++) {
			umask(masks[j]);
			snprintf(name, sizeof(name), "d-%o-%o",
				 (unsigned)modes[i], (unsigned)masks[j]);
			TRY_AS(name, mkdir(name, modes[i]));
			show_stat(name);
			name[0] = 'f';
			fd = open(name, O_WRONLY | O_CREAT, modes[i]);
			show_stat(name);
			close(fd);
			name[0] = 'p';
			TRY_AS(name, mkfifo(name, modes[i]));
			show_stat(name);
		}
	}
}

/* Files of a set-group-ID directory are of its group. */
static void make_in_group(void)
{
	TRY(mkdir("g/d", 0777));
	TRY(mkdir("g/s", 06777));
	show_stat("g/d");
	show_stat("g/s");
	TRY_FD(open("g/f", O_WRONLY | O_CREAT, 06755));
	show_stat("g/f");
	TRY_FD(open("g/x", O_WRONLY | O_CREAT, 02644));
	show_stat("g/x");
	TRY(mknod("g/p", S_IFIFO | 0644, 0));
	show_stat("g/p");
	TRY(mknod("g/m", S_IFREG | 02755, 0));
	show_stat("g/m");
	TRY(mkdir("g/d/e", 0700));
	show_stat("g/d/e");
}

TEST_AS_ROOT(set_group_id)
{
	NEED(mkdir("g", 0777));
	NEED(chown("g", 0, 5555));
	NEED(chmod("g", 02777));
	be(&alice);
	make_in_group();
}

TEST_AS_ROOT(set_group_id_member)
{
	NEED(mkdir("g", 0777));
	NEED(chown("g", 0, SHARED_GROUP));
	NEED(chmod("g", 02777));
	be(&alice);
	make_in_group();
}

TEST_AS_ROOT(set_group_id_root)
{
	NEED(mkdir("g", 0777));
	NEED(chown("g", 17, 5555));
	NEED(chmod("g", 02777));
	make_in_group();
}

TEST_AS_ROOT(owner)
{
	NEED(chmod(".", 0777));
	be(&alice);
	TRY(mkdir("d", 0700));
	TRY_FD(open("f", O_WRONLY | O_CREAT, 0600));
	TRY(mkfifo("p", 0600));
	show_stat("d");
	show_stat("f");
	show_stat("p");
	be(&bob);
	TRY(mkdir("d/e", 0700));
	TRY(rmdir("d"));
	show_names("d");
	show_names(".");
}
