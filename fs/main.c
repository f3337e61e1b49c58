/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/logger.h"
#include "fs/fs.h"
#include "fs/similar/similar.h"

enum { EXIT_USAGE = 2 };

/* ---- the background ---- */

/*
 * Waits for the child's report, which it sends from init(), when the kernel has
 * accepted the mount; then checks that the mount answers, as libfuse may fail
 * after init().  Until then its messages go to the terminal.  A child that ends
 * without a report has failed.
 */
static int parent_wait(const char *mountpoint, int pipe_fd, pid_t child)
{
	struct stat st;
	ssize_t len;
	int status;
	char byte;

	do
		len = read(pipe_fd, &byte, 1);
	while (len < 0 && errno == EINTR);
	if (len == 1) {
		if (stat(mountpoint, &st) == 0 ||
		    (errno != ENOTCONN && errno != ECONNABORTED))
			return EXIT_SUCCESS;
		log_line("mount point '%s': %s; see the system's log",
			 mountpoint, err_text(errno));
		return EXIT_FAILURE;
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILURE;
	if (WIFSIGNALED(status))
		log_line("ended by signal %d", WTERMSIG(status));
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) :
							  EXIT_FAILURE;
}

/* fs->report of a daemon: detaches from the terminal, then reports. */
static void report_ready(struct fs *fs)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	log_to_syslog();
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
		close(null);
	}
	(void)setsid();
	(void)!write(fs->ready_pipe, "", 1);
	close(fs->ready_pipe);
	fs->ready_pipe = -1;
}

/* fs->report of one in the foreground: tells the service manager. */
static void report_service(struct fs *fs)
{
	notify_service("READY=1\nSTATUS=%s is mounted", fs->mountpoint);
}

static int run_in_background(struct fs *fs, int source_fd, const char *catalog)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		log_line("cannot make a pipe: %m");
		return EXIT_FAILURE;
	}
	child = fork();
	if (child < 0) {
		log_line("cannot start in the background: %m");
		return EXIT_FAILURE;
	}
	if (child > 0) {
		close(ends[1]);
		return parent_wait(fs->mountpoint, ends[0], child);
	}
	close(ends[0]);
	fs->ready_pipe = ends[1];
	fs->report = report_ready;
	return serve(fs, source_fd, catalog);
}

/* ---- mount(8) ---- */

/*
 * For "mount -t kinfs", mount(8) runs kinfs by the name mount.kinfs:
 * mount.TYPE SOURCE DIRECTORY [-sfnv] [-N namespace] [-o options]
 * [-t type.subtype].  Its options are not those of kinfs: -f means "mount
 * nothing".  If argv[0] is such a name, removes the options of mount(8) from
 * argv.  *fake_out: -f was given.
 */
static void take_mount_helper(int *argc, char **argv, bool *fake_out)
{
	const char *slash = *argc < 1 ? NULL : strrchr(argv[0], '/');
	int kept = 1, i;

	*fake_out = false;
	if (*argc < 1 ||
	    strncmp(slash ? slash + 1 : argv[0], "mount.", strlen("mount.")))
		return;
	for (i = 1; i < *argc; i++) {
		const char *arg = argv[i];
		bool has_value = i + 1 < *argc;

		if (!strcmp(arg, "-o") && has_value) {
			argv[kept++] = argv[i++];
			argv[kept++] = argv[i];
		} else if ((!strcmp(arg, "-t") || !strcmp(arg, "-N")) &&
			   has_value) {
			i++;
		} else if (arg[0] == '-' && arg[1] &&
			   !arg[1 + strspn(arg + 1, "sfnv")]) {
			*fake_out |= strchr(arg, 'f') != NULL;
		} else {
			argv[kept++] = argv[i];
		}
	}
	argv[kept] = NULL;
	*argc = kept;
}

/* ---- the program ---- */

static bool has_entry(int source_fd, const char *name)
{
	struct stat st;

	return fstatat(source_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Warns of entries in SOURCE with names that the virtual tree uses. */
static void warn_of_hidden(const struct fs *fs, int source_fd)
{
	static const char *const views[] = { SIMILAR_DIRECTORIES, SIMILAR_QUERY,
					     ".groups" };
	const struct options *o = &fs->options;
	size_t i;

	if (o->similar == SIMILAR_OFF)
		return;
	if (has_entry(source_fd, o->similar_name))
		log_warning("the entry '%s' of '%s' is not seen in the mount, "
			    "where the tree of similar files has that name; "
			    "-o similar_name=NAME gives it another one",
			    o->similar_name, fs->source);
	for (i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (has_entry(source_fd, views[i]))
			log_warning(
				"source '%s' has an entry '%s'; the view of "
				"similar files of that name is not available",
				fs->source, views[i]);
}

/* The limit of the shell that mounts (ulimit -f) is none of other users, whose
 * writes the daemon executes. */
static void raise_file_size(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	if (!setrlimit(RLIMIT_FSIZE, &limit) ||
	    getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_max == RLIM_INFINITY)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_FSIZE, &limit);
	log_warning(
		"no file in the mount can grow beyond %llu bytes: ulimit -f "
		"of the shell that mounts it",
		(unsigned long long)limit.rlim_max);
}

static int check_and_serve(struct fs *fs)
{
	char *catalog = NULL;
	int source_fd = -1;
	int status = EXIT_FAILURE;

	if (check_places(fs, &source_fd))
		return EXIT_FAILURE;
	if (check_catalog(fs, source_fd, &catalog)) {
		close(source_fd);
		return EXIT_FAILURE;
	}
	warn_of_hidden(fs, source_fd);
	raise_file_size();
	if (fs->options.foreground) {
		fs->report = report_service;
		status = serve(fs, source_fd, catalog);
	} else {
		status = run_in_background(fs, source_fd, catalog);
	}
	free(catalog);
	return status;
}

int main(int argc, char **argv)
{
	struct fs fs = { .ready_pipe = -1 };
	const struct options *o = &fs.options;
	int fd, err, status = EXIT_FAILURE;
	bool fake;

	/* No other file gets the descriptors 0 to 2. */
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
	take_mount_helper(&argc, argv, &fake);
	if (fake)
		return EXIT_SUCCESS;
	err = options_parse(argc, argv, &fs.options);
	if (err == -ENOMEM)
		log_line("out of memory");
	if (err) {
		status = err == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
	} else if (o->help) {
		options_print_help(o->help_all);
		status = EXIT_SUCCESS;
	} else if (o->version) {
		printf("kinfs %s\nlibfuse %s\n", KINFS_VERSION,
		       fuse_pkgversion());
		status = EXIT_SUCCESS;
	} else if (!o->mountpoint) {
		log_line("%s missing; usage: kinfs SOURCE MOUNTPOINT "
			 "[-o OPTIONS]",
			 o->source ? "mount point" : "source and mount point");
		status = EXIT_USAGE;
	} else {
		status = check_and_serve(&fs);
	}
	options_release(&fs.options);
	free(fs.source);
	free(fs.mountpoint);
	return status;
}
