/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/watch/watch_impl.h"

#define NAMES (FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO)

enum { BUFFER_BYTES = 65536 };

/* The parts of an event; they point into the read buffer. */
struct found_event {
	uint64_t mask;
	fsid_t filesystem;
	const struct file_handle *directory, *file; /* each may be NULL */
	const char *name;                           /* or NULL */
};

/* ---- reading the records ---- */

/* The name behind a handle; NULL: there is none. */
static const char *name_after(const struct file_handle *h, const char *end)
{
	const char *name = (const char *)h->f_handle + h->handle_bytes;

	return name < end && memchr(name, '\0', (size_t)(end - name)) ? name :
									NULL;
}

static void note_record(struct found_event *e,
			const struct fanotify_event_info_header *header)
{
	const struct fanotify_event_info_fid *fid = (const void *)header;
	const struct file_handle *h = (const void *)fid->handle;
	const char *end = (const char *)header + header->len;
	const char *name = header->info_type == FAN_EVENT_INFO_TYPE_DFID_NAME ?
				   name_after(h, end) :
				   NULL;

	memcpy(&e->filesystem, &fid->fsid, sizeof(e->filesystem));
	/* "." is the name in an event of a directory about itself. */
	if (header->info_type == FAN_EVENT_INFO_TYPE_FID ||
	    (name && !strcmp(name, "."))) {
		e->file = h;
	} else if (name || header->info_type == FAN_EVENT_INFO_TYPE_DFID) {
		e->directory = h;
		e->name = name;
	}
}

/* m is a copy of the event's header, start is the event in the buffer. */
static void find_records(const struct fanotify_event_metadata *m,
			 const char *start, struct found_event *out)
{
	const char *at = start + m->metadata_len;
	const char *end = start + m->event_len;

	*out = (struct found_event){ .mask = m->mask };
	while (at + sizeof(struct fanotify_event_info_header) <= end) {
		const struct fanotify_event_info_header *header =
			(const void *)at;

		if (!header->len)
			return;
		note_record(out, header);
		at += header->len;
	}
}

static unsigned what_of(uint64_t mask)
{
	return (mask & NAMES ? WATCH_NAME : 0u) |
	       (mask & FAN_ATTRIB ? WATCH_ATTRIBUTES : 0u) |
	       (mask & FAN_MODIFY ? WATCH_WRITTEN : 0u) |
	       (mask & FAN_CLOSE_WRITE ? WATCH_CLOSED : 0u) |
	       (mask & FAN_OPEN ? WATCH_OPENED : 0u);
}

/* ---- handing over to the resolver ---- */

/* With the lock.  One that has ended does not need it any more. */
static int start_resolver(struct watch *w)
{
	int err;

	if (w->resolving == RESOLVER_RUNS)
		return 0;
	if (w->resolving == RESOLVER_ENDED)
		pthread_join(w->resolver, NULL);
	err = -pthread_create(&w->resolver, NULL, watch_resolve, w);
	w->resolving = err ? RESOLVER_NONE : RESOLVER_RUNS;
	return err;
}

static void add_pending(struct watch *w, const struct pending_news *news)
{
	int64_t due_ms;
	int err;

	pthread_mutex_lock(&w->lock);
	due_ms = pending_due_ms(&w->pending);
	err = pending_add(&w->pending, news, clock_now_ms());
	if (!err)
		err = start_resolver(w);
	if (err)
		pending_release(&w->pending);
	else if (pending_due_ms(&w->pending) < due_ms)
		pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
	if (err)
		w->context.overrun(w->context.ctx);
}

static void add_directory(struct watch *w, const struct found_event *e,
			  const struct watch_event *event)
{
	const struct pending_news news = {
		.id = event->directory,
		.directory = true,
		.filesystem = e->filesystem,
		.file = e->directory,
	};

	add_pending(w, &news);
}

static void add_file(struct watch *w, const struct found_event *e,
		     const struct watch_event *event)
{
	const struct pending_news news = {
		.id = event->file,
		.written = !(event->what & (WATCH_CLOSED | WATCH_ATTRIBUTES)),
		.filesystem = e->filesystem,
		.file = e->file,
		.parent = e->directory,
	};

	add_pending(w, &news);
}

