/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/vectors.h"

/* While a thread is somebody else, that somebody's permissions count. */

enum { UID = 12345, GID = 23456, GROUP = 34567 };

struct place {
	char dir[32], file[48];
	gid_t groups[1];
	struct credentials own, other;
	pthread_barrier_t entered;
	struct credentials there; /* another thread, and what it met with */
	int there_err;
};

/* A file of root and gid. */
static void catalog_make_directories(struct place *p, gid_t gid, mode_t mode)
{
	int fd;

	if (geteuid() != 0) {
		print_message("only root can be somebody else\n");
		skip();
	}
	(void)snprintf(p->dir, sizeof(p->dir), "/tmp/credentials-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	assert_int_equal(chmod(p->dir, 0777), 0);
	(void)snprintf(p->file, sizeof(p->file), "%s/file", p->dir);
	fd = open(p->file, O_CREAT | O_EXCL | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, 0, gid), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	assert_int_equal(credentials_own(&p->own), 0);
	p->groups[0] = GROUP;
	p->other = (struct credentials){ UID, GID, p->groups, 1 };
}

static void place_remove(struct place *p)
{
	credentials_release(&p->own);
	assert_int_equal(unlink(p->file), 0);
	assert_int_equal(rmdir(p->dir), 0);
}

/* 0 or the errno of opening the file. */
static int try_open(const struct place *p)
{
	int fd = open(p->file, O_RDONLY);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int try_open_as(const struct place *p, const struct credentials *who)
{
	int err;

	assert_int_equal(credentials_enter(who, &p->own), 0);
	err = try_open(p);
	credentials_leave(&p->own);
	return err;
}

TEST(test_files_of_root_are_out_of_reach)
{
	struct place p;

	catalog_make_directories(&p, 0, 0600);
	assert_int_equal(try_open_as(&p, &p.other), EACCES);
	assert_int_equal(try_open(&p), 0);
	place_remove(&p);
}

TEST(test_groups_count)
{
	struct place p;

	catalog_make_directories(&p, GROUP, 0640);
	assert_int_equal(try_open_as(&p, &p.other), 0);
	p.other.group_count = 0;
	assert_int_equal(try_open_as(&p, &p.other), EACCES);
	p.other.gid = GROUP;
	assert_int_equal(try_open_as(&p, &p.other), 0);
	place_remove(&p);
}

TEST(test_new_files_belong_to_the_caller)
{
	struct place p;
	char name[64];
	struct stat st;
	int fd;

	catalog_make_directories(&p, 0, 0600);
	(void)snprintf(name, sizeof(name), "%s/new", p.dir);
	assert_int_equal(credentials_enter(&p.other, &p.own), 0);
	fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
	credentials_leave(&p.own);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(st.st_uid, UID);
	assert_int_equal(st.st_gid, GID);
	place_remove(&p);
}

TEST(test_groups_come_back)
{
	const gid_t groups[] = { 0, GROUP + 1 };
	struct credentials after;
	struct place p;

	catalog_make_directories(&p, 0, 0600);
	credentials_release(&p.own);
	assert_int_equal(setgroups(2, groups), 0);
	assert_int_equal(credentials_own(&p.own), 0);
	assert_int_equal(try_open_as(&p, &p.other), EACCES);
	assert_int_equal(credentials_own(&after), 0);
	assert_int_equal(after.group_count, 2);
	assert_memory_equal(after.groups, groups, sizeof(groups));
	credentials_release(&after);
	place_remove(&p);
}

static void *look_once_entered(void *arg)
{
	struct place *p = arg;

	(void)pthread_barrier_wait(&p->entered);
	p->there_err = credentials_own(&p->there) ?: -try_open(p);
	return NULL;
}

/* The thread is there before: a new one would be what its maker is. */
TEST(test_other_threads_stay_root)
{
	struct place p;
	pthread_t thread;

	catalog_make_directories(&p, GROUP, 0600);
	assert_int_equal(pthread_barrier_init(&p.entered, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, look_once_entered, &p),
			 0);
	assert_int_equal(credentials_enter(&p.other, &p.own), 0);
	(void)pthread_barrier_wait(&p.entered);
	assert_int_equal(pthread_join(thread, NULL), 0);
	credentials_leave(&p.own);
	(void)pthread_barrier_destroy(&p.entered);
	assert_int_equal(p.there_err, 0);
	assert_int_equal(p.there.group_count, p.own.group_count);
	assert_memory_equal(p.there.groups, p.own.groups,
			    p.own.group_count * sizeof(gid_t));
	credentials_release(&p.there);
	place_remove(&p);
}

/* A process that is not root, in a child: 0 when all is as it should be. */
static int without_root(const struct place *p)
{
	struct credentials own;

	if (setgroups(0, NULL) || setgid(GID) || setuid(UID) ||
	    credentials_own(&own))
		return 1;
	if (credentials_enter(&p->other, &own) != -EPERM)
		return 2;
	credentials_release(&own);
	return try_open(p) == EACCES ? 0 : 3;
}

TEST(test_others_may_not)
{
	struct place p;
	int status = 0;
	pid_t child;

	catalog_make_directories(&p, GROUP, 0640);
	child = fork();
	if (child == 0)
		_exit(without_root(&p));
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	place_remove(&p);
}
