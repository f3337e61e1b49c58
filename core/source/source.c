/* SPDX-License-Identifier: Apache-2.0 */
#include "core/source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/base/err.h"
#include "core/base/filter.h"
#include "core/source/file.h"

/* ---- keys ---- */

/* A file handle has inode and generation (ext4, XFS, btrfs, tmpfs), so its hash
 * serves as the generation. */
static uint16_t handle_hash(int fd, const char *name, int flags)
{
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle = { .head = { .handle_bytes = MAX_HANDLE_SZ } };
	uint16_t hash;
	int mount_id;

	if (name_to_handle_at(fd, name, &handle.head, &mount_id, flags))
		return 0;
	hash = (uint16_t)XXH3_64bits(handle.room + sizeof(struct file_handle),
				     handle.head.handle_bytes);
	return hash ? hash : 1;
}

static uint32_t device_of(const struct filesystem *filesystem)
{
	uint32_t folded = (uint32_t)(filesystem->id ^ filesystem->id >> 32);

	return folded ? folded : 1;
}

void source_get_entry_key(const struct source *s, int dir_fd, const char *name,
			  const struct stat *st, struct file_key *out)
{
	struct filesystem other;

	*out = (struct file_key){
		.inode = st->st_ino,
		.device = s->root.device,
		.generation =
			handle_hash(dir_fd, name, *name ? 0 : AT_EMPTY_PATH),
	};
	if (st->st_dev == s->device)
		return;
	other = filesystem_of_entry(dir_fd, name, st->st_dev);
	out->device = device_of(&other);
}

enum inode_numbers source_get_numbers(const struct source *s, int dir_fd,
				      const char *name, const struct stat *st)
{
	return st->st_dev == s->device ?
		       s->filesystem.numbers :
		       filesystem_of_entry(dir_fd, name, st->st_dev).numbers;
}

void source_get_key(const struct source *s, int fd, const struct stat *st,
		    struct file_key *out)
{
	source_get_entry_key(s, fd, "", st, out);
}

enum times_worth source_get_times(const struct source *s,
				  const struct file_key *key)
{
	return source_is_own(s, key) ? s->filesystem.times : TIMES_DOUBTFUL;
}

/* With kept numbers the catalog is begun anew for another filesystem. */
int source_init(struct source *s)
{
	struct stat st;

	if (fstat(s->fd, &st))
		return -errno;
	s->device = st.st_dev;
	s->filesystem = filesystem_of_root(s->fd);
	s->root.device = s->filesystem.numbers == NUMBERS_MADE_UP ?
				 device_of(&s->filesystem) :
				 0;
	source_get_key(s, s->fd, &st, &s->root);
	return 0;
}

/* ---- finding files ---- */

/* Leaves fd open if it has the type and the key that are looked for.  fd: an
 * error, which is returned. */
static int check_found(const struct source *s, const struct file_key *key,
		       enum source_which which, struct source_found *f)
{
	struct file_key found;
	int err = -ENOENT;

	if (f->fd < 0)
		return f->fd;
	if (fstat(f->fd, &f->st)) {
		err = -errno;
	} else if (S_ISREG(f->st.st_mode) ||
		   (which != SOURCE_FILE && S_ISDIR(f->st.st_mode))) {
		source_get_key(s, f->fd, &f->st, &found);
		err = file_key_equal(&found, key) ? 0 : -ENOENT;
	}
	if (err)
		source_found_close(f);
	return err;
}

/* Whether st is of the regular file that the record describes.  A file that
 * took its inode number has another ctime, so the generation needs no look. */
static bool is_recorded(const struct source *s, const struct file_key *key,
			const struct file_identity *recorded,
			const struct stat *st)
{
	struct file_identity now;

	source_get_identity(st, &now);
	return S_ISREG(st->st_mode) && source_has_number(s, key, st) &&
	       file_identity_equal(&now, recorded);
}

/* Opens the file at the path for reading, if it is the recorded one.  A link in
 * the path misleads the first look only: openat2() follows none. */
static bool open_recorded(const struct source *s, const char *path,
			  const struct file_key *key,
			  const struct file_identity *recorded,
			  struct source_found *f)
{
	if (fstatat(s->fd, path, &f->st, AT_SYMLINK_NOFOLLOW) ||
	    !is_recorded(s, key, recorded, &f->st))
		return false;
	f->fd = file_open_to_read(s->fd, path);
	f->readable = f->fd >= 0 && !fstat(f->fd, &f->st) &&
		      is_recorded(s, key, recorded, &f->st);
	if (!f->readable)
		source_found_close(f);
	return f->readable;
}

