/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "core/catalog/catalog.h"
#include "core/cli/cli.h"
#include "core/cli/progress.h"

/*
 * A question about a directory that is in no mount.
 *
 * kin starts a process, the keeper, and that starts kinfs, which mounts the
 * directory on one that is the user's own, in that of its catalog, read-only.
 * mount_find() finds it by SOURCE.  The keeper has one end of a socket, kin the
 * other: when kin has ended, however it did, the keeper ends kinfs, which
 * unmounts.  If the keeper is killed the kernel tells kinfs to end.
 *
 * Another kin that asks about the directory meanwhile uses the same mount.  The
 * file of catalog_open_asked() is locked by all that ask, so the keeper unmounts
 * when the last of them has ended.
 */
enum { LOOK_MS = 10 };

static struct descriptors {
	int *all;
	size_t count;
} keepers, locks; /* the sockets; the locks of this process */

static int add_descriptor(struct descriptors *d, int fd)
{
	int *all = array_with_room(d->all, d->count, sizeof(*all));

	if (!all) {
		close(fd);
		return -ENOMEM;
	}
	d->all = all;
	all[d->count++] = fd;
	return 0;
}

static void close_all(struct descriptors *d)
{
	while (d->count)
		close(d->all[--d->count]);
}

/* At the end of the program: waits until all is unmounted that no other kin
 * uses. */
static void end_keepers(void)
{
	char byte;

	close_all(&locks);
	while (keepers.count) {
		const int fd = keepers.all[--keepers.count];

		(void)shutdown(fd, SHUT_WR);
		while (read(fd, &byte, 1) < 0 && errno == EINTR)
			;
		close(fd);
	}
}

/* ---- the keeper ---- */

/* A directory to mount, and where. */
struct once {
	const char *source;    /* absolute, without symbolic links */
	char *catalog, *point; /* owned; directories */
	int lock;              /* of the catalog, see catalog_open_asked() */
	int words;             /* what kinfs says until it has mounted */
	int socket;            /* of the keeper */
};

/* The one beside this program, else that of $PATH. */
static void run_kinfs(const struct once *o, pid_t keeper)
{
	char *const argv[] = { "kinfs",           "-f",     "-o", "ro",
			       (char *)o->source, o->point, NULL };
	char own[PATH_MAX];
	ssize_t len =
		readlink("/proc/self/exe", own, sizeof(own) - sizeof("/kinfs"));

	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGHUP, SIG_DFL);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != keeper)
		_exit(EXIT_FAILED);
	if (len > 0) {
		own[len] = '\0';
		memcpy(strrchr(own, '/'), "/kinfs", sizeof("/kinfs"));
		(void)execv(own, argv);
	}
	(void)execvp("kinfs", argv);
	dprintf(STDERR_FILENO,
		"kinfs: %s: it mounts a directory for the time of a question; "
		"install the package kinfs\n",
		err_text(-errno));
	_exit(EXIT_FAILED);
}

/* Has nothing of kin that a reader at the other end of a pipe would wait for. */
static void keep(const struct once *o)
{
	const pid_t self = getpid();
	struct pollfd watched[] = { { .fd = o->socket, .events = POLLIN },
				    { .events = POLLIN } };
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t kinfs;

	close_all(&keepers);
	close_all(&locks);
	(void)setsid();
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	if (chdir("/") || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0 || dup2(o->words, STDERR_FILENO) < 0)
		_exit(EXIT_FAILED);
	kinfs = fork();
	if (!kinfs)
		run_kinfs(o, self);
	watched[1].fd = kinfs < 0 ? -1 : pidfd_open(kinfs, 0);
	if (watched[1].fd < 0)
		_exit(EXIT_FAILED);
	while (poll(watched, 2, -1) < 0 && errno == EINTR)
		;
	if (!watched[1].revents && flock(o->lock, LOCK_EX | LOCK_NB)) {
		close(o->socket); /* kin need not wait for the others */
		(void)flock(o->lock, LOCK_EX);
	}
	(void)kill(kinfs, SIGTERM);
	(void)waitpid(kinfs, NULL, 0);
	_exit(EXIT_OK);
}

/* ---- mounting ---- */

/* That of a kinfs that was killed. */
static void remove_dead_mount(const char *point)
{
	char *const argv[] = { "fusermount3", "-u",          "-z",
			       "-q",          (char *)point, NULL };
	struct stat st;
	pid_t pid;

	if (stat(point, &st) && errno == ENOTCONN &&
	    !posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ))
		(void)waitpid(pid, NULL, 0);
}

