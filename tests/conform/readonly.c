/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/*
 * On a read-only mount.  conform.t has put there: the files f (all may write
 * it) and closed (mode 0), the link l to f, the directories d (empty) and
 * full (with x).
 */
TEST(entries)
{
	TRY_FD(open("new", O_WRONLY | O_CREAT, 0644));
	TRY_FD(open("f", O_WRONLY | O_CREAT | O_EXCL, 0644));
	TRY_FD(open("f", O_RDONLY | O_CREAT, 0644));
	TRY_FD(open(".", O_TMPFILE | O_RDWR, 0644));
	TRY(mkdir("new", 0755));
	TRY(mkdir("d", 0755));
	TRY(mkdir("nosuch/d", 0755));
	TRY(mknod("new", S_IFIFO | 0644, 0));
	TRY(symlink("f", "new"));
	TRY(symlink("f", "f"));
	TRY(link("f", "new"));
	TRY(link("f", "l"));
	TRY(unlink("f"));
	TRY(unlink("nosuch"));
	TRY(unlink("d"));
	TRY(rmdir("d"));
	TRY(rmdir("full"));
	TRY(rmdir("nosuch"));
	TRY(rename("f", "new"));
	TRY(rename("f", "l"));
	TRY(rename("nosuch", "new"));
	show_names(".");
}

TEST(attributes)
{
	TRY(chmod("f", 0600));
	TRY(chmod("nosuch", 0600));
	TRY(chown("f", (uid_t)-1, (gid_t)-1));
	TRY(chown("f", 1, 1));
	TRY(utimensat(AT_FDCWD, "f", NULL, 0));
	TRY(utimensat(AT_FDCWD, "l", NULL, AT_SYMLINK_NOFOLLOW));
	TRY(truncate("f", 0));
	TRY(truncate("d", 0));
	TRY(setxattr("f", "user.x", "1", 1, 0));
	TRY(removexattr("f", "user.x"));
	TRY(removexattr("f", "user.note"));
	show_stat("f");
}

TEST(files)
{
	struct statvfs st = { .f_flag = 0 };
	char data[4];
	int fd;

	TRY_FD(open("f", O_WRONLY));
	TRY_FD(open("f", O_RDWR));
	TRY_FD(open("f", O_RDONLY | O_TRUNC));
	TRY_FD(open("f", O_WRONLY | O_APPEND));
	TRY_FD(open("d", O_WRONLY));
	fd = TRY_FD(open("f", O_RDONLY));
	TRY(read(fd, data, sizeof(data)));
	TRY(write(fd, data, sizeof(data)));
	TRY(ftruncate(fd, 0));
	TRY(fallocate(fd, 0, 0, 100));
	TRY(fchmod(fd, 0600));
	TRY(futimens(fd, NULL));
	TRY(fsync(fd));
	TRY(access("f", R_OK));
	TRY(access("f", W_OK));
	TRY(access("d", W_OK | X_OK));
	TRY(access("closed", R_OK));
	TRY_FD(open("closed", O_RDONLY));
	TRY(getxattr("f", "user.note", data, sizeof(data)));
	TRY(statvfs("f", &st));
	TRY(st.f_flag & ST_RDONLY ? 1 : 0);
	show_content("f");
	show_names("full");
}