/* Whether the path does not lead to the file.  With other errors (-EMFILE,
 * -ENOMEM) it may. */
static bool is_wrong_path(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENOTDIR:
	case -ELOOP:
	case -EXDEV:
	case -EACCES:
	case -ENAMETOOLONG:
	case -ESTALE:
		return true;
	default:
		return false;
	}
}

static int find_by_name(const struct source *s, struct catalog *catalog,
			const struct file_key *key, enum source_which which,
			struct source_found *f)
{
	struct catalog_walk *walk;
	struct catalog_txn *txn;
	struct file_record record;
	const char *path;
	bool recorded, found = false;
	int failed = -ENOENT, err = catalog_read(catalog, &txn);

	if (err)
		return err;
	recorded = which == SOURCE_FILE && !catalog_file_get(txn, key, &record);
	err = catalog_paths_begin(txn, &s->root, key, &walk);
	if (err)
		goto out;
	while (!found && (err = catalog_paths_next(walk, &path)) == 1) {
		found = recorded &&
			open_recorded(s, path, key, &record.identity, f);
		if (found)
			break;
		f->fd = file_open_beneath(s->fd, path, O_PATH);
		err = check_found(s, key, which, f);
		found = !err;
		if (!found && !is_wrong_path(err))
			failed = err;
	}
	catalog_walk_end(walk);
	if (found)
		err = 0;
	else if (!err)
		err = failed;
out:
	catalog_abort(txn);
	return err;
}

int source_find(const struct source *s, struct catalog *catalog,
		const struct file_key *key, enum source_which which,
		struct source_found *out)
{
	struct source_found f = { .fd = -ENOENT };
	int err, known_err;

	if (s->open_known && source_is_own(s, key))
		f.fd = s->open_known(s->ctx, s->device, key->inode);
	known_err = f.fd;
	err = check_found(s, key, which, &f);
	if (err)
		err = find_by_name(s, catalog, key, which, &f);
	if (!err)
		*out = f;
	return err == -ENOENT && err_is_lack(known_err) ? known_err : err;
}

int source_get_path(const struct source *s, int fd, char **path_out)
{
	size_t source_len = strlen(s->path);
	char name[32], target[8192];
	struct stat st, now;
	ssize_t len;

	if (fstat(fd, &st))
		return -errno;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	len = readlink(name, target, sizeof(target) - 1);
	if (len < 0)
		return -errno;
	target[len] = '\0';
	if (source_len == 1) /* SOURCE is / */
		source_len = 0;
	if (strncmp(target, s->path, source_len) != 0 ||
	    target[source_len] != '/')
		return -ENOENT;
	/* Of a name that was removed the kernel tells another one. */
	if (!st.st_nlink &&
	    (fstatat(s->fd, target + source_len + 1, &now,
		     AT_SYMLINK_NOFOLLOW) ||
	     now.st_ino != st.st_ino || now.st_dev != st.st_dev))
		return -ENOENT;
	*path_out = strdup(target + source_len + 1);
	return *path_out ? 0 : -ENOMEM;
}

bool source_is_removed(const struct source *s, int fd, const struct stat *st)
{
	char *path = NULL;
	int err = st->st_nlink ? 0 : source_get_path(s, fd, &path);

	free(path);
	return err == -ENOENT;
}

enum source_use source_get_use(const struct source *s, const struct stat *st)
{
	return s->use ? s->use(s->ctx, st->st_dev, st->st_ino) : SOURCE_UNUSED;
}

bool source_catch_up(const struct source *s)
{
	return !s->catch_up || s->catch_up(s->ctx);
}

/* ---- rules ---- */

bool source_is_excluded(const struct source *s, const char *path)
{
	return glob_matches_any(path, s->rules.excludes,
				s->rules.exclude_count);
}

const char *source_skip_rule(const struct source *s, const char *path,
			     const struct stat *st)
{
	const struct source_rules *r = &s->rules;
	uint64_t size = (uint64_t)st->st_size;

	if (!r->cross && st->st_dev != s->device)
		return "cross";
	if (S_ISREG(st->st_mode) && size < r->min_size)
		return "min_size";
	if (S_ISREG(st->st_mode) && r->max_size && size > r->max_size)
		return "max_size";
	return source_is_excluded(s, path) ? "exclude" : NULL;
}

const char *source_skip_rule_at(const struct source *s, int fd,
				const struct stat *st)
{
	const char *rule;
	char *path = NULL;

	if (s->rules.exclude_count)
		(void)source_get_path(s, fd, &path);
	rule = source_skip_rule(s, path ? path : "", st);
	free(path);
	return rule;
}
