/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A library that is loaded into the daemon (LD_PRELOAD) and plays a writer
 * behind the mount: whenever the daemon calls fchmodat(), before that does
 * anything, $INTRUDE_FILE is overwritten with the text of $INTRUDE_TEXT and
 * its mtime set back.  With $INTRUDE_HELD it is open for writing from the
 * start, else only meanwhile.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int held = -1;

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		abort();
	return value;
}

static int open_file(void)
{
	return open(variable("INTRUDE_FILE"),
		    O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

__attribute__((constructor)) static void begin(void)
{
	if (getenv("INTRUDE_HELD"))
		held = open_file();
}

static void intrude(void)
{
	const char *text = variable("INTRUDE_TEXT");
	int fd = held < 0 ? open_file() : held;
	struct timespec times[2];
	struct stat st;

	/* A lease keeps it out. */
	if (fd < 0 || fstat(fd, &st) != 0)
		return;
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (pwrite(fd, text, strlen(text), 0) < 0 || futimens(fd, times) != 0)
		abort();
	if (fd != held)
		close(fd);
}

int fchmodat(int dir_fd, const char *path, mode_t mode, int flags)
{
	int (*next)(int, const char *, mode_t, int) =
		(int (*)(int, const char *, mode_t, int))dlsym(RTLD_NEXT,
							       "fchmodat");

	intrude();
	return next(dir_fd, path, mode, flags);
}
