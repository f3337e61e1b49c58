/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/scan/scan_impl.h"
#include "core/source/file.h"

/* ---- the list ---- */

static void request_close(const struct scan_request *r)
{
	if (r->fd >= 0)
		close(r->fd);
}

static struct scan_request *find_locked(struct scanner *s,
					const struct file_key *key)
{
	size_t i;

	for (i = 0; i < s->request_count; i++)
		if (file_key_equal(&s->requests[i].key, key))
			return &s->requests[i];
	return NULL;
}

static size_t count_deep_locked(const struct scanner *s)
{
	size_t i, count = 0;

	for (i = 0; i < s->request_count; i++)
		count += s->requests[i].deep;
	return count;
}

static bool has_room_locked(const struct scanner *s, bool deep)
{
	return s->request_count < REQUESTS_MAX &&
	       (!deep || count_deep_locked(s) < DEEP_MAX);
}

/* Takes r. */
static void request_locked(struct scanner *s, const struct scan_request *r)
{
	struct scan_request *same = find_locked(s, &r->key);

	pthread_cond_signal(&s->work);
	if (same && (same->deep || !r->deep)) {
		request_close(r);
	} else if (!has_room_locked(s, r->deep)) {
		s->wanted = true;
		request_close(r);
	} else if (same) {
		same->deep = true;
		request_close(r);
	} else {
		s->requests[s->request_count++] = *r;
	}
}

void scan_request_again(struct scanner *s, const struct scan_request *r)
{
	pthread_mutex_lock(&s->lock);
	request_locked(s, r);
	pthread_mutex_unlock(&s->lock);
}

static void scan_request_fd(struct scanner *s, const struct file_key *key,
			    bool deep, int fd)
{
	const struct scan_request r = { .key = *key, .deep = deep, .fd = fd };

	scan_request_again(s, &r);
}

void scan_request(struct scanner *s, const struct file_key *key, bool deep)
{
	scan_request_fd(s, key, deep, -1);
}

void scan_request_directory(struct scanner *s, const struct file_key *key,
			    int fd)
{
	scan_request_fd(s, key, false, fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

static bool is_removed(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_nlink == 0;
}

/* The request keeps a descriptor, because the host may close the file before
 * the request is served. */
void scan_request_unknown(struct scanner *s, const struct file_key *key)
{
	const struct source *source = s->context.source;
	int fd = -ENOENT;

	if (source->open_known && !key->device)
		fd = source->open_known(source->ctx, source->device,
					key->inode);
	if (fd >= 0 && is_removed(fd))
		close(fd);
	else if (fd >= 0)
		scan_request_fd(s, key, false, fd);
	else if (fd != -ENOENT && fd != -ESTALE)
		scan_request_fd(s, key, false, -1);
}

/* Whether a walk or a deep request is running or waits. */
static bool is_deep_locked(const struct scanner *s)
{
	return atomic_load(&s->running) || s->serving_deep ||
	       atomic_load(&s->deep_retries) || count_deep_locked(s);
}

void scan_directory_moved(struct scanner *s, const struct file_key *directory)
{
	const struct scan_request r = {
		.key = *directory,
		.deep = true,
		.fd = -1,
	};

	pthread_mutex_lock(&s->lock);
	if (is_deep_locked(s))
		request_locked(s, &r);
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
	s->serving_deep = any && out->deep;
	pthread_mutex_unlock(&s->lock);
	return any;
}

/* ---- serving it ---- */

/* The path of the directory, or of the file's directory. */
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

/* The key of the directory at the path: that of the request, or that of its
 * file's directory.  -ESTALE: the file has moved. */
static int directory_key(struct scanner *s, const struct scan_request *r,
			 int fd, const struct stat *st, const char *path,
			 struct file_key *out)
{
	const struct source *source = s->context.source;
	struct stat above;
	char *again = NULL;
	int dir_fd, err;

	if (S_ISDIR(st->st_mode)) {
		*out = r->key;
		return 0;
	}
	dir_fd = file_open_beneath(source->fd, path, O_PATH);
	if (dir_fd < 0)
		return dir_fd;
	err = fstat(dir_fd, &above) ? -errno : 0;
	if (!err)
		source_get_key(source, dir_fd, &above, out);
	close(dir_fd);
	if (!err)
		err = directory_path(source, r, fd, st, &again);
	if (!err && strcmp(path, again) != 0)
		err = -ESTALE;
	free(again);
	return err;
}

static int serve_found(struct scanner *s, const struct scan_request *r, int fd,
		       const struct stat *st)
{
	const struct source *source = s->context.source;
	struct scan_request directory = { .tries = r->tries, .fd = -1 };
	char *path = NULL;
	int err = directory_path(source, r, fd, st, &path);

	if (err || source_is_excluded(source, path))
		goto out;
	err = directory_key(s, r, fd, st, path, &directory.key);
	if (err)
		goto out;
	scan_report_path(s, fd, &r->key);
	directory.deep = r->deep && S_ISDIR(st->st_mode);
	err = scan_retry_later(s, path, &directory);
out:
	free(path);
	return err;
}

static int look_up_once(struct scanner *s, const struct scan_request *r)
{
	struct source_found found;
	struct stat st;
	int err;

	if (r->fd >= 0)
		return fstat(r->fd, &st) ? -errno :
					   serve_found(s, r, r->fd, &st);
	err = source_find(s->context.source, s->context.catalog, &r->key,
			  SOURCE_FILE_OR_DIRECTORY, &found);
	if (err)
		return err;
	err = serve_found(s, r, found.fd, &found.st);
	close(found.fd);
	return err;
}

static bool is_elsewhere(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -ESTALE ||
	       err == -ELOOP;
}

static bool has_record(struct scanner *s, const struct file_key *key)
{
	struct file_record record;
	struct catalog_txn *txn;
	int err;

	if (catalog_read(s->context.catalog, &txn))
		return true;
	err = catalog_file_get(txn, key, &record);
	catalog_abort(txn);
	return err != -ENOENT;
}

/* Looks up once more after all posted events are committed: the catalog has the
 * new path of a directory that moved then. */
static int look_up_settled(struct scanner *s, const struct scan_request *r)
{
	const struct scan_context *c = &s->context;
	int err = look_up_once(s, r);

	if (!is_elsewhere(err) || r->fd >= 0 || events_settle(c->events))
		return err;
	return look_up_once(s, r);
}

static bool is_gone(struct scanner *s, const struct scan_request *r)
{
	return r->fd >= 0 ? is_removed(r->fd) : !has_record(s, &r->key);
}

/* The number of tries is limited: a directory that a mount point hides is in
 * the catalog and can never be reached. */
void scan_serve_request(struct scanner *s, struct scan_request *r)
{
	int err = r->tries < EARLY_TRIES ? look_up_settled(s, r) : -EAGAIN;

	if (is_elsewhere(err) && is_gone(s, r))
		err = 0;
	if (is_elsewhere(err) && !scan_retry_later(s, NULL, r))
		return;
	if (err)
		scan_request_tree(s);
	request_close(r);
}

void scan_serve_requests(struct scanner *s)
{
	struct scan_request r;

	while (!scan_is_stopping(s) && request_take(s, &r))
		scan_serve_request(s, &r);
}

void scan_drop_requests(struct scanner *s)
{
	while (s->request_count)
		request_close(&s->requests[--s->request_count]);
}
