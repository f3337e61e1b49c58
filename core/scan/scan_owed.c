/* SPDX-License-Identifier: Apache-2.0 */
#include "core/scan/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/engine_impl.h"
#include "core/source/file.h"
#include "core/source/source.h"

/* ---- what is owed ---- */

static void owe_locked(struct scan *s, const struct file_key *key, bool deep)
{
	size_t i = 0;

	while (i < s->owed_count && !file_key_equal(&s->owed[i].key, key))
		i++;
	if (i == OWED_MAX) {
		s->wanted = true;
	} else if (i == s->owed_count) {
		s->owed[s->owed_count++] = (struct owed){ *key, deep };
	} else {
		s->owed[i].deep = s->owed[i].deep || deep;
	}
	pthread_cond_signal(&s->work);
}

void scan_owe(struct engine *e, const struct file_key *key, bool deep)
{
	struct scan *s = &e->scan;

	pthread_mutex_lock(&s->lock);
	owe_locked(s, key, deep);
	pthread_mutex_unlock(&s->lock);
}

static bool is_there(struct engine *e, const struct file_key *key)
{
	const struct engine_host *host = &e->options.host;
	struct stat st;
	bool there;
	int fd;

	fd = host->open_known && key->device == 0 ?
		     host->open_known(host->ctx, e->source.device, key->inode) :
		     -ENOENT;
	if (fd < 0)
		return fd != -ENOENT && fd != -ESTALE;
	there = !fstat(fd, &st) && st.st_nlink > 0;
	close(fd);
	return there;
}

void scan_owe_unknown(struct engine *e, const struct file_key *key)
{
	if (is_there(e, key))
		scan_owe(e, key, false);
}

void scan_owe_new(struct engine *e, const struct file_key *directory)
{
	struct scan *s = &e->scan;

	pthread_mutex_lock(&s->lock);
	if (!s->wanted && !atomic_load(&s->running))
		owe_locked(s, directory, false);
	pthread_mutex_unlock(&s->lock);
}

void scan_defer(struct engine *e, bool on)
{
	struct scan *s = &e->scan;

	pthread_mutex_lock(&s->lock);
	s->deferred = on;
	if (!on && s->owed_count)
		pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
}

/* ---- where it is ---- */

static bool owed_take(struct scan *s, struct owed *out)
{
	bool any;

	pthread_mutex_lock(&s->lock);
	any = s->owed_count > 0 && !s->deferred;
	if (any)
		*out = s->owed[--s->owed_count];
	s->paying = any;
	pthread_mutex_unlock(&s->lock);
	return any;
}

/* The path of the directory, or of the one that the file is in. */
static int directory_path(struct engine *e, const struct owed *o, int fd,
			  const struct stat *st, char **path_out)
{
	char *path, *slash;
	int err;

	if (file_key_equal(&o->key, &e->source.root)) {
		*path_out = strdup("");
		return *path_out ? 0 : -ENOMEM;
	}
	err = source_get_path(&e->source, fd, &path);
	if (err)
		return err;
	if (!S_ISDIR(st->st_mode)) {
		slash = strrchr(path, '/');
		*(slash ? slash : path) = '\0';
	}
	*path_out = path;
	return 0;
}

static int key_of_path(struct engine *e, const char *path, struct file_key *out)
{
	int fd = file_open_beneath(e->source.fd, path, O_PATH);
	struct stat st;
	int err;

	if (fd < 0)
		return fd;
	err = fstat(fd, &st) ? -errno : 0;
	if (!err)
		source_get_key(&e->source, fd, &st, out);
	close(fd);
	return err;
}

static int pay(struct engine *e, const struct owed *o)
{
	struct file_key key;
	struct stat st;
	char *path = NULL;
	int fd, err;

	err = source_find_entry(&e->source, e->catalog, &o->key, &fd, &st);
	if (err)
		return err;
	err = directory_path(e, o, fd, &st, &path);
	if (!err && !source_is_excluded(&e->source, path)) {
		err = key_of_path(e, path, &key);
		if (!err) {
			names_learn(e, fd, &o->key);
			err = scan_add_unsettled(&e->scan, path, &key, 0,
						 o->deep &&
							 S_ISDIR(st.st_mode));
		}
	}
	close(fd);
	free(path);
	return err;
}

/* What cannot be found is gone. */
void scan_pay(struct engine *e)
{
	struct owed owed;
	int err;

	while (!atomic_load(&e->stopping) && owed_take(&e->scan, &owed)) {
		err = pay(e, &owed);
		if (err && err != -ENOENT && err != -ENOTDIR && err != -ESTALE)
			scan_want(e);
	}
}
