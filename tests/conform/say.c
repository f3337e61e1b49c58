/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/conform/main.h"

#define SHOWN_BYTES 16

/* ---- lines ---- */

/* One write a line: several processes of a test share the output. */
static void write_line(const char *text)
{
	char line[8192];
	int len = snprintf(line, sizeof(line), "%s\t%s\n", current_test, text);

	if (len > 0 && write(STDOUT_FILENO, line, (size_t)len) != len)
		_exit(EXIT_FAILURE);
}

void say(const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	write_line(text);
}

const char *error_name(int number)
{
	const char *name = strerrorname_np(number);

	return name ? name : "an unknown error";
}

long say_labelled(const char *label, const char *step, long result)
{
	int err = errno;

	if (result < 0)
		say("%s%s = %s", label, step, error_name(err));
	else
		say("%s%s = %ld", label, step, result);
	errno = err;
	return result;
}

long say_number(const char *step, long result)
{
	return say_labelled("", step, result);
}

int say_fd(const char *step, int fd)
{
	int err = errno;

	say("%s = %s", step, fd < 0 ? error_name(err) : "fd");
	errno = err;
	return fd;
}

void *say_pointer(const char *step, void *pointer)
{
	bool failed = !pointer || pointer == (void *)-1;
	int err = errno;

	say("%s = %s", step, failed ? error_name(err) : "pointer");
	errno = err;
	return failed ? NULL : pointer;
}

/* ---- times ---- */

static bool moved(struct timespec before, struct timespec after)
{
	return before.tv_sec != after.tv_sec || before.tv_nsec != after.tv_nsec;
}

void times_before(const char *path, struct stat *out)
{
	memset(out, 0, sizeof(*out));
	(void)lstat(path, out);
	tick();
}

void times_after(const char *path, const struct stat *before)
{
	struct stat now;

	if (lstat(path, &now) != 0) {
		say("times of %s = %s", path, error_name(errno));
		return;
	}
	say("times of %s = moved:%s%s%s", path,
	    moved(before->st_atim, now.st_atim) ? " atime" : "",
	    moved(before->st_mtim, now.st_mtim) ? " mtime" : "",
	    moved(before->st_ctim, now.st_ctim) ? " ctime" : "");
}

/* ---- files ---- */

static void say_stat(const char *what, const struct stat *st)
{
	say("stat of %s = mode %06o, links %lu, owner %u:%u, size %lld", what,
	    (unsigned)st->st_mode, (unsigned long)st->st_nlink,
	    (unsigned)st->st_uid, (unsigned)st->st_gid,
	    S_ISDIR(st->st_mode) ? 0LL : (long long)st->st_size);
}

void show_stat(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		say("stat of %s = %s", path, error_name(errno));
	else
		say_stat(path, &st);
}

void show_fd(int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		say("stat of the descriptor = %s", error_name(errno));
	else
		say_stat("the descriptor", &st);
}

struct content {
	uint64_t sum; /* FNV-1a */
	long long size;
	char start[SHOWN_BYTES + 1];
};

static int read_content(int fd, struct content *c)
{
	unsigned char data[65536];
	ssize_t len;

	*c = (struct content){ .sum = 0xcbf29ce484222325 };
	while ((len = read(fd, data, sizeof(data))) > 0) {
		for (ssize_t i = 0; i < len; i++) {
			unsigned char byte = data[i];

			c->sum = (c->sum ^ byte) * 0x100000001b3;
			if (c->size + i < SHOWN_BYTES)
				c->start[c->size + i] =
					byte > ' ' && byte < 127 ? (char)byte :
								   '.';
		}
		c->size += len;
	}
	return len < 0 ? -errno : 0;
}

void show_content(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct content c = { .size = 0 };
	int err = fd < 0 ? -errno : read_content(fd, &c);

	if (err)
		say("content of %s = %s", path, error_name(-err));
	else
		say("content of %s = %lld bytes, %016llx, %s", path, c.size,
		    (unsigned long long)c.sum, c.start);
	if (fd >= 0)
		close(fd);
}

void show_names(const char *path)
{
	struct dirent **entries;
	char text[2048] = "";
	size_t used = 0;
	int count = scandir(path, &entries, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		if (used < sizeof(text))
			used += (size_t)snprintf(text + used,
						 sizeof(text) - used, " %s",
						 entries[i]->d_name);
		free(entries[i]);
	}
	if (count < 0)
		say("names in %s = %s", path, error_name(errno));
	else
		say("names in %s = %d:%s", path, count, text);
	if (count >= 0)
		free(entries);
}
