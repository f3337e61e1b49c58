/* SPDX-License-Identifier: Apache-2.0 */
#include "core/watch/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/base/xxh3.h"
#include "core/watch/watch_impl.h"

#define CHANGES                                                    \
	(FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO | \
	 FAN_MODIFY | FAN_ATTRIB | FAN_CLOSE_WRITE | FAN_ONDIR)

/* ---- filesystems ---- */

/*
 * Filesystems that are changed by this kernel alone, which reports the changes.
 * Others are changed elsewhere: network filesystems (NFS, SMB, 9p, Ceph, AFS)
 * and cluster filesystems (GFS2, OCFS2) by other machines, FUSE by its daemon,
 * overlayfs by changes to its layers.
 */
static const uint32_t local_types[] = {
	0xef53,     /* ext2, ext3, ext4 */
	0x58465342, /* XFS */
	0x9123683e, /* btrfs */
	0x01021994, /* tmpfs */
	0xf2f52010, /* F2FS */
	0xca451a4e, /* bcachefs */
	0x2fc12fc1, /* ZFS */
	0x3153464a, /* JFS */
	0x3434,     /* NILFS2 */
};

bool watch_is_local_type(uint64_t type)
{
	size_t i;

	for (i = 0; i < sizeof(local_types) / sizeof(local_types[0]); i++)
		if ((uint32_t)type == local_types[i])
			return true;
	return false;
}

static int mark_filesystem(const struct watch *w, int fd)
{
	const unsigned how = FAN_MARK_ADD | FAN_MARK_FILESYSTEM;

	if (fanotify_mark(w->changes, how, CHANGES, fd, ".") ||
	    fanotify_mark(w->opens, how, FAN_OPEN, fd, "."))
		return -errno;
	return 0;
}

/* Takes fd, a directory on the filesystem, on success. */
static int add_locked(struct watch *w, int fd, const struct statfs *fs)
{
	size_t i;
	int err;

	for (i = 0; i < w->filesystem_count; i++)
		if (!memcmp(&w->filesystems[i].id, &fs->f_fsid,
			    sizeof(fs->f_fsid))) {
			close(fd);
			return 0;
		}
	if (w->filesystem_count == WATCH_FILESYSTEMS_MAX)
		return -ENOSPC;
	err = mark_filesystem(w, fd);
	if (err)
		return err;
	w->filesystems[w->filesystem_count++] =
		(struct watch_filesystem){ .id = fs->f_fsid, .fd = fd };
	return 0;
}

static int add_directory(struct watch *w, int fd)
{
	static const fsid_t none;
	struct statfs fs;
	uint64_t id;
	int err;

	if (fstatfs(fd, &fs))
		return -errno;
	if (!watch_is_local_type((uint64_t)fs.f_type) ||
	    !memcmp(&fs.f_fsid, &none, sizeof(none)))
		return -ENOTSUP;
	err = watch_get_id(fd, &id);
	if (err)
		return err;
	pthread_mutex_lock(&w->filesystem_lock);
	err = add_locked(w, fd, &fs);
	pthread_mutex_unlock(&w->filesystem_lock);
	return err;
}

int watch_add(struct watch *w, int fd)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = own < 0 ? -errno : add_directory(w, own);

	if (err && own >= 0)
		close(own);
	return err;
}

/* ---- ids ---- */

uint64_t watch_id_of(const struct file_handle *h)
{
	return XXH3_64bits_withSeed(h->f_handle, h->handle_bytes,
				    (uint64_t)h->handle_type) |
	       1;
}

int watch_get_id(int fd, uint64_t *id_out)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h = { .handle.handle_bytes = MAX_HANDLE_SZ };
	int mount_id;

	if (name_to_handle_at(fd, "", &h.handle, &mount_id, AT_EMPTY_PATH))
		return errno == EOPNOTSUPP ? -ENOTSUP : -errno;
	*id_out = watch_id_of(&h.handle);
	return 0;
}

/* ---- foreign directories ---- */

static size_t slot_of(uint64_t id)
{
	return (id >> 1) % FOREIGN_SLOTS;
}

bool watch_is_foreign(const struct watch *w, uint64_t id)
{
	return atomic_load_explicit(&w->foreign[slot_of(id)],
				    memory_order_relaxed) == id;
}

