/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* What inotify says of changes made on the same side. */
static int watch = -1;

static void show_events(const char *what)
{
	char data[8192] __attribute__((aligned(8)));
	char text[2048] = "";
	size_t used = 0;
	ssize_t len = read(watch, data, sizeof(data));

	for (char *at = data; len > 0 && at < data + len;) {
		const struct inotify_event *e = (const void *)at;

		if (used < sizeof(text))
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, " %x:%s",
				e->mask, e->len ? e->name : "");
		at += sizeof(*e) + e->len;
	}
	say("events of %s =%s", what, text);
}

TEST(events)
{
	char byte;
	int fd;

	NEED(mkdir("d", 0755));
	watch = TRY_FD(inotify_init1(IN_NONBLOCK));
	TRY(inotify_add_watch(watch, "d", IN_ALL_EVENTS) > 0 ? 0 : -1);
	fd = open("d/f", O_RDWR | O_CREAT, 0644);
	show_events("open");
	TRY(write(fd, "x", 1));
	show_events("write");
	TRY(pread(fd, &byte, 1, 0));
	show_events("read");
	TRY(ftruncate(fd, 0));
	show_events("ftruncate");
	TRY(close(fd));
	show_events("close");
	TRY(chmod("d/f", 0600));
	show_events("chmod");
	TRY(truncate("d/f", 10));
	show_events("truncate");
	TRY(utimensat(AT_FDCWD, "d/f", NULL, 0));
	show_events("utimensat");
	TRY(rename("d/f", "d/g"));
	show_events("rename");
	TRY(link("d/g", "d/h"));
	show_events("link");
	TRY(unlink("d/g"));
	show_events("unlink");
	TRY(mkdir("d/e", 0755));
	TRY(symlink("x", "d/l"));
	show_events("mkdir and symlink");
	TRY(rmdir("d/e"));
	TRY(rename("d/h", "out"));
	TRY(rename("out", "d/in"));
	show_events("rmdir and rename");
	TRY(unlink("d/in"));
	TRY(unlink("d/l"));
	TRY(rmdir("d"));
	show_events("the end");
}