/* Prints the messages of kinfs, in lines that begin with its name. */
static int tell_words(const struct once *o)
{
	char text[4096];
	ssize_t len = pread(o->words, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return cli_complain(o->source, "kinfs cannot mount it for the "
					       "time of the question");
	text[len] = '\0';
	progress_clear();
	fputs(text, stderr);
	return EXIT_FAILED;
}

/* Until it is mounted. */
static int start_keeper(struct once *o, struct mount *out)
{
	struct pollfd end = { .events = POLLIN };
	int ends[2], err;
	pid_t pid;

	if (access("/dev/fuse", F_OK))
		return cli_complain(o->source,
				    "it is mounted for the time of the "
				    "question, and /dev/fuse is missing: "
				    "modprobe fuse, or of a container the "
				    "option --device /dev/fuse");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	(void)fflush(stdout);
	o->socket = ends[1];
	end.fd = ends[0];
	err = add_descriptor(&keepers, ends[0]);
	pid = err ? -1 : fork();
	if (!pid)
		keep(o);
	if (!err && pid < 0)
		err = -errno;
	close(ends[1]);
	while (!err && (err = mount_find(o->source, out)) == -ENODEV &&
	       !poll(&end, 1, LOOK_MS))
		err = 0;
	return err == -ENODEV ? tell_words(o) : err;
}

static int mount_locked(struct once *o, struct mount *out)
{
	static bool has_end;
	int err = mount_find(o->source, out);

	if (err != -ENODEV)
		return err;
	if (!has_end && atexit(end_keepers))
		return -ENOMEM;
	has_end = true;
	(void)mkdir(o->point, 0700);
	remove_dead_mount(o->point);
	err = catalog_note_asked(o->catalog, o->lock, o->source);
	o->words = memfd_create("kinfs", MFD_CLOEXEC);
	if (!err && o->words < 0)
		err = -errno;
	if (!err)
		err = start_keeper(o, out);
	if (o->words >= 0)
		close(o->words);
	/* The keeper has the lock, too, and keeps it when this one goes. */
	(void)flock(o->lock, LOCK_SH);
	return err;
}

static int mount_directory(const char *source, struct mount *out)
{
	struct once o = { .source = source, .lock = -1 };
	struct buf catalog = { 0 };
	int err = catalog_default_directory(source, &catalog);

	o.catalog = buf_take(&catalog);
	if (!err && o.catalog && path_below(o.catalog, source)) {
		err = cli_complain(source,
				   "its catalog, %s, would be in it; ask "
				   "about directories in it, or mount it with "
				   "kinfs -o db=DIR",
				   o.catalog);
	} else if (!err) {
		catalog_clean();
		err = catalog_make_directories(o.catalog);
	}
	if (!err &&
	    asprintf(&o.point, "%s/" CATALOG_MOUNT_DIRECTORY, o.catalog) < 0)
		err = -ENOMEM;
	if (!err) {
		o.lock = catalog_open_asked(o.catalog);
		err = o.lock < 0 ? o.lock : 0;
	}
	if (!err && flock(o.lock, LOCK_EX))
		err = -errno;
	if (!err)
		err = mount_locked(&o, out);
	if (o.lock >= 0)
		close(o.lock);
	free(o.catalog);
	free(o.point);
	return err;
}

/* ---- asking ---- */

/* Keeps a mount of this kind from being unmounted before this process ends, and
 * waits until all is hashed.  -EAGAIN: it was being unmounted. */
static int hold(const struct mount *m, bool exact)
{
	char *catalog = mount_get_place(m, "catalog", "path");
	const char *below = catalog ? path_below(m->point, catalog) : NULL;
	json_t *status = NULL;
	int lock, err = 0;

	if (below && !strcmp(below, CATALOG_MOUNT_DIRECTORY)) {
		lock = catalog_open_asked(catalog);
		err = lock < 0 ? lock : add_descriptor(&locks, lock);
		if (!err && (flock(lock, LOCK_SH) ||
			     mount_get_status(m->point, &status)))
			err = -EAGAIN;
		json_decref(status);
		if (!err)
			err = wait_hashed(m, exact);
	}
	free(catalog);
	return err;
}

int once_mount(const char *path, bool exact)
{
	char *real = realpath(path, NULL);
	struct mount m = { 0 };
	struct stat st;
	int err;

	do {
		err = mount_find(path, &m);
		if (err == -ENODEV && !stat(path, &st) && !S_ISDIR(st.st_mode))
			err = cli_complain(path,
					   "not in a kinfs mount, and not a "
					   "directory that could be asked "
					   "about");
		else if (err == -ENODEV && real)
			err = mount_directory(real, &m);
		if (!err)
			err = hold(&m, exact);
		mount_release(&m);
	} while (err == -EAGAIN);
	free(real);
	return err < 0 ? cli_complain_errno(path, err) : err;
}
