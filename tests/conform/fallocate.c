/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#define KEEP FALLOC_FL_KEEP_SIZE
#define PUNCH (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)
#define ZERO FALLOC_FL_ZERO_RANGE

/* Not how many: where the extents are kept counts as well. */
static void show_blocks(int fd)
{
	struct stat st;

	if (fsync(fd) == 0 && fstat(fd, &st) == 0)
		say("blocks = %s",
		    st.st_blocks * 512 < st.st_size ? "holes" : "no holes");
}

TEST(modes)
{
	int fd;

	make_bytes("f", 100000, 1);
	fd = TRY_FD(open("f", O_RDWR));
	TRY(fallocate(fd, 0, 0, 50000));
	show_content("f");
	TRY(fallocate(fd, 0, 90000, 50000));
	show_content("f");
	show_blocks(fd);
	TRY(fallocate(fd, KEEP, 0, 500000));
	show_content("f");
	show_blocks(fd);
	TRY(fallocate(fd, PUNCH, 8192, 16384));
	show_content("f");
	show_blocks(fd);
	TRY(fallocate(fd, PUNCH, 100, 50));
	show_content("f");
	TRY(fallocate(fd, PUNCH, 130000, 1000000));
	show_content("f");
	TRY(fallocate(fd, ZERO, 60000, 10000));
	show_content("f");
	TRY(fallocate(fd, ZERO, 139000, 10000));
	show_content("f");
	TRY(fallocate(fd, ZERO | KEEP, 148000, 100000));
	show_content("f");
	show_blocks(fd);
}

TEST(shifting)
{
	int fd;

	make_bytes("f", 100000, 1);
	fd = TRY_FD(open("f", O_RDWR));
	TRY(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 4096, 8192));
	show_content("f");
	TRY(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 100, 8192));
	TRY(fallocate(fd, FALLOC_FL_INSERT_RANGE, 4096, 8192));
	show_content("f");
	TRY(fallocate(fd, FALLOC_FL_INSERT_RANGE, 4096, 100));
	TRY(fallocate(fd, FALLOC_FL_UNSHARE_RANGE, 0, 4096));
	show_content("f");
}

TEST(errors)
{
	int fd;

	make_bytes("f", 10000, 1);
	NEED(mkdir("d", 0755));
	NEED(mkfifo("p", 0644));
	fd = TRY_FD(open("f", O_RDWR));
	TRY(fallocate(fd, 0, 0, 0));
	TRY(fallocate(fd, 0, 0, -1));
	TRY(fallocate(fd, 0, -1, 1));
	TRY(fallocate(fd, 0, 0x7fffffffffffffff, 1));
	TRY(fallocate(fd, 0, 1L << 50, 1));
	TRY(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 4096));
	TRY(fallocate(fd, PUNCH | ZERO, 0, 4096));
	TRY(fallocate(fd, 0x4000, 0, 4096));
	TRY(fallocate(open("f", O_RDONLY), 0, 0, 100));
	TRY(fallocate(open("d", O_RDONLY), 0, 0, 100));
	TRY(fallocate(open("p", O_RDWR), 0, 0, 100));
	TRY(fallocate(open("f", O_WRONLY | O_APPEND), 0, 0, 12000));
	TRY(fallocate(open("f", O_WRONLY | O_APPEND), PUNCH, 0, 100));
	TRY(posix_fallocate(fd, 0, 20000));
	TRY(posix_fallocate(fd, 0, 0));
	show_content("f");
}

TEST(times)
{
	int fd;

	make_bytes("f", 10000, 1);
	fd = TRY_FD(open("f", O_RDWR));
	TIMES("f", fallocate(fd, 0, 0, 20000));
	TIMES("f", fallocate(fd, KEEP, 0, 100000));
	TIMES("f", fallocate(fd, PUNCH, 0, 4096));
	TIMES("f", fallocate(fd, ZERO, 4096, 4096));
	TIMES("f", fallocate(fd, 0, 0, 10));
	TIMES("f", fallocate(fd, 0, 0, 0));
}

TEST_AS_ROOT(set_id)
{
	static const int modes[] = { 0, KEEP, PUNCH, ZERO };
	int fd;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		make_bytes("f", 10000, 1);
		NEED(chown("f", alice.uid, alice.gid));
		NEED(chmod("f", 06777));
		be(&alice);
		fd = TRY_FD(open("f", O_RDWR));
		TRY(fallocate(fd, modes[i], 0, 20000));
		show_stat("f");
		be(&root);
		NEED(chmod("f", 06777));
		TRY(fallocate(fd, modes[i], 0, 20000));
		show_stat("f");
		close(fd);
	}
}
