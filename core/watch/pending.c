/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/watch/watch_impl.h"

void pending_init(struct pending_set *s)
{
	memset(s->buckets, 0, sizeof(s->buckets));
	TAILQ_INIT(&s->soon);
	TAILQ_INIT(&s->late);
	s->count = 0;
}

static struct pending_file **bucket_of(struct pending_set *s, uint64_t id)
{
	return &s->buckets[(id >> 1) % PENDING_BUCKETS];
}

static struct pending_file *find_pending(struct pending_set *s, uint64_t id)
{
	struct pending_file *p = *bucket_of(s, id);

	while (p && p->id != id)
		p = p->next;
	return p;
}

static struct pending_list *list_of(struct pending_set *s,
				    const struct pending_file *p)
{
	return p->late ? &s->late : &s->soon;
}

static void copy_handle(struct watch_handle *to, const struct file_handle *from)
{
	if (from->handle_bytes > sizeof(to->data))
		return;
	to->bytes = from->handle_bytes;
	to->type = from->handle_type;
	memcpy(to->data, from->f_handle, from->handle_bytes);
}

static struct pending_file *pending_new(struct pending_set *s,
					const struct pending_news *news)
{
	struct pending_file *p = calloc(1, sizeof(*p));
	struct pending_file **bucket = bucket_of(s, news->id);

	if (!p)
		return NULL;
	p->id = news->id;
	p->directory = news->directory;
	p->filesystem = news->filesystem;
	copy_handle(&p->file, news->file);
	if (news->parent)
		copy_handle(&p->parent, news->parent);
	p->next = *bucket;
	*bucket = p;
	s->count++;
	return p;
}

static void append_pending(struct pending_set *s, struct pending_file *p,
			   bool late, int64_t now_ms)
{
	p->late = late;
	p->due_ms = now_ms + (late ? SETTLE_WRITTEN_MS : SETTLE_MS);
	TAILQ_INSERT_TAIL(list_of(s, p), p, order);
}

/* A file in the list soon keeps its time; one in the list late gets a new
 * one. */
int pending_add(struct pending_set *s, const struct pending_news *news,
		int64_t now_ms)
{
	struct pending_file *p = find_pending(s, news->id);

	if (p && !p->late)
		return 0;
	if (p) {
		TAILQ_REMOVE(&s->late, p, order);
	} else {
		if (s->count == PENDING_MAX)
			return -ENOSPC;
		p = pending_new(s, news);
		if (!p)
			return -ENOMEM;
	}
	append_pending(s, p, news->written, now_ms);
	return 0;
}

int64_t pending_due_ms(const struct pending_set *s)
{
	const struct pending_file *soon = TAILQ_FIRST(&s->soon);
	const struct pending_file *late = TAILQ_FIRST(&s->late);
	int64_t due_ms = soon ? soon->due_ms : INT64_MAX;

	return late && late->due_ms < due_ms ? late->due_ms : due_ms;
}

static void remove_pending(struct pending_set *s, struct pending_file *p)
{
	struct pending_file **link = bucket_of(s, p->id);

	TAILQ_REMOVE(list_of(s, p), p, order);
	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	s->count--;
}

struct pending_file *pending_take(struct pending_set *s, int64_t now_ms)
{
	struct pending_file *p = TAILQ_FIRST(&s->soon);

	if (!p || p->due_ms > now_ms)
		p = TAILQ_FIRST(&s->late);
	if (!p || p->due_ms > now_ms)
		return NULL;
	remove_pending(s, p);
	return p;
}

void pending_release(struct pending_set *s)
{
	struct pending_file *p, *next;

	TAILQ_CONCAT(&s->soon, &s->late, order);
	for (p = TAILQ_FIRST(&s->soon); p; p = next) {
		next = TAILQ_NEXT(p, order);
		free(p);
	}
	pending_init(s);
}
