/* SPDX-License-Identifier: Apache-2.0 */

/*
 * stall UID KIND SOURCE MOUNT COUNT
 *
 * The user has COUNT requests of one kind wait below the mount, until this
 * process is killed; each in a process of its own.  SOURCE and MOUNT are a
 * directory of the user's as seen from both sides.
 *
 *   lease      open for writing, of files with a read lease
 *   truncate   the same, by truncate()
 *   read       open for reading, of files with a write lease
 *   mode       chmod of files whose lock in the kernel a stalled write() holds
 *   size       truncate of such files
 *   name       mkdir in directories whose lock a stalled readdir() holds
 *   create     open with O_CREAT, of such files that were made after the kernel
 *              had remembered that there are none
 *   flock      an exclusive lock that another process has
 *   close      close of a file that was opened for writing, on a filesystem that
 *              does not answer
 *   release    the same of files opened for reading: no process waits
 *
 * Prints "ready" once all of them have begun.  What is not possible here ends it
 * with exit status 77.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SKIPPED = 77, PAGE = 4096, PATH = 512, KEPT = 1000 };

static const char *kind, *source, *mount_dir;
static char *fault; /* a page that is never filled */
static int kept[KEPT];
static int faults; /* where accesses to it are told */

static bool is_kind(const char *name)
{
	return strcmp(kind, name) == 0;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void path_of(char *out, const char *below, int i)
{
	(void)snprintf(out, PATH, "%s/%s%d", below, kind, i);
}

static void open_fault(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0)
		exit(SKIPPED);
	fault = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (unsigned long)fault;
	range.range.len = PAGE;
	if (fault == MAP_FAILED || ioctl(faults, UFFDIO_REGISTER, &range) != 0)
		exit(SKIPPED);
}

/* Holds the lock of a file or a directory, in a thread. */
static void *stalled_call(void *path)
{
	bool directory = is_kind("name");
	int fd = open(path, directory ? O_RDONLY | O_DIRECTORY : O_WRONLY);

	if (fd < 0)
		fail(path);
	if (directory)
		(void)syscall(SYS_getdents64, fd, fault, PAGE);
	else
		(void)!write(fd, fault, PAGE);
	return NULL;
}

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0644);

	if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) != 0)
		fail(path);
}

/* What the request will wait for. */
static void prepare(int i)
{
	char *path = malloc(PATH);
	pthread_t thread;
	struct uffd_msg message;
	int fd;

	path_of(path, mount_dir, i);
	if (is_kind("close"))
		return;
	if (is_kind("release")) {
		kept[i] = open(path, O_RDONLY);
		if (kept[i] < 0)
			fail(path);
		return;
	}
	if (is_kind("create") && access(path, F_OK) == 0)
		fail(path);
	path_of(path, source, i);
	if (is_kind("name")) {
		if (mkdir(path, 0755) != 0)
			fail(path);
	} else {
		make_file(path);
	}
	if (fault) {
		if (pthread_create(&thread, NULL, stalled_call, path) != 0 ||
		    read(faults, &message, sizeof(message)) < 0)
			fail("a thread");
		return;
	}
	if (is_kind("flock")) {
		path_of(path, mount_dir, i);
		fd = open(path, O_RDONLY);
		if (fd < 0 || flock(fd, LOCK_EX) != 0)
			fail(path);
		return;
	}
	fd = open(path, is_kind("read") ? O_RDWR : O_RDONLY);
	if (fd < 0 ||
	    fcntl(fd, F_SETLEASE, is_kind("read") ? F_WRLCK : F_RDLCK) != 0)
		fail(path);
}

static int request(const char *path)
{
	char new[PATH + 8];

	if (is_kind("lease"))
		return open(path, O_WRONLY);
	if (is_kind("create"))
		return open(path, O_WRONLY | O_CREAT, 0600);
	if (is_kind("read"))
		return open(path, O_RDONLY);
	if (is_kind("truncate") || is_kind("size"))
		return truncate(path, 0);
	if (is_kind("mode"))
		return chmod(path, 0600);
	if (is_kind("flock"))
		return flock(open(path, O_RDONLY), LOCK_EX);
	if (is_kind("close"))
		return close(open(path, O_WRONLY));
	(void)snprintf(new, sizeof(new), "%s/new", path);
	return mkdir(new, 0755);
}

int main(int argc, char **argv)
{
	int count, i, begun[2];
	char path[PATH], byte;
	uid_t uid;

	if (argc != 6)
		return 2;
	uid = (uid_t)atoi(argv[1]);
	kind = argv[2];
	source = argv[3];
	mount_dir = argv[4];
	count = atoi(argv[5]);
	if (is_kind("mode") || is_kind("size") || is_kind("name"))
		open_fault();
	if (setgid(uid) || setuid(uid) || pipe(begun))
		fail("begin");
	(void)signal(SIGIO, SIG_IGN); /* leases are to be given up */
	for (i = 0; i < count; i++)
		prepare(i);
	for (i = 0; i < count && is_kind("release"); i++)
		if (close(kept[i]) != 0 || write(begun[1], "", 1) != 1)
			fail("close");
	for (i = 0; i < count && !is_kind("release"); i++) {
		if (fork())
			continue;
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		path_of(path, mount_dir, i);
		(void)!write(begun[1], "", 1);
		if (request(path) < 0 && errno != EINTR)
			_exit(1);
		_exit(0);
	}
	for (i = 0; i < count; i++)
		if (read(begun[0], &byte, 1) != 1)
			fail("ready");
	puts("ready");
	(void)fflush(stdout);
	for (;;)
		(void)pause();
}
