/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/act/report/report.h"

/* The file that is written, beyond symbolic links, to be freed; *folder_out:
 * length of its directory with the slash, 0: the current one. */
static int find_file(const char *path, char **out, size_t *folder_out)
{
	struct stat st;
	const char *slash;

	if (!stat(path, &st)) {
		if (!S_ISREG(st.st_mode))
			return S_ISDIR(st.st_mode) ? -EISDIR : -ENOTSUP;
	} else if (errno != ENOENT) {
		return -errno;
	}
	*out = realpath(path, NULL);
	if (!*out)
		*out = strdup(path);
	if (!*out)
		return -ENOMEM;
	slash = strrchr(*out, '/');
	*folder_out = slash ? (size_t)(slash + 1 - *out) : 0;
	return 0;
}

int report_check_place(const char *path)
{
	char *file = NULL;
	size_t len;
	int err = find_file(path, &file, &len);

	if (err)
		return err;
	file[len] = '\0';
	if (access(len ? file : ".", W_OK | X_OK))
		err = -errno;
	free(file);
	return err;
}

int report_save(struct report *r, const struct report_about *about,
		const char *path)
{
	char *file = NULL, *new = NULL;
	struct stat st;
	FILE *out = NULL;
	mode_t mask;
	size_t len;
	int err = find_file(path, &file, &len), fd = -1;

	if (!err &&
	    asprintf(&new, "%.*s.kin-report.XXXXXX", (int)len, file) < 0)
		new = NULL;
	if (!err && new) {
		fd = mkostemp(new, O_CLOEXEC);
		out = fd < 0 ? NULL : fdopen(fd, "w");
	}
	if (!err && !out)
		err = -errno;
	if (!err)
		err = report_write(r, about, out);
	/* The rights of the old file, or those that the umask leaves. */
	mask = umask(0);
	(void)umask(mask);
	if (!err &&
	    fchmod(fd, stat(file, &st) ? 0666 & ~mask : st.st_mode & 0777))
		err = -errno;
	if (!err && (fflush(out) || fsync(fd)))
		err = -errno;
	if (out && fclose(out) && !err)
		err = -errno;
	if (!err && rename(new, file))
		err = -errno;
	if (err && fd >= 0)
		(void)unlink(new);
	free(new);
	free(file);
	return err;
}