unsigned watch_get_moves(struct watch *w)
{
	unsigned moves;

	pthread_mutex_lock(&w->lock);
	moves = w->moves;
	pthread_mutex_unlock(&w->lock);
	return moves;
}

void watch_add_foreign(struct watch *w, uint64_t id, unsigned moves)
{
	pthread_mutex_lock(&w->lock);
	if (w->moves == moves)
		atomic_store(&w->foreign[slot_of(id)], id);
	pthread_mutex_unlock(&w->lock);
}

void watch_directory_moved(struct watch *w)
{
	size_t i;

	pthread_mutex_lock(&w->lock);
	w->moves++;
	for (i = 0; i < FOREIGN_SLOTS; i++)
		atomic_store_explicit(&w->foreign[i], 0, memory_order_relaxed);
	pthread_mutex_unlock(&w->lock);
}

/* ---- life ---- */

static int open_group(unsigned report)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_NONBLOCK | FAN_CLOEXEC |
				       report,
			       O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	/* -EINVAL: an old kernel does not know the flags. */
	return errno == EINVAL || errno == ENOSYS ? -ENOTSUP : -errno;
}

static int open_groups(struct watch *w)
{
	w->changes = open_group(FAN_REPORT_DFID_NAME_TARGET);
	if (w->changes < 0)
		return w->changes;
	w->opens = open_group(FAN_REPORT_FID);
	if (w->opens < 0)
		return w->opens;
	w->wake = eventfd(0, EFD_CLOEXEC);
	return w->wake < 0 ? -errno : 0;
}

int watch_open(int source_fd, struct watch **out)
{
	struct watch *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->changes = w->opens = w->wake = -1;
	w->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	w->own = getpid();
	pending_init(&w->pending);
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->filesystem_lock, NULL);
	err = cond_init_monotonic(&w->work);
	if (!err)
		err = open_groups(w);
	if (!err)
		err = watch_add(w, source_fd);
	if (err)
		watch_free(w);
	else
		*out = w;
	return err;
}

int watch_start(struct watch *w, const struct watch_context *context)
{
	int err;

	w->own = getpid(); /* the process may have forked since watch_open() */
	w->context = *context;
	w->idle_ms = clock_now_ms();
	err = -pthread_create(&w->reader, NULL, watch_read_events, w);
	w->reading = !err;
	return err;
}

void watch_stop(struct watch *w)
{
	const uint64_t one = 1;
	bool started;

	pthread_mutex_lock(&w->lock);
	w->stopped = true;
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
	(void)!write(w->wake, &one, sizeof(one));
	if (w->reading)
		pthread_join(w->reader, NULL);
	/* Only the reader starts one. */
	pthread_mutex_lock(&w->lock);
	started = w->resolving != RESOLVER_NONE;
	pthread_mutex_unlock(&w->lock);
	if (started)
		pthread_join(w->resolver, NULL);
	w->reading = false;
	w->resolving = RESOLVER_NONE;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

void watch_free(struct watch *w)
{
	size_t i;

	if (!w)
		return;
	watch_stop(w);
	for (i = 0; i < w->filesystem_count; i++)
		close(w->filesystems[i].fd);
	close_if_open(w->changes);
	close_if_open(w->opens);
	close_if_open(w->mounts);
	close_if_open(w->wake);
	pending_release(&w->pending);
	pthread_cond_destroy(&w->work);
	pthread_mutex_destroy(&w->filesystem_lock);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* ---- state ---- */

bool watch_is_late(const struct watch *w)
{
	return atomic_load(&w->late);
}

bool watch_is_idle(struct watch *w)
{
	struct pollfd changes = { .fd = w->changes, .events = POLLIN };
	bool idle;

	/* In this order: the reader sets busy before it reads. */
	if (poll(&changes, 1, 0) > 0 || atomic_load(&w->busy))
		return false;
	pthread_mutex_lock(&w->lock);
	/* Files in the list late do not count: they are being written to. */
	idle = TAILQ_EMPTY(&w->pending.soon) && !w->resolves;
	pthread_mutex_unlock(&w->lock);
	return idle;
}

void watch_get_counts(const struct watch *w, struct watch_counts *out)
{
	out->events = atomic_load(&w->events);
	out->lost = atomic_load(&w->lost);
}
