/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/scan/scan_impl.h"
#include "core/source/file.h"

/* ---- names ---- */

/* How often a name is read when names in its directory change meanwhile. */
enum { REPORT_TRIES = 16 };

static bool has_path(struct scanner *s, const struct file_key *key)
{
	struct catalog_walk *walk = NULL;
	struct catalog_txn *txn;
	const char *path;
	int found;

	if (catalog_read(s->context.catalog, &txn))
		return true; /* nothing can be reported now */
	found = catalog_paths_begin(txn, &s->context.source->root, key, &walk);
	if (!found)
		found = catalog_paths_next(walk, &path);
	catalog_walk_end(walk);
	catalog_abort(txn);
	return found == 1;
}

/* -ESTALE: names in the directory changed meanwhile. */
static int try_report_name(struct scanner *s, int dir_fd, const char *name,
			   const struct file_key *dir, struct file_key *key_out)
{
	struct event_list *events = s->context.events;
	unsigned version = events_names_version(events, dir);
	int fd = file_open_beneath(dir_fd, name, O_PATH), err;
	struct event *ev;
	struct stat st;

	if (fd < 0)
		return err_is_lack(fd) ? fd : -ENOENT;
	if (fstat(fd, &st) || !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))) {
		close(fd);
		return -ENOENT;
	}
	source_get_key(s->context.source, fd, &st, key_out);
	ev = event_new_name(EVENT_NAME_ADDED, dir, name);
	if (ev) {
		ev->key = *key_out;
		ev->directory = S_ISDIR(st.st_mode);
		ev->learned = true;
		ev->version = version;
	}
	err = events_post(events, ev);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int scan_report_name(struct scanner *s, int dir_fd, const char *name,
		     struct file_key *key)
{
	struct file_key found;
	int fd = -ESTALE, tries;

	for (tries = 0; fd == -ESTALE && tries < REPORT_TRIES; tries++)
		fd = try_report_name(s, dir_fd, name, key, &found);
	if (fd >= 0)
		*key = found;
	return fd;
}

int scan_report_path(struct scanner *s, int fd, const struct file_key *key)
{
	const struct source *source = s->context.source;
	struct file_key at = source->root;
	int dir_fd = source->fd;
	char *path, *name, *rest = NULL;
	int err;

	if (has_path(s, key))
		return 0;
	err = source_get_path(source, fd, &path);
	if (err)
		return err;
	for (name = strtok_r(path, "/", &rest); name && dir_fd >= 0;
	     name = strtok_r(NULL, "/", &rest)) {
		int next = scan_report_name(s, dir_fd, name, &at);

		if (dir_fd != source->fd)
			close(dir_fd);
		dir_fd = next;
	}
	if (dir_fd >= 0 && dir_fd != source->fd)
		close(dir_fd);
	free(path);
	return dir_fd < 0 ? dir_fd : 0;
}

/* ---- the list ---- */

enum {
	RETRY_MIN_MS = 50, /* doubles with each try */
	RETRY_MAX_MS = 30000,
};

static int64_t pause_ms(unsigned tries, int64_t least, int64_t most)
{
	const int64_t pause = least << (tries < 16 ? tries : 16);

	return pause < most ? pause : most;
}

static void request_free(struct scan_request *r)
{
	if (r && r->fd >= 0)
		close(r->fd);
	free(r);
}

/* Takes the request for that key off the list. */
static struct scan_request *unlink_locked(struct scanner *s,
					  const struct file_key *key)
{
	struct scan_request **at = &s->requests, *found;

	while (*at && !file_key_equal(&(*at)->key, key))
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = found->next;
	return found;
}

static bool has_room_locked(const struct scanner *s,
			    const struct scan_request *new)
{
	size_t count = 1, held = new->fd >= 0, deep = new->deep;
	const struct scan_request *r;

	for (r = s->requests; r; r = r->next) {
		count++;
		held += r->fd >= 0;
		deep += r->deep;
	}
	return count <= REQUESTS_MAX && (new->fd < 0 || held <= HELD_MAX) &&
	       (!new->deep || deep <= DEEP_MAX);
}

/* Adds a copy of *from, whose descriptor it takes.  An earlier request becomes
 * the new one, but keeps its descriptor if that has none.  The whole tree is
 * walked if that cannot be. */
