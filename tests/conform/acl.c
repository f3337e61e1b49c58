/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

/*
 * ACLs as the kernel wants them: a version and entries of a tag, permissions
 * and an id, little-endian.
 */
#define ACCESS "system.posix_acl_access"
#define DEFAULT "system.posix_acl_default"
#define NO_ID 0xffffffffu
#define ENTRIES_MAX 8

enum tag {
	OWNER = 1,
	USER = 2,
	GROUP_OWNER = 4,
	GROUP = 8,
	MASK = 16,
	OTHER = 32,
};

struct entry {
	enum tag tag;
	unsigned permissions;
	uint32_t id;
};

static void put(unsigned char *to, uint32_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = (unsigned char)(value >> (8 * i));
}

static uint32_t get(const unsigned char *from, size_t bytes)
{
	uint32_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value |= (uint32_t)from[i] << (8 * i);
	return value;
}

static int set_acl(const char *path, const char *kind,
		   const struct entry *entries, size_t count)
{
	unsigned char value[4 + 8 * ENTRIES_MAX];

	put(value, 2, 4);
	for (size_t i = 0; i < count; i++) {
		unsigned char *to = value + 4 + 8 * i;

		put(to, entries[i].tag, 2);
		put(to + 2, entries[i].permissions, 2);
		put(to + 4, entries[i].id, 4);
	}
	return setxattr(path, kind, value, 4 + 8 * count, 0);
}

static void show_acl(const char *path, const char *kind)
{
	unsigned char value[512];
	char text[512] = "";
	size_t used = 0;
	ssize_t len = getxattr(path, kind, value, sizeof(value));

	for (ssize_t at = 4; at + 8 <= len && used < sizeof(text); at += 8)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 " %u:%u:%o", get(value + at, 2),
					 get(value + at + 4, 4) == NO_ID ?
						 0 :
						 get(value + at + 4, 4),
					 get(value + at + 2, 2));
	say("%s of %s = %s", kind, path, len < 0 ? error_name(errno) : text);
}

/* Owner rwx, the user id with these permissions, group r-x, mask, other. */
static int set_for(const char *path, const char *kind, uint32_t id,
		   unsigned permissions, unsigned mask)
{
	const struct entry entries[] = {
		{ OWNER, 7, NO_ID },       { USER, permissions, id },
		{ GROUP_OWNER, 5, NO_ID }, { MASK, mask, NO_ID },
		{ OTHER, 0, NO_ID },
	};

	return set_acl(path, kind, entries, 5);
}

TEST(set)
{
	make_file("f", "content", 0640);
	show_acl("f", ACCESS);
	TRY(set_for("f", ACCESS, 4101, 6, 7));
	show_acl("f", ACCESS);
	show_stat("f");
	TRY(chmod("f", 0610));
	show_acl("f", ACCESS);
	TRY(set_for("f", ACCESS, 4101, 6, 4));
	show_stat("f");
	TRY(chmod("f", 0777));
	show_acl("f", ACCESS);
	TRY(removexattr("f", ACCESS));
	show_acl("f", ACCESS);
	show_stat("f");
	TRY(removexattr("f", ACCESS));
	TIMES("f", set_for("f", ACCESS, 4101, 7, 7));
	TRY(rename("f", "g"));
	show_acl("g", ACCESS);
	TRY(link("g", "h"));
	show_acl("h", ACCESS);
}

TEST(minimal)
{
	const struct entry entries[] = {
		{ OWNER, 6, NO_ID },
		{ GROUP_OWNER, 4, NO_ID },
		{ OTHER, 1, NO_ID },
	};

	make_file("f", "content", 0777);
	TRY(set_acl("f", ACCESS, entries, 3));
	show_stat("f");
	show_acl("f", ACCESS);
	TRY(set_acl("f", ACCESS, entries, 0));
	show_stat("f");
}

TEST(invalid)
{
	const struct entry unordered[] = {
		{ GROUP_OWNER, 4, NO_ID },
		{ OWNER, 6, NO_ID },
		{ OTHER, 1, NO_ID },
	};
	const struct entry unmasked[] = {
		{ OWNER, 6, NO_ID },
		{ USER, 6, 4101 },
		{ GROUP_OWNER, 4, NO_ID },
		{ OTHER, 1, NO_ID },
	};
	const struct entry wrong[] = {
		{ OWNER, 077, NO_ID },
		{ GROUP_OWNER, 4, NO_ID },
		{ OTHER, 1, NO_ID },
	};

	make_file("f", "content", 0644);
	NEED(symlink("f", "l"));
	TRY(set_acl("f", ACCESS, unordered, 3));
	TRY(set_acl("f", ACCESS, unmasked, 4));
	TRY(set_acl("f", ACCESS, wrong, 3));
	TRY(set_acl("f", ACCESS, wrong, 1));
	TRY(setxattr("f", ACCESS, "x", 1, 0));
	TRY(setxattr("f", ACCESS, "\1\0\0\0", 4, 0));
	TRY(set_for("f", DEFAULT, 4101, 7, 7));
	TRY(lsetxattr("l", ACCESS, "\2\0\0\0", 4, 0));
	TRY(lgetxattr("l", ACCESS, NULL, 0));
	TRY(getxattr("f", DEFAULT, NULL, 0));
	show_acl("f", ACCESS);
}

