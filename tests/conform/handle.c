/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct handle_buffer {
	struct file_handle h;
	unsigned char bytes[MAX_HANDLE_SZ];
};

static int get(const char *path, int flags, struct handle_buffer *out)
{
	int mount_id;

	memset(out, 0, sizeof(*out));
	out->h.handle_bytes = MAX_HANDLE_SZ;
	return name_to_handle_at(AT_FDCWD, path, &out->h, &mount_id, flags);
}

TEST(names)
{
	struct handle_buffer a;
	struct handle_buffer b;
	int mount_id;

	make_file("f", "content", 0644);
	NEED(link("f", "g"));
	NEED(mkdir("d", 0755));
	NEED(symlink("f", "l"));
	TRY(get("f", 0, &a));
	TRY(get("g", 0, &b));
	say("handles = %s",
	    memcmp(&a, &b, sizeof(a)) == 0 ? "equal" : "different");
	TRY(get("l", AT_SYMLINK_FOLLOW, &b));
	say("handles = %s",
	    memcmp(&a, &b, sizeof(a)) == 0 ? "equal" : "different");
	TRY(get("l", 0, &b));
	TRY(get("d", 0, &b));
	TRY(get("nosuch", 0, &b));
	a.h.handle_bytes = 1;
	TRY(name_to_handle_at(AT_FDCWD, "f", &a.h, &mount_id, 0));
}

TEST(open)
{
	struct handle_buffer file;
	struct handle_buffer dir;
	char data[16] = "";
	int fd;

	make_file("f", "content", 0644);
	NEED(mkdir("d", 0755));
	TRY(get("f", 0, &file));
	TRY(get("d", 0, &dir));
	fd = TRY_FD(open_by_handle_at(AT_FDCWD, &file.h, O_RDONLY));
	TRY(read(fd, data, sizeof(data)));
	fd = TRY_FD(open_by_handle_at(AT_FDCWD, &dir.h, O_RDONLY));
	show_fd(fd);
	TRY(rename("f", "d/g"));
	TRY_FD(open_by_handle_at(AT_FDCWD, &file.h, O_RDWR));
	TRY(close(fd));
	file.bytes[0] ^= 0xff;
	TRY_FD(open_by_handle_at(AT_FDCWD, &file.h, O_RDONLY));
}
