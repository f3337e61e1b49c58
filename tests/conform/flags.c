/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What a filesystem sets by itself (extents, inline data) is left alone. */
#define KNOWN                                                            \
	(FS_IMMUTABLE_FL | FS_APPEND_FL | FS_NODUMP_FL | FS_NOATIME_FL | \
	 FS_SYNC_FL)

static void show_flags(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	struct fsxattr all = { .fsx_xflags = 0 };
	int flags = 0;

	TRY(ioctl(fd, FS_IOC_GETFLAGS, &flags));
	say("flags of %s = %x", path, (unsigned)flags & KNOWN);
	TRY(ioctl(fd, FS_IOC_FSGETXATTR, &all));
	say("extended flags of %s = %x, project %u", path,
	    all.fsx_xflags &
		    (FS_XFLAG_IMMUTABLE | FS_XFLAG_APPEND | FS_XFLAG_NODUMP |
		     FS_XFLAG_NOATIME | FS_XFLAG_SYNC),
	    all.fsx_projid);
	close(fd);
}

static void set_flags(const char *path, int set)
{
	int fd = open(path, O_RDONLY);
	int flags = 0;

	TRY(ioctl(fd, FS_IOC_GETFLAGS, &flags));
	flags = (flags & ~KNOWN) | set;
	say("%x", (unsigned)set);
	TRY(ioctl(fd, FS_IOC_SETFLAGS, &flags));
	close(fd);
	show_flags(path);
}

TEST(flags)
{
	static const int each[] = { FS_NODUMP_FL, FS_NOATIME_FL, FS_SYNC_FL,
				    FS_NODUMP_FL | FS_SYNC_FL, 0 };

	make_file("f", "content", 0644);
	NEED(mkdir("d", 0755));
	show_flags("f");
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		set_flags("f", each[i]);
		set_flags("d", each[i]);
	}
	make_file("d/inherits", "x", 0644);
	show_flags("d/inherits");
	TIMES("f", (set_flags("f", FS_NODUMP_FL), 0));
	show_content("f");
}

TEST(extended)
{
	struct fsxattr all = { .fsx_xflags = 0 };
	int fd;

	make_file("f", "content", 0644);
	fd = TRY_FD(open("f", O_RDWR));
	TRY(ioctl(fd, FS_IOC_FSGETXATTR, &all));
	all.fsx_xflags |= FS_XFLAG_NODUMP;
	TRY(ioctl(fd, FS_IOC_FSSETXATTR, &all));
	show_flags("f");
	all.fsx_xflags |= FS_XFLAG_RTINHERIT;
	TRY(ioctl(fd, FS_IOC_FSSETXATTR, &all));
	show_flags("f");
	close(fd);
}

/* Programs that find a file in the way of its flags. */
TEST_AS_ROOT(protected)
{
	int fd;

	make_file("f", "content", 0644);
	set_flags("f", FS_APPEND_FL);
	TRY_FD(open("f", O_WRONLY));
	fd = TRY_FD(open("f", O_WRONLY | O_APPEND));
	TRY(write(fd, "more", 4));
	close(fd);
	TRY(truncate("f", 2));
	set_flags("f", FS_IMMUTABLE_FL);
	TRY_FD(open("f", O_WRONLY | O_APPEND));
	TRY(chmod("f", 0600));
	TRY(link("f", "g"));
	TRY(rename("f", "g"));
	TRY(unlink("f"));
	show_content("f");
	set_flags("f", 0);
	TRY(unlink("f"));
}

TEST_AS_ROOT(users)
{
	make_file("f", "content", 0666);
	NEED(chown("f", alice.uid, alice.gid));
	make_file("hidden", "content", 0600);
	be(&bob);
	set_flags("f", FS_NODUMP_FL);
	show_flags("hidden");
	be(&root);
	be(&alice);
	set_flags("f", FS_NODUMP_FL);
	set_flags("f", FS_IMMUTABLE_FL);
	set_flags("f", FS_APPEND_FL);
	show_flags("f");
}

TEST(others)
{
	struct fiemap extents = { .fm_length = 100 }; /* counts them */
	char argument[256] = "";
	int fd;

	make_file("f", "content", 0644);
	fd = TRY_FD(open("f", O_RDONLY));
	TRY(ioctl(fd, 0x1234, argument));
	TRY(ioctl(fd, _IOWR('k', 1, int), argument));
	TRY(ioctl(fd, FS_IOC_FIEMAP, &extents));
	close(fd);
	NEED(mkfifo("p", 0644));
	show_flags("p");
}
