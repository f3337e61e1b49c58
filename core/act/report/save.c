/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/act/report/report.h"

/* The file that is written, beyond symbolic links, to be freed. */
static int find_file(const char *path, char **out)
{
	struct stat st;
	char *file;

	if (!stat(path, &st)) {
		if (!S_ISREG(st.st_mode))
			return S_ISDIR(st.st_mode) ? -EISDIR : -ENOTSUP;
		file = realpath(path, NULL);
	} else if (errno == ENOENT) {
		file = strdup(path);
	} else {
		return -errno;
	}
	if (!file)
		return errno ? -errno : -ENOMEM;
	*out = file;
	return 0;
}

/* Length of the directory of a path with its slash; 0: the current one. */
static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash + 1 - path) : 0;
}

int report_check_place(const char *path)
{
	char *file = NULL;
	size_t len;
	int err = find_file(path, &file);

	if (err || !file)
		return err;
	len = folder_length(file);
	file[len] = '\0';
	if (access(len ? file : ".", W_OK | X_OK))
		err = -errno;
	free(file);
	return err;
}

/* Those of the old file, or those that the umask leaves of a new one. */
static mode_t rights_of(const char *path)
{
	struct stat st;
	mode_t mask;

	if (!stat(path, &st))
		return st.st_mode & 0777;
	mask = umask(0);
	(void)umask(mask);
	return 0666 & ~mask;
}

/* The file is closed and on disk, or there was an error. */
static int write_file(struct report *r, const struct report_about *about,
		      int fd)
{
	FILE *out = fdopen(fd, "w");
	int err;

	if (!out) {
		err = -errno;
		close(fd);
		return err;
	}
	err = report_write(r, about, out);
	if (!err && (fflush(out) || fsync(fd)))
		err = -errno;
	if (fclose(out) && !err)
		err = -errno;
	return err;
}

static int replace(struct report *r, const struct report_about *about,
		   const char *path)
{
	mode_t rights = rights_of(path);
	char *name = NULL;
	int fd, err;

	if (asprintf(&name, "%.*s.kin-report.XXXXXX", (int)folder_length(path),
		     path) < 0)
		return -ENOMEM;
	fd = mkostemp(name, O_CLOEXEC);
	err = fd < 0 ? -errno : write_file(r, about, fd);
	if (!err && (chmod(name, rights) || rename(name, path)))
		err = -errno;
	if (err && fd >= 0)
		(void)unlink(name);
	free(name);
	return err;
}

int report_save(struct report *r, const struct report_about *about,
		const char *path)
{
	char *file = NULL;
	int err = find_file(path, &file);

	if (!err && file)
		err = replace(r, about, file);
	free(file);
	return err;
}
