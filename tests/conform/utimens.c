/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#define AT(seconds, nanoseconds)                              \
	{                                                     \
		.tv_sec = (seconds), .tv_nsec = (nanoseconds) \
	}

static void show_times(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		say("set times of %s = %s", path, error_name(errno));
	else
		say("set times of %s = %lld.%09ld %lld.%09ld", path,
		    (long long)st.st_atim.tv_sec, st.st_atim.tv_nsec,
		    (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static int set(const char *path, struct timespec a, struct timespec m)
{
	struct timespec times[2] = { a, m };

	return utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

TEST(values)
{
	static const struct timespec values[] = {
		AT(0, 0),
		AT(0, 1),
		AT(1, 999999999),
		AT(-1, 0),
		AT(-1, 500000000),
		AT(-2147483648, 0),
		AT(2147483647, 999999999),
		AT(2147483648, 1),
		AT(4294967296, 123456789),
		AT(10000000000, 5),
		AT(15032385535, 999999999),
		AT(15032385536, 0),
		AT(LONG_MAX, 0),
		AT(-2147483649, 0),
		AT(LONG_MIN, 0),
	};

	make_file("f", "content", 0644);
	NEED(mkdir("d", 0755));
	NEED(symlink("f", "l"));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		TRY(set("f", values[i], values[0]));
		show_times("f");
		TRY(set("f", values[1], values[i]));
		show_times("f");
		TRY(set("d", values[i], values[i]));
		show_times("d");
		TRY(set("l", values[i], values[i]));
		show_times("l");
	}
}

TEST(omit_and_now)
{
	const struct timespec omit = AT(5, UTIME_OMIT);
	const struct timespec now = AT(5, UTIME_NOW);
	const struct timespec then = AT(1000, 7);

	make_file("f", "content", 0644);
	TRY(set("f", then, then));
	TIMES("f", set("f", omit, omit));
	show_times("f");
	TRY(set("f", (struct timespec)AT(9, 1), omit));
	show_times("f");
	TRY(set("f", omit, (struct timespec)AT(10, 2)));
	show_times("f");
	TIMES("f", set("f", now, omit));
	TIMES("f", set("f", omit, now));
	TIMES("f", set("f", now, now));
	TIMES("f", set("f", then, now));
	TIMES("f", set("f", now, then));
	TIMES("f", utimensat(AT_FDCWD, "f", NULL, 0));
	TRY(set("f", (struct timespec)AT(1, 1000000000), then));
	TRY(set("f", (struct timespec)AT(1, -1), then));
	TRY(set("nosuch", omit, omit));
	TRY(set("nosuch", then, then));
	TRY(set("f/x", then, then));
	TRY(set("", then, then));
}

TEST(calls)
{
	struct timespec times[2] = { AT(123, 456), AT(789, 12) };
	struct timeval coarse[2] = { { 11, 22 }, { 33, 44 } };
	int fd;

	make_file("f", "content", 0644);
	NEED(symlink("f", "l"));
	fd = TRY_FD(open("f", O_RDONLY));
	TRY(futimens(fd, times));
	show_times("f");
	TRY(utimes("f", coarse));
	show_times("f");
	TRY(lutimes("l", coarse));
	show_times("l");
	TRY(utimensat(AT_FDCWD, "l", times, 0));
	show_times("f");
	TRY(utimensat(fd, "", times, AT_EMPTY_PATH));
	fd = TRY_FD(open("f", O_PATH));
	TRY(futimens(fd, times));
	fd = TRY_FD(open("f", O_WRONLY));
	TRY(write(fd, "x", 1));
	TRY(futimens(fd, times));
	TRY(close(fd));
	show_times("f");
	TIMES("f", truncate("f", 3));
	TRY(utimensat(AT_FDCWD, "f", times, 0));
	TRY(rename("f", "g"));
	show_times("g");
}

TEST_AS_ROOT(permission)
{
	const struct timespec omit = AT(0, UTIME_OMIT);
	const struct timespec now = AT(0, UTIME_NOW);
	const struct timespec then = AT(1000, 7);
	static const mode_t modes[] = { 0644, 0666, 0 };

	NEED(chmod(".", 0777));
	make_file("f", "content", 0644);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		be(&root);
		NEED(chmod("f", modes[i]));
		be(&alice);
		TRY(set("f", now, now));
		TRY(utimensat(AT_FDCWD, "f", NULL, 0));
		TRY(set("f", now, omit));
		TRY(set("f", omit, now));
		TRY(set("f", omit, omit));
		TRY(set("f", then, then));
		TRY(set("f", then, omit));
		TRY(set("f", now, then));
	}
	make_file("mine", "mine", 0);
	TRY(set("mine", then, then));
	TRY(set("mine", now, now));
}
