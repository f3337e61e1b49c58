/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/watch/watch_impl.h"

/* ---- opening ---- */

/* A directory on that filesystem; borrowed.  When only one filesystem is
 * watched, its directory serves for every id: subvolumes of btrfs have ids of
 * their own, and handles that are valid in all of them. */
static int filesystem_fd(struct watch *w, const fsid_t *id)
{
	size_t i;
	int fd;

	pthread_mutex_lock(&w->filesystem_lock);
	fd = w->filesystem_count == 1 ? w->filesystems[0].fd : -1;
	for (i = 0; i < w->filesystem_count; i++)
		if (!memcmp(&w->filesystems[i].id, id, sizeof(*id)))
			fd = w->filesystems[i].fd;
	pthread_mutex_unlock(&w->filesystem_lock);
	return fd;
}

union room_for_handle {
	struct file_handle handle;
	char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

static void copy_handle(const struct watch_handle *from,
			union room_for_handle *out)
{
	out->handle.handle_bytes = from->bytes;
	out->handle.handle_type = from->type;
	memcpy(out->handle.f_handle, from->data, from->bytes);
}

/* Returns an O_PATH descriptor, or a negative errno when the file is gone. */
static int open_handle(struct watch *w, const fsid_t *filesystem,
		       const struct watch_handle *h, struct stat *st)
{
	union room_for_handle copy;
	int at = filesystem_fd(w, filesystem), fd;

	if (at < 0 || !h->bytes)
		return -ENOENT;
	copy_handle(h, &copy);
	fd = open_by_handle_at(at, &copy.handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, st))
		return fd;
	close(fd);
	return -ENOENT;
}

/* ---- reporting changes ---- */

static uint64_t id_of(const struct watch_handle *h)
{
	union room_for_handle copy;

	copy_handle(h, &copy);
	return watch_id_of(&copy.handle);
}

static void resolve_directory(struct watch *w, const fsid_t *filesystem,
			      const struct watch_handle *h)
{
	unsigned moves = watch_get_moves(w);
	struct stat st = { 0 };
	int fd = open_handle(w, filesystem, h, &st);

	if (fd < 0)
		return;
	if (S_ISDIR(st.st_mode) &&
	    !w->context.directory_changed(w->context.ctx, fd, &st))
		watch_add_foreign(w, id_of(h), moves);
	close(fd);
}

static void resolve_file(struct watch *w, const struct pending_file *p)
{
	struct stat st = { 0 };
	int fd = open_handle(w, &p->filesystem, &p->file, &st);
	bool known;

	if (fd < 0)
		return;
	known = !S_ISREG(st.st_mode) ||
		w->context.file_changed(w->context.ctx, fd, &st);
	close(fd);
	if (!known && p->parent.bytes)
		resolve_directory(w, &p->filesystem, &p->parent);
}

static void resolve_pending(struct watch *w, const struct pending_file *p)
{
	if (p->directory)
		resolve_directory(w, &p->filesystem, &p->file);
	else
		resolve_file(w, p);
}

/* ---- the thread ---- */

/* Waits until one is due; NULL: the thread ends, as the watch was stopped or
 * there was none for a while. */
static struct pending_file *wait_pending(struct watch *w)
{
	int64_t end_ms = clock_now_ms() + RESOLVER_IDLE_MS;
	struct pending_file *p = NULL;

	pthread_mutex_lock(&w->lock);
	w->resolves = false;
	while (!w->stopped) {
		int64_t due_ms = pending_due_ms(&w->pending);

		p = pending_take(&w->pending, clock_now_ms());
		if (p || (due_ms == INT64_MAX && clock_now_ms() >= end_ms))
			break;
		cond_wait_until(&w->work, &w->lock,
				due_ms == INT64_MAX ? end_ms : due_ms);
	}
	w->resolves = p != NULL;
	if (!p)
		w->resolving = RESOLVER_ENDED;
	pthread_mutex_unlock(&w->lock);
	return p;
}

void *watch_resolve(void *watch)
{
	struct watch *w = watch;
	struct pending_file *p;

	thread_set_name("kinfs-watch-bg");
	thread_enter_background();
	while ((p = wait_pending(w))) {
		resolve_pending(w, p);
		free(p);
	}
	return NULL;
}
