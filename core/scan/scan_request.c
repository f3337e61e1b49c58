/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/scan/scan_impl.h"
#include "core/source/file.h"

/* ---- the list ---- */

static void request_locked(struct scanner *s, const struct file_key *key,
			   bool deep)
{
	size_t i = 0;

	while (i < s->request_count &&
	       !file_key_equal(&s->requests[i].key, key))
		i++;
	if (i == REQUESTS_MAX)
		s->wanted = true;
	else if (i == s->request_count)
		s->requests[s->request_count++] =
			(struct scan_request){ *key, deep };
	else
		s->requests[i].deep = s->requests[i].deep || deep;
	pthread_cond_signal(&s->work);
}

void scan_request(struct scanner *s, const struct file_key *key, bool deep)
{
	pthread_mutex_lock(&s->lock);
	request_locked(s, key, deep);
	pthread_mutex_unlock(&s->lock);
}

static bool is_known_to_host(const struct source *source,
			     const struct file_key *key)
{
	struct stat st;
	bool known;
	int fd;

	fd = source->open_known && key->device == 0 ?
		     source->open_known(source->ctx, source->device,
					key->inode) :
		     -ENOENT;
	if (fd < 0)
		return fd != -ENOENT && fd != -ESTALE;
	known = !fstat(fd, &st) && st.st_nlink > 0;
	close(fd);
	return known;
}

void scan_request_unknown(struct scanner *s, const struct file_key *key)
{
	if (is_known_to_host(s->context.source, key))
		scan_request(s, key, false);
}

void scan_request_new(struct scanner *s, const struct file_key *directory)
{
	pthread_mutex_lock(&s->lock);
	if (!s->wanted && !atomic_load(&s->running))
		request_locked(s, directory, false);
	pthread_mutex_unlock(&s->lock);
}

void scan_defer_requests(struct scanner *s, bool on)
{
	pthread_mutex_lock(&s->lock);
	s->deferred = on;
	if (!on && s->request_count)
		pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
}

static bool request_take(struct scanner *s, struct scan_request *out)
{
	bool any;

	pthread_mutex_lock(&s->lock);
	any = s->request_count > 0 && !s->deferred;
	if (any)
		*out = s->requests[--s->request_count];
	s->serving = any;
	pthread_mutex_unlock(&s->lock);
	return any;
}

/* ---- serving it ---- */

/* The path of the directory, or of the one that the file is in. */
static int directory_path(const struct source *source,
			  const struct scan_request *r, int fd,
			  const struct stat *st, char **path_out)
{
	char *path, *slash;
	int err;

	if (file_key_equal(&r->key, &source->root)) {
		*path_out = strdup("");
		return *path_out ? 0 : -ENOMEM;
	}
	err = source_get_path(source, fd, &path);
	if (err)
		return err;
	if (!S_ISDIR(st->st_mode)) {
		slash = strrchr(path, '/');
		*(slash ? slash : path) = '\0';
	}
	*path_out = path;
	return 0;
}

static int key_of_path(const struct source *source, const char *path,
		       struct file_key *out)
{
	int fd = file_open_beneath(source->fd, path, O_PATH);
	struct stat st;
	int err;

	if (fd < 0)
		return fd;
	err = fstat(fd, &st) ? -errno : 0;
	if (!err)
		source_get_key(source, fd, &st, out);
	close(fd);
	return err;
}

static int serve_open(struct scanner *s, const struct scan_request *r, int fd,
		      const struct stat *st)
{
	const struct source *source = s->context.source;
	struct file_key directory;
	char *path = NULL;
	int err = directory_path(source, r, fd, st, &path);

	if (err || source_is_excluded(source, path))
		goto out;
	err = key_of_path(source, path, &directory);
	if (err)
		goto out;
	scan_report_path(s, fd, &r->key);
	err = scan_retry_later(s, path, &directory, 0,
			       r->deep && S_ISDIR(st->st_mode));
out:
	free(path);
	return err;
}

static int serve(struct scanner *s, const struct scan_request *r)
{
	struct stat st;
	int fd, err;

	err = source_find_entry(s->context.source, s->context.catalog, &r->key,
				&fd, &st);
	if (err)
		return err;
	err = serve_open(s, r, fd, &st);
	close(fd);
	return err;
}

/* A file or directory that cannot be found is gone. */
void scan_serve_requests(struct scanner *s)
{
	struct scan_request r;
	int err;

	while (!scan_is_stopping(s) && request_take(s, &r)) {
		err = serve(s, &r);
		if (err && err != -ENOENT && err != -ENOTDIR && err != -ESTALE)
			scan_request_tree(s);
	}
}