/* For a change of a name the directory is resolved, not the file. */
static void resolve_later(struct watch *w, const struct found_event *e,
			  const struct watch_event *event)
{
	const unsigned changed =
		WATCH_ATTRIBUTES | WATCH_WRITTEN | WATCH_CLOSED;

	if (event->directory && watch_is_foreign(w, event->directory))
		return;
	if (event->directory && event->what & WATCH_NAME)
		add_directory(w, e, event);
	if (event->file && !(e->mask & FAN_ONDIR) && event->what & changed)
		add_file(w, e, event);
}

/* ---- events ---- */

static void report_lost(struct watch *w)
{
	pthread_mutex_lock(&w->lock);
	pending_release(&w->pending);
	pthread_mutex_unlock(&w->lock);
	atomic_fetch_add(&w->lost, 1);
	w->context.lost(w->context.ctx);
}

static void handle_event(struct watch *w,
			 const struct fanotify_event_metadata *m,
			 const char *start)
{
	struct watch_event event;
	struct found_event e;

	if (m->mask & FAN_Q_OVERFLOW) {
		report_lost(w);
		return;
	}
	if (m->pid == w->own) {
		w->own_opens = w->own_opens || m->mask & FAN_OPEN;
		return;
	}
	atomic_fetch_add_explicit(&w->events, 1, memory_order_relaxed);
	find_records(m, start, &e);
	event = (struct watch_event){
		.what = what_of(m->mask),
		.directory = e.directory ? watch_id_of(e.directory) : 0,
		.name = e.name,
		.file = e.file ? watch_id_of(e.file) : 0,
	};
	if (m->mask & FAN_ONDIR && m->mask & FAN_MOVED_TO)
		watch_directory_moved(w);
	if (w->context.event(w->context.ctx, &event))
		resolve_later(w, &e, &event);
}

/* Events are aligned to 4 bytes in the buffer; their header needs 8, so it is
 * copied. */
void watch_handle_events(struct watch *w, const void *buf, size_t len)
{
	struct fanotify_event_metadata m;
	const char *at = buf, *end = at + len;

	for (; (size_t)(end - at) >= sizeof(m); at += m.event_len) {
		memcpy(&m, at, sizeof(m));
		if (m.event_len < sizeof(m) || m.event_len > (size_t)(end - at))
			return;
		if (m.vers == FANOTIFY_METADATA_VERSION)
			handle_event(w, &m, at);
	}
}

/* Whether there was anything to read. */
static bool read_group(struct watch *w, int fd)
{
	_Alignas(struct fanotify_event_metadata) char buf[BUFFER_BYTES];
	ssize_t len = read(fd, buf, sizeof(buf));

	if (len <= 0)
		return false;
	watch_handle_events(w, buf, (size_t)len);
	return true;
}

static void set_idle(struct watch *w)
{
	w->idle_ms = clock_now_ms();
	atomic_store(&w->late, false);
	atomic_store(&w->busy, false);
}

static void read_all(struct watch *w)
{
	bool any;

	atomic_store(&w->busy, true);
	do {
		any = read_group(w, w->changes);
		any = read_group(w, w->opens) || any;
		if (any && clock_now_ms() - w->idle_ms > LATE_MS)
			atomic_store(&w->late, true);
	} while (any);
	set_idle(w);
}

void *watch_read_events(void *watch)
{
	struct watch *w = watch;
	struct pollfd fds[] = {
		{ .fd = w->wake, .events = POLLIN },
		{ .fd = w->changes, .events = POLLIN },
		{ .fd = w->opens, .events = POLLIN },
		{ .fd = w->mounts, .events = POLLPRI },
	};

	thread_set_name("kinfs-watch");
	for (;;) {
		/* poll() ignores a negative descriptor. */
		fds[2].fd = w->own_opens ? -1 : w->opens;
		if (poll(fds, sizeof(fds) / sizeof(fds[0]),
			 w->own_opens ? OPENS_MS : -1) < 0 &&
		    errno != EINTR)
			return NULL;
		if (fds[0].revents)
			return NULL;
		if (fds[3].revents & (POLLPRI | POLLERR))
			w->context.mounts_changed(w->context.ctx);
		w->idle_ms = clock_now_ms();
		w->own_opens = false;
		read_all(w);
		/* A read of several events is cheaper than several reads. */
		(void)poll(fds, 1, REST_MS);
	}
}