static void make_below(mode_t mask)
{
	umask(mask);
	TRY(mkdir("d/sub", 0777));
	show_stat("d/sub");
	show_acl("d/sub", ACCESS);
	show_acl("d/sub", DEFAULT);
	TRY_FD(open("d/file", O_WRONLY | O_CREAT, 0666));
	show_stat("d/file");
	show_acl("d/file", ACCESS);
	TRY_FD(open("d/closed", O_WRONLY | O_CREAT, 0600));
	show_stat("d/closed");
	show_acl("d/closed", ACCESS);
	TRY(mkfifo("d/fifo", 0666));
	show_acl("d/fifo", ACCESS);
	TRY(mknod("d/node", S_IFREG | 0666, 0));
	show_acl("d/node", ACCESS);
	TRY(symlink("x", "d/link"));
	show_stat("d/link");
	TRY(unlink("d/link"));
	TRY(unlink("d/node"));
	TRY(unlink("d/fifo"));
	TRY(unlink("d/file"));
	TRY(unlink("d/closed"));
	TRY(rmdir("d/sub"));
}

TEST(default)
{
	NEED(mkdir("d", 0755));
	TRY(set_for("d", DEFAULT, 4101, 6, 7));
	show_acl("d", DEFAULT);
	show_acl("d", ACCESS);
	make_below(022);
	make_below(0777);
	TRY(set_for("d", DEFAULT, 4101, 7, 5));
	make_below(0);
	TRY(removexattr("d", DEFAULT));
	make_below(027);
}

static void try_all(void)
{
	TRY_FD(open("d/f", O_RDONLY));
	TRY_FD(open("d/f", O_WRONLY));
	TRY(access("d/f", X_OK));
	TRY_FD(open("d/new", O_WRONLY | O_CREAT, 0600));
	TRY(unlink("d/new"));
	show_names("d");
}

TEST_AS_ROOT(permission)
{
	NEED(mkdir("d", 0700));
	make_file("d/f", "content", 0600);
	NEED(set_for("d", ACCESS, alice.uid, 7, 7));
	for (unsigned permissions = 0; permissions < 8; permissions++) {
		say("permissions %u", permissions);
		NEED(set_for("d/f", ACCESS, alice.uid, permissions, 7));
		be(&alice);
		try_all();
		be(&bob);
		try_all();
		be(&root);
	}
	NEED(set_for("d", ACCESS, alice.uid, 7, 5));
	NEED(set_for("d/f", ACCESS, alice.uid, 7, 4));
	be(&alice);
	try_all();
	TRY(set_for("d/f", ACCESS, bob.uid, 7, 7));
	TRY(removexattr("d/f", ACCESS));
	show_acl("d/f", ACCESS);
	be(&root);
	NEED(chown("d/f", alice.uid, alice.gid));
	be(&alice);
	TRY(set_for("d/f", ACCESS, bob.uid, 7, 7));
	show_acl("d/f", ACCESS);
	be(&bob);
	try_all();
}

TEST_AS_ROOT(group)
{
	const struct entry entries[] = {
		{ OWNER, 7, NO_ID },        { GROUP_OWNER, 0, NO_ID },
		{ GROUP, 5, SHARED_GROUP }, { MASK, 7, NO_ID },
		{ OTHER, 0, NO_ID },
	};

	NEED(mkdir("d", 0700));
	make_file("d/f", "content", 0604);
	NEED(set_acl("d", ACCESS, entries, 5));
	be(&alice);
	try_all();
	be(&bob);
	try_all();
	be(&root);
	NEED(chown("d", 0, alice.gid));
	be(&alice);
	try_all();
}

/* Set-group-ID goes when an ACL is set by somebody outside of the group. */
TEST_AS_ROOT(set_id)
{
	make_file("f", "content", 0644);
	NEED(chown("f", alice.uid, 5555));
	NEED(chmod("f", 06755));
	be(&alice);
	TRY(set_for("f", ACCESS, bob.uid, 7, 7));
	show_stat("f");
	be(&root);
	NEED(chmod("f", 06755));
	TRY(set_for("f", ACCESS, bob.uid, 7, 7));
	show_stat("f");
}