static void add_locked(struct scanner *s, const struct scan_request *from)
{
	struct scan_request *r = unlink_locked(s, &from->key),
			    **at = &s->requests, new = *from;

	new.due_ms =
		clock_now_ms() +
		(new.lacks ? pause_ms(new.tries, LACK_MIN_MS, LACK_MAX_MS) :
			     pause_ms(new.tries, RETRY_MIN_MS, RETRY_MAX_MS));
	if (r) {
		new.deep |= r->deep;
		if (r->due_ms < new.due_ms)
			new.due_ms = r->due_ms;
		if (new.fd < 0) {
			new.fd = r->fd;
			r->fd = -1;
		}
		request_free(r);
	}
	r = malloc(sizeof(*r));
	if (r)
		*r = new;
	pthread_cond_signal(&s->work);
	if (!r || !has_room_locked(s, &new)) {
		s->wanted = true;
		if (new.fd >= 0)
			close(new.fd);
		free(r);
		return;
	}
	while (*at && (*at)->due_ms <= r->due_ms)
		at = &(*at)->next;
	r->next = *at;
	*at = r;
}

void scan_add_request(struct scanner *s, const struct scan_request *r)
{
	pthread_mutex_lock(&s->lock);
	add_locked(s, r);
	pthread_mutex_unlock(&s->lock);
}

void scan_request(struct scanner *s, const struct file_key *key, bool deep)
{
	const struct scan_request r = { .key = *key, .deep = deep, .fd = -1 };

	scan_add_request(s, &r);
}

void scan_request_directory(struct scanner *s, const struct file_key *key,
			    int fd)
{
	const struct scan_request r = {
		.key = *key,
		.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
	};

	scan_add_request(s, &r);
}

static bool is_removed(const struct scanner *s, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && source_is_removed(s->context.source, fd, &st);
}

/* The request keeps a descriptor, because the host may close the file before
 * the request is served. */
void scan_request_unknown(struct scanner *s, const struct file_key *key)
{
	const struct source *source = s->context.source;
	int fd = -ENOENT;

	if (source->open_known && source_is_own(source, key))
		fd = source->open_known(source->ctx, source->device,
					key->inode);
	if (fd >= 0 && is_removed(s, fd))
		close(fd);
	else if (fd != -ENOENT && fd != -ESTALE)
		scan_add_request(
			s, &(struct scan_request){ .key = *key,
						   .fd = fd < 0 ? -1 : fd });
}

/* Whether a walk or a deep request is running or waits. */
static bool is_deep_locked(const struct scanner *s)
{
	const struct scan_request *r = s->requests;

	while (r && !r->deep)
		r = r->next;
	return r || atomic_load(&s->running) ||
	       (s->serving && s->serving->deep);
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
		add_locked(s, &r);
	pthread_mutex_unlock(&s->lock);
}

void scan_defer_requests(struct scanner *s, bool on)
{
	pthread_mutex_lock(&s->lock);
	s->deferred = on;
	if (!on && s->requests)
		pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
}

int64_t scan_next_request_ms(const struct scanner *s)
{
	return s->requests && !s->deferred ? s->requests->due_ms : INT64_MAX;
}

bool scan_has_early_requests(const struct scanner *s)
{
	const struct scan_request *r = s->serving ? s->serving : s->requests;

	while (r && (r->tries >= EARLY_TRIES || r->lacks))
		r = r == s->serving ? s->requests : r->next;
	return r;
}

size_t scan_count_lacks(struct scanner *s)
{
	const struct scan_request *r;
	size_t count = 0;

	pthread_mutex_lock(&s->lock);
	for (r = s->requests; r; r = r->next)
		count += r->lacks;
	count += s->serving && s->serving->lacks;
	pthread_mutex_unlock(&s->lock);
	return count;
}

/* ---- serving it ---- */

/* Reports the names on the path, and reads a directory again. */
static int serve_found(struct scanner *s, const struct scan_request *r, int fd,
		       const struct stat *st)
{
	const struct source *source = s->context.source;
	char *path = NULL;
	int err;

	if (file_key_equal(&r->key, &source->root)) {
		scan_walk(s, "", &r->key, r->tries + 1, r->deep);
		return 0;
	}
	err = source_get_path(source, fd, &path);
	if (!err && !source_is_excluded(source, path)) {
		err = scan_report_path(s, fd, &r->key);
		if (!err && S_ISDIR(st->st_mode))
			scan_walk(s, path, &r->key, r->tries + 1, r->deep);
	}
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
	source_found_close(&found);
	return err;
}

static bool is_elsewhere(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -ESTALE ||
	       err == -ELOOP;
}

