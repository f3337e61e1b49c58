/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stress/stress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* What is compared of a name. */
struct thing {
	int error;
	mode_t mode;
	nlink_t links;
	char target[NAME_SIZE];
	uint64_t attributes[2];
	struct outcome content;
};

static void read_thing(const char *path, struct thing *out)
{
	struct stat st;
	int fd;

	*out = (struct thing){ .error = 0 };
	if (lstat(path, &st) != 0) {
		out->error = errno;
		return;
	}
	out->mode = st.st_mode;
	out->links = st.st_nlink;
	if (S_ISLNK(st.st_mode))
		(void)!readlink(path, out->target, sizeof(out->target) - 1);
	(void)!lgetxattr(path, "user.a", &out->attributes[0], 8);
	(void)!lgetxattr(path, "user.b", &out->attributes[1], 8);
	if (!S_ISREG(st.st_mode))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	out->content.error = fd < 0 ? errno : hash_file(fd, &out->content);
	if (fd >= 0)
		close(fd);
}

static int complain(const char *what, const char *left, const char *right)
{
	fprintf(stderr, "stress: %s: %s and %s\n", what, left, right);
	return -1;
}

static int compare_name(const struct group *g, const char *left,
			const char *right)
{
	struct thing a, b;

	read_thing(left, &a);
	read_thing(right, &b);
	if (a.error != b.error)
		return complain("one is not there", left, right);
	if (a.error)
		return 0;
	if (a.mode != b.mode || a.links != b.links ||
	    strcmp(a.target, b.target) != 0 ||
	    memcmp(a.attributes, b.attributes, sizeof(a.attributes)) != 0)
		return complain("different kinds", left, right);
	if (!g->unsynced && outcomes_differ(&a.content, &b.content))
		return complain("different contents", left, right);
	return 0;
}

static int compare_slot(const struct group *g, const char *left,
			const char *right)
{
	char left_child[PATH_SIZE + 8], right_child[PATH_SIZE + 8];

	if (compare_name(g, left, right) != 0)
		return -1;
	snprintf(left_child, sizeof(left_child), "%s/child", left);
	snprintf(right_child, sizeof(right_child), "%s/child", right);
	return compare_name(g, left_child, right_child);
}

/* Waits for the digest. */
static int check_digest(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct outcome content;
	uint64_t digest[2];
	struct stat st;
	int result = 0;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) != 0)
		result = complain("cannot be read", path,
				  strerrordesc_np(errno));
	else if (S_ISREG(st.st_mode) && (hash_file(fd, &content) != 0 ||
					 digest_attribute(fd, digest) != 0 ||
					 memcmp(digest, content.hash, 16) != 0))
		result = complain("not the digest", path,
				  strerrordesc_np(errno));
	close(fd);
	return result;
}

int compare_trees(const struct world *w, const char *left, const char *right,
		  bool digests)
{
	const struct side sides[2] = { { .root = left }, { .root = right } };
	char name[NAME_SIZE], paths[2][PATH_SIZE];
	int result = 0;

	for (size_t i = 0; i < (size_t)GROUPS * SLOTS; i++) {
		const struct group *g = &w->groups[i / SLOTS];

		slot_name(i / SLOTS, i % SLOTS, name);
		slot_path(&sides[0], name, paths[0]);
		slot_path(&sides[1], name, paths[1]);
		if (!g->uncertain && g->version % 2 == 0 &&
		    compare_slot(g, paths[0], paths[1]) != 0)
			result = -1;
		if (digests && check_digest(paths[0]) != 0)
			result = -1;
	}
	return result;
}
