/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define VALUE_MAX 70000

/* The digests, which only the mount lists. */
static bool is_derived(const char *name)
{
	static const char *const names[] = {
		"user.sise", "user.simhash", "user.rdc.traits",
		"user.sif",  "user.ssdeep",  "user.xxh128",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void show_list(const char *path)
{
	char *names[64];
	char list[4096];
	char text[2048] = "";
	ssize_t len = llistxattr(path, list, sizeof(list));
	size_t used = 0;
	size_t count = 0;

	for (char *at = list; len > 0 && at < list + len; at += strlen(at) + 1)
		if (!is_derived(at) && count < 64)
			names[count++] = at;
	qsort(names, count, sizeof(names[0]), by_name);
	for (size_t i = 0; i < count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 " %.40s", names[i]);
	say("attributes of %s = %s", path, len < 0 ? error_name(errno) : text);
}

TEST(user)
{
	char value[64] = "";
	int fd;

	make_file("f", "content", 0644);
	NEED(mkdir("d", 0755));
	TRY(setxattr("f", "user.a", "1", 1, 0));
	TRY(setxattr("f", "user.b", "", 0, 0));
	TRY(setxattr("f", "user.c", "with\0zero", 9, XATTR_CREATE));
	TRY(setxattr("f", "user.c", "x", 1, XATTR_CREATE));
	TRY(setxattr("f", "user.nosuch", "x", 1, XATTR_REPLACE));
	TRY(setxattr("f", "user.c", "other", 5, XATTR_REPLACE));
	TRY(setxattr("f", "user.d", "x", 1, XATTR_CREATE | XATTR_REPLACE));
	TRY(setxattr("f", "user.d", "x", 1, 99));
	TRY(getxattr("f", "user.c", value, sizeof(value)));
	say("value = %s", value);
	TRY(getxattr("f", "user.a", NULL, 0));
	TRY(getxattr("f", "user.b", value, 0));
	TRY(getxattr("f", "user.b", value, 1));
	TRY(getxattr("f", "user.c", value, 1));
	TRY(getxattr("f", "user.nosuch", value, 1));
	TRY(listxattr("f", value, 1));
	show_list("f");
	TRY(removexattr("f", "user.a"));
	TRY(removexattr("f", "user.a"));
	TRY(setxattr("d", "user.x", "dir", 3, 0));
	TRY(getxattr("d", "user.x", value, sizeof(value)));
	show_list("d");
	fd = TRY_FD(open("f", O_RDONLY));
	TRY(fsetxattr(fd, "user.fd", "1", 1, 0));
	TRY(fgetxattr(fd, "user.fd", value, sizeof(value)));
	TRY(fremovexattr(fd, "user.b"));
	TRY(rename("f", "g"));
	TRY(fgetxattr(fd, "user.fd", value, sizeof(value)));
	TRY(link("g", "h"));
	show_list("h");
	show_list("nosuch");
	TRY(setxattr("nosuch", "user.a", "1", 1, 0));
	TRY(getxattr("nosuch", "user.a", value, 1));
	TRY(removexattr("nosuch", "user.a"));
}

TEST(sizes)
{
	static const size_t sizes[] = { 1,    100,   1000,  3000,
					4096, 65535, 65536, 65537 };
	char *value = malloc(VALUE_MAX);
	char label[32];

	NEED(value ? 0 : -1);
	fill_bytes(value, VALUE_MAX, 1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		make_file("f", "content", 0644);
		snprintf(label, sizeof(label), "%zu bytes: ", sizes[i]);
		TRY_AS(label, setxattr("f", "user.x", value, sizes[i], 0));
		TRY_AS(label, getxattr("f", "user.x", value, VALUE_MAX));
		TRY_AS(label, getxattr("f", "user.x", NULL, 0));
	}
	free(value);
}

TEST(names)
{
	char name[300];

	make_file("f", "content", 0644);
	memset(name, 'n', sizeof(name));
	memcpy(name, "user.", 5);
	name[255] = '\0';
	TRY(setxattr("f", name, "1", 1, 0));
	TRY(getxattr("f", name, NULL, 0));
	show_list("f");
	name[255] = 'n';
	name[256] = '\0';
	TRY(setxattr("f", name, "1", 1, 0));
	TRY(getxattr("f", name, NULL, 0));
	TRY(removexattr("f", name));
	TRY(setxattr("f", "user.", "1", 1, 0));
	TRY(setxattr("f", "user", "1", 1, 0));
	TRY(setxattr("f", "", "1", 1, 0));
	TRY(setxattr("f", "nosuch.x", "1", 1, 0));
	TRY(getxattr("f", "nosuch.x", NULL, 0));
	TRY(removexattr("f", "nosuch.x"));
	TRY(setxattr("f", "system.x", "1", 1, 0));
	TRY(getxattr("f", "system.x", NULL, 0));
	TRY(setxattr("f", "user.Case", "1", 1, 0));
	TRY(getxattr("f", "user.case", NULL, 0));
	TRY(setxattr("f", "user.\xc3\xbc \n", "1", 1, 0));
	TRY(getxattr("f", "user.\xc3\xbc \n", NULL, 0));
}

TEST(kinds)
{
	make_file("f", "content", 0644);
	NEED(symlink("f", "l"));
	NEED(mkfifo("p", 0644));
	TRY(setxattr("l", "user.x", "1", 1, 0));
	TRY(lsetxattr("l", "user.x", "1", 1, 0));
	TRY(lgetxattr("l", "user.x", NULL, 0));
	TRY(lremovexattr("l", "user.x"));
	show_list("l");
	show_list("f");
	TRY(setxattr("p", "user.x", "1", 1, 0));
	TRY(getxattr("p", "user.x", NULL, 0));
	show_list("p");
	TRY(lsetxattr("l", "trusted.x", "1", 1, 0));
	TRY(lgetxattr("l", "trusted.x", NULL, 0));
	TRY(setxattr("p", "trusted.x", "1", 1, 0));
	show_list("p");
	show_list("l");
}

TEST(spaces)
{
	make_file("f", "content", 0644);
	TRY(setxattr("f", "trusted.x", "1", 1, 0));
	TRY(getxattr("f", "trusted.x", NULL, 0));
	TRY(setxattr("f", "security.x", "1", 1, 0));
	TRY(getxattr("f", "security.x", NULL, 0));
	TRY(setxattr("f", "security.capability", "bad", 3, 0));
	TRY(getxattr("f", "security.nosuch", NULL, 0));
	TRY(removexattr("f", "security.nosuch"));
	TRY(removexattr("f", "trusted.nosuch"));
	show_list("f");
}

TEST_AS_ROOT(spaces_of_users)
{
	make_file("f", "content", 0666);
	NEED(setxattr("f", "trusted.x", "1", 1, 0));
	NEED(setxattr("f", "security.x", "1", 1, 0));
	be(&alice);
	TRY(getxattr("f", "trusted.x", NULL, 0));
	TRY(getxattr("f", "trusted.nosuch", NULL, 0));
	TRY(setxattr("f", "trusted.x", "2", 1, 0));
	TRY(removexattr("f", "trusted.x"));
	TRY(getxattr("f", "security.x", NULL, 0));
	TRY(setxattr("f", "security.x", "2", 1, 0));
	TRY(removexattr("f", "security.x"));
	show_list("f");
}

TEST_AS_ROOT(permission)
{
	static const mode_t modes[] = { 0644, 0622, 0666, 0600 };

	NEED(mkdir("sticky", 0777));
	NEED(chmod("sticky", 01777));
	make_file("f", "content", 0600);
	NEED(setxattr("f", "user.x", "1", 1, 0));
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		be(&root);
		NEED(chmod("f", modes[i]));
		be(&alice);
		TRY(getxattr("f", "user.x", NULL, 0));
		TRY(setxattr("f", "user.x", "2", 1, 0));
		TRY(setxattr("f", "user.y", "2", 1, 0));
		TRY(removexattr("f", "user.y"));
		show_list("f");
	}
	TRY(setxattr("sticky", "user.x", "1", 1, 0));
	TRY(getxattr("sticky", "user.x", NULL, 0));
}

TEST(times)
{
	make_file("f", "content", 0644);
	TIMES("f", setxattr("f", "user.x", "1", 1, 0));
	TIMES("f", setxattr("f", "user.x", "1", 1, 0));
	TIMES("f", getxattr("f", "user.x", NULL, 0));
	TIMES("f", removexattr("f", "user.x"));
	TIMES("f", removexattr("f", "user.x"));
}

/* A file capability goes with the first write, and with a new owner. */
TEST_AS_ROOT(capability)
{
	static const unsigned char value[20] = { 1, 0, 0, 2, 0, 4 };
	int fd;

	make_file("f", "content", 0755);
	TRY(setxattr("f", "security.capability", value, sizeof(value), 0));
	TRY(getxattr("f", "security.capability", NULL, 0));
	fd = TRY_FD(open("f", O_WRONLY));
	TRY(getxattr("f", "security.capability", NULL, 0));
	TRY(write(fd, "x", 1));
	TRY(getxattr("f", "security.capability", NULL, 0));
	TRY(setxattr("f", "security.capability", value, sizeof(value), 0));
	TRY(chown("f", 17, 17));
	TRY(getxattr("f", "security.capability", NULL, 0));
	TRY(setxattr("f", "security.capability", value, sizeof(value), 0));
	TRY(truncate("f", 3));
	TRY(getxattr("f", "security.capability", NULL, 0));
	TRY(setxattr("f", "security.capability", value, sizeof(value), 0));
	TRY(chmod("f", 0700));
	TRY(rename("f", "g"));
	TRY(getxattr("g", "security.capability", NULL, 0));
	show_list("g");
}