/* Looks up once more after all posted events are committed: the catalog has the
 * new path of a directory that moved then. */
static int look_up_settled(struct scanner *s, const struct scan_request *r)
{
	int err = look_up_once(s, r);

	if (!is_elsewhere(err) || r->fd >= 0 ||
	    events_settle(s->context.events))
		return err;
	return look_up_once(s, r);
}

static bool is_gone(struct scanner *s, const struct scan_request *r)
{
	static const struct file_identity any;

	if (r->fd >= 0)
		return is_removed(s, r->fd);
	return catalog_compare(s->context.catalog, &r->key, &any) ==
	       RECORD_NONE;
}

/* The number of tries is limited: a directory that a mount point hides is in
 * the catalog and can never be reached. */
static void look_up(struct scanner *s, struct scan_request *r)
{
	struct scan_request again = *r;
	int err = look_up_settled(s, r);

	if (!err || (is_elsewhere(err) && is_gone(s, r)))
		return;
	again.lacks = err_is_lack(err);
	if (again.lacks ||
	    (is_elsewhere(err) && again.tries + 1 < EARLY_TRIES)) {
		again.tries++;
		scan_add_request(s, &again);
		r->fd = -1; /* taken */
	} else {
		scan_request_tree(s);
	}
}

void scan_serve_request(struct scanner *s)
{
	struct scan_request *r;

	pthread_mutex_lock(&s->lock);
	r = s->deferred ? NULL : s->requests;
	if (r)
		s->requests = r->next;
	s->serving = r;
	pthread_mutex_unlock(&s->lock);
	if (r)
		look_up(s, r);
	pthread_mutex_lock(&s->lock);
	s->serving = NULL;
	pthread_mutex_unlock(&s->lock);
	request_free(r);
}

/* ---- what is tried again after a lack ---- */

void scan_note_lack(struct scanner *s, const char *path, int error)
{
	bool logs = false;

	pthread_mutex_lock(&s->lock);
	if (s->again_ms == INT64_MAX) {
		logs = !s->again_tries;
		s->again_ms =
			clock_now_ms() +
			pause_ms(s->again_tries++, LACK_MIN_MS, LACK_MAX_MS);
	}
	pthread_mutex_unlock(&s->lock);
	if (logs)
		logger_print(s->context.log,
			     "%s/%s: %s; what cannot be looked at for that is "
			     "tried again until it can",
			     s->context.source->path, path, err_text(error));
}

/* Appends the keys of the directories. */
static int find_lacks(struct scanner *s, struct buf *out)
{
	struct file_key key, last = { 0 };
	struct catalog_walk *walk = NULL;
	struct catalog_txn *txn;
	int error, err = catalog_read(s->context.catalog, &txn);

	if (err)
		return err;
	err = catalog_unread_begin(txn, &walk);
	while (!err && (err = catalog_unread_next(walk, &key, &error)) == 1) {
		err = 0;
		if (!err_is_lack(error) || file_key_equal(&key, &last))
			continue;
		last = key;
		err = buf_append(out, &key, sizeof(key));
	}
	catalog_walk_end(walk);
	catalog_abort(txn);
	return err;
}

void scan_try_again(struct scanner *s)
{
	struct scan_request r = { .deep = true, .fd = -1 };
	struct buf keys = { 0 };
	size_t at;
	int err = events_settle(s->context.events);

	if (!err)
		err = find_lacks(s, &keys);
	pthread_mutex_lock(&s->lock);
	s->again_ms = INT64_MAX;
	s->serving = &r;
	pthread_mutex_unlock(&s->lock);
	if (err)
		scan_note_lack(s, "", err);
	for (at = 0; at < keys.len && !scan_is_stopping(s);
	     at += sizeof(r.key)) {
		memcpy(&r.key, keys.data + at, sizeof(r.key));
		err = look_up_settled(s, &r);
		if (err_is_lack(err))
			scan_note_lack(s, "", err);
		else if (err) /* it has moved, or is gone */
			scan_add_request(s, &r);
	}
	buf_release(&keys);
	pthread_mutex_lock(&s->lock);
	s->serving = NULL;
	if (s->again_ms == INT64_MAX)
		s->again_tries = 0;
	pthread_mutex_unlock(&s->lock);
}

void scan_drop_requests(struct scanner *s)
{
	struct scan_request *r;

	while ((r = s->requests)) {
		s->requests = r->next;
		request_free(r);
	}
}
