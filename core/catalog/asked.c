/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASKED_FILE "asked"
#define DAY 86400

/* ---- one catalog ---- */

/* Another user must not lead to a file of this one's. */
static int open_own(const char *directory)
{
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (dir < 0)
		return -errno;
	if (!fstat(dir, &st) && st.st_uid == geteuid() &&
	    !(st.st_mode & S_IWOTH))
		return dir;
	(void)close(dir);
	return -EPERM;
}

int catalog_open_asked(const char *directory)
{
	int dir = open_own(directory), fd;

	if (dir < 0)
		return dir;
	fd = openat(dir, ASKED_FILE,
		    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		    0600);
	if (fd < 0)
		fd = -errno;
	(void)close(dir);
	return fd;
}

int catalog_note_asked(const char *directory, int asked, const char *source)
{
	int dir = open_own(directory);
	struct stat st;
	bool is_new;

	if (dir < 0)
		return dir;
	is_new = fstatat(dir, CATALOG_DATA_FILE, &st, 0) != 0;
	(void)close(dir);
	if (is_new && pwrite(asked, source, strlen(source), 0) < 0)
		return -errno;
	return futimens(asked, NULL) ? -errno : 0;
}

/* Whether the name is that of a file of the catalog alone. */
static bool is_cache(const char *name)
{
	static const char *const names[] = {
		CATALOG_READERS_FILE, SEAL_FILE,  SEAL_FILE ".new", KEY_FILE,
		KEY_FILE ".new",      ASKED_FILE,
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	/* With the copies that were set aside. */
	return !strncmp(name, CATALOG_DATA_FILE, strlen(CATALOG_DATA_FILE));
}

/* The lock is the last, so that what is left has one. */
static int remove_files(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	int err = list ? 0 : -errno;

	while (!err && (entry = readdir(list)))
		if (is_cache(entry->d_name) &&
		    unlinkat(dir, entry->d_name, 0) && errno != ENOENT)
			err = -errno;
	if (list)
		(void)closedir(list);
	else if (copy >= 0)
		(void)close(copy);
	if (!err)
		(void)unlinkat(dir, CATALOG_LOCK_FILE, 0);
	return err;
}

int catalog_remove(const char *directory)
{
	int dir = open_own(directory), asked, lock = -1, err = 0;
	struct stat st;

	if (dir < 0)
		return dir;
	asked = openat(dir, ASKED_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (asked >= 0 && flock(asked, LOCK_EX | LOCK_NB))
		err = -EBUSY;
	if (!err && asked < 0 && fstatat(dir, CATALOG_DATA_FILE, &st, 0))
		err = -errno;
	if (!err)
		err = data_dir_lock(dir, "being removed", &lock);
	if (!err)
		err = remove_files(dir);
	if (!err) {
		(void)unlinkat(dir, CATALOG_MOUNT_DIRECTORY, AT_REMOVEDIR);
		(void)rmdir(directory);
	}
	if (lock >= 0)
		data_dir_unlock(lock);
	if (asked >= 0)
		(void)close(asked);
	(void)close(dir);
	return err;
}

/* ---- all of them ---- */

static bool newer(int dir, const char *name, struct stat *st)
{
	struct stat this;

	if (fstatat(dir, name, &this, AT_SYMLINK_NOFOLLOW))
		return false;
	if (this.st_mtim.tv_sec > st->st_mtim.tv_sec)
		st->st_mtim = this.st_mtim;
	st->st_size = this.st_size;
	return true;
}

/* Whether it was made for questions alone. */
static bool read_asked(int dir, struct catalog_asked *out)
{
	char source[PATH_MAX];
	struct stat st = { 0 };
	ssize_t len;

	if (!newer(dir, ASKED_FILE, &st) ||
	    (len = data_dir_read(dir, ASKED_FILE, source,
				 sizeof(source) - 1)) <= 0 ||
	    !newer(dir, CATALOG_DATA_FILE, &st))
		return false;
	source[len] = '\0';
	out->source = strdup(source);
	out->bytes = (uint64_t)st.st_size;
	out->when = st.st_mtim.tv_sec;
	return out->source != NULL;
}

int catalog_asked_begin(struct catalog_asked *a)
{
	struct buf state = { 0 };
	int err = catalog_state_directory(&state);

	*a = (struct catalog_asked){ .state = NULL };
	if (!err && !(a->list = opendir(state.data)))
		err = -errno;
	a->state = buf_take(&state);
	return err == -ENOENT ? 0 : err;
}

bool catalog_asked_next(struct catalog_asked *a)
{
	const struct dirent *entry;
	bool found = false;
	int dir;

	while (!found && a->list && (entry = readdir(a->list))) {
		free(a->source);
		free(a->directory);
		a->source = a->directory = NULL;
		if (*entry->d_name == '.' ||
		    asprintf(&a->directory, "%s/%s", a->state, entry->d_name) <
			    0)
			continue;
		dir = open_own(a->directory);
		found = dir >= 0 && read_asked(dir, a);
		if (dir >= 0)
			(void)close(dir);
	}
	return found;
}

void catalog_asked_end(struct catalog_asked *a)
{
	if (a->list)
		(void)closedir(a->list);
	free(a->source);
	free(a->directory);
	free(a->state);
}

void catalog_clean(void)
{
	const time_t now = time(NULL);
	struct catalog_asked a;

	if (!catalog_asked_begin(&a))
		while (catalog_asked_next(&a))
			if (now - a.when > CATALOG_KEPT_DAYS * DAY)
				(void)catalog_remove(a.directory);
	catalog_asked_end(&a);
}
