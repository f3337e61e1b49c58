/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Many small operations on few names.  What comes of each is up to the
 * others; it may only not fail as if something below were broken.
 */
#include "tests/stress/stress.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { PLACES = 4, NAMES = 100, SIZE_MOST = 2000, CHURNERS = 3 };

struct churn {
	const char *root;
	uint64_t random;
	char a[PATH_SIZE];
	char b[PATH_SIZE];
};

static uint64_t some(struct churn *c, uint64_t below)
{
	assert(below > 0);
	return random_next(&c->random) % below;
}

static void choose_path(struct churn *c, char *path_out)
{
	snprintf(path_out, PATH_SIZE, "%s/churn-%u/n%u", c->root,
		 (unsigned)some(c, PLACES), (unsigned)some(c, NAMES));
}

static int closed(int fd, int result)
{
	return close(fd) != 0 ? -1 : result;
}

static int churn_write(struct churn *c, int flags)
{
	uint64_t data[SIZE_MOST / 8], seed = some(c, 64);
	int fd = open(c->a, O_WRONLY | O_CLOEXEC | flags, 0644);

	if (fd < 0)
		return -1;
	for (size_t i = 0; i < SIZE_MOST / 8; i++)
		data[i] = random_next(&seed);
	return closed(fd,
		      (int)write(fd, data, some(c, SIZE_MOST)) < 0 ? -1 : 0);
}

static int do_create(struct churn *c)
{
	return churn_write(c, O_CREAT | O_TRUNC);
}

static int do_append(struct churn *c)
{
	return churn_write(c, O_APPEND);
}

static int do_read(struct churn *c)
{
	char data[SIZE_MOST];
	int fd = open(c->a, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	return closed(fd, read(fd, data, sizeof(data)) < 0 ? -1 : 0);
}

static int do_rename(struct churn *c)
{
	return renameat2(AT_FDCWD, c->a, AT_FDCWD, c->b,
			 some(c, 3) ? 0 : RENAME_EXCHANGE);
}

static int do_unlink(struct churn *c)
{
	return unlink(c->a);
}

static int do_link(struct churn *c)
{
	return link(c->a, c->b);
}

static int do_symlink(struct churn *c)
{
	return symlink(strrchr(c->b, '/') + 1, c->a);
}

static int do_directory(struct churn *c)
{
	return some(c, 2) ? mkdir(c->a, 0755) : rmdir(c->a);
}

static int do_stat(struct churn *c)
{
	struct stat st;

	return lstat(c->a, &st);
}

static int do_chmod(struct churn *c)
{
	return chmod(c->a, some(c, 2) ? 0644 : 0600);
}

/* Neither waits for a digest. */
static int do_getxattr(struct churn *c)
{
	char value[64];

	return (int)lgetxattr(c->a, some(c, 2) ? "user.a" : "user.kinfs.state",
			      value, sizeof(value));
}

static int do_setxattr(struct churn *c)
{
	if (some(c, 2))
		return lremovexattr(c->a, "user.a");
	return lsetxattr(c->a, "user.a", &c->random, 8, 0);
}

static int do_digest(struct churn *c)
{
	char value[64];

	return (int)lgetxattr(c->a, "user.xxh128", value, sizeof(value));
}

static int list(const char *path)
{
	DIR *dir = opendir(path);

	if (!dir)
		return -1;
	errno = 0;
	while (readdir(dir))
		errno = 0;
	return closedir(dir) != 0 || errno ? -1 : 0;
}

static int do_list(struct churn *c)
{
	*strrchr(c->a, '/') = '\0';
	return list(c->a);
}

static int do_similar(struct churn *c)
{
	snprintf(c->b, sizeof(c->b), "%s/.similar/%s", c->root,
		 c->a + strlen(c->root) + 1);
	return list(c->b);
}

static const struct {
	unsigned weight;
	int (*run)(struct churn *c);
} kinds[] = {
	{ 100, do_create },  { 40, do_append },
	{ 100, do_read },    { 100, do_rename },
	{ 90, do_unlink },   { 30, do_link },
	{ 30, do_symlink },  { 30, do_directory },
	{ 200, do_stat },    { 60, do_chmod },
	{ 80, do_getxattr }, { 40, do_setxattr },
	{ 5, do_digest },    { 20, do_list },
	{ 3, do_similar },   { 0 },
};

static bool is_expected(int error)
{
	static const int expected[] = { ENOENT, EEXIST,    ENOTDIR,   EISDIR,
					ELOOP,  ENOTEMPTY, EINVAL,    ENODATA,
					EPERM,  EBUSY,     EOPNOTSUPP };

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		if (error == expected[i])
			return true;
	return false;
}

static bool churn_once(struct churn *c)
{
	unsigned total = 0, at, i;

	for (i = 0; kinds[i].run; i++)
		total += kinds[i].weight;
	at = (unsigned)some(c, total);
	for (i = 0; at >= kinds[i].weight; i++)
		at -= kinds[i].weight;
	choose_path(c, c->a);
	choose_path(c, c->b);
	if (kinds[i].run(c) >= 0 || is_expected(errno))
		return true;
	fprintf(stderr, "stress: operation %u, %s, %s: %s\n", i, c->a, c->b,
		strerrordesc_np(errno));
	return false;
}

static int make_places(const char *root)
{
	char path[PATH_SIZE];

	for (unsigned i = 0; i < PLACES; i++) {
		snprintf(path, sizeof(path), "%s/churn-%u", root, i);
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return -1;
	}
	return 0;
}

static int start(const char *root, uint64_t seed, uint64_t count)
{
	struct churn c = { .root = root, .random = seed };
	pid_t pid = fork();

	if (pid)
		return pid;
	while (count--)
		if (!churn_once(&c))
			_exit(1);
	_exit(0);
}

int churn(const char *root, uint64_t seed, uint64_t count)
{
	pid_t pids[CHURNERS];
	int result = 0, status;

	if (make_places(root) != 0) {
		perror("stress");
		return -1;
	}
	for (unsigned i = 0; i < CHURNERS; i++)
		pids[i] = start(root, seed * CHURNERS + i, count / CHURNERS);
	for (unsigned i = 0; i < CHURNERS; i++)
		if (pids[i] < 0 || waitpid(pids[i], &status, 0) != pids[i] ||
		    status != 0)
			result = -1;
	return result;
}
