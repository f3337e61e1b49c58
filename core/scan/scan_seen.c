/* SPDX-License-Identifier: Apache-2.0 */
#include "core/scan/scan.h"

#include <unistd.h>

#include "core/engine/engine_impl.h"
#include "core/source/file.h"
#include "core/source/source.h"

/*
 * Files the host came across: nearly all of them are known, and nothing but the
 * catalog is asked for these.
 */
enum { TOGETHER = 32 }; /* before the next rest */

static bool are_many(struct scan *s)
{
	bool many;

	pthread_mutex_lock(&s->lock);
	many = s->seen_count > SEEN_MAX / 2;
	pthread_mutex_unlock(&s->lock);
	return many;
}

static size_t take_seen(struct scan *s, struct seen *out)
{
	size_t count = 0;

	pthread_mutex_lock(&s->lock);
	while (count < TOGETHER && s->seen_count) {
		out[count++] = s->seen[s->seen_first];
		s->seen_first = (s->seen_first + 1) % SEEN_MAX;
		s->seen_count--;
	}
	s->looking = count > 0;
	pthread_mutex_unlock(&s->lock);
	return count;
}

/* Leaves those that the catalog does not have as they are. */
static size_t drop_recorded(struct engine *e, struct seen *seen, size_t count)
{
	struct catalog_txn *txn;
	size_t kept = 0;

	if (catalog_read(e->catalog, &txn))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (catalog_file_is_recorded(
			    txn, source_get_device(&e->source, seen[i].device),
			    seen[i].inode, &seen[i].identity) != 1)
			seen[kept++] = seen[i];
	catalog_abort(txn);
	return kept;
}

static void seen_set(struct seen *out, const struct stat *st)
{
	out->device = st->st_dev;
	out->inode = st->st_ino;
	source_get_identity(st, &out->identity);
}

/* It may have changed once more, and be known as it is now. */
static void look_at(struct engine *e, const struct seen *seen)
{
	const struct engine_host *host = &e->options.host;
	struct file_key key;
	struct seen now;
	struct stat st;
	int fd;

	if (!host->open_known)
		return;
	fd = host->open_known(host->ctx, seen->device, seen->inode);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		seen_set(&now, &st);
		if (drop_recorded(e, &now, 1)) {
			source_get_key(&e->source, fd, &st, &key);
			engine_file_closed(e, &key, &now.identity);
		}
	}
	close(fd);
}

void scan_look_at_seen(struct engine *e)
{
	struct scan *s = &e->scan;
	struct seen seen[TOGETHER];
	size_t count;

	while (!atomic_load(&e->stopping) && (count = take_seen(s, seen)) > 0) {
		count = drop_recorded(e, seen, count);
		for (size_t i = 0; i < count; i++)
			look_at(e, &seen[i]);
		if (!are_many(s))
			(void)throttle_wait(e, NULL, &s->since_ns);
	}
}

bool scan_saw(struct engine *e, const struct stat *st)
{
	struct scan *s = &e->scan;
	bool room;
	size_t end;

	pthread_mutex_lock(&s->lock);
	room = s->seen_count < SEEN_MAX && !s->stopped;
	if (room) {
		end = (s->seen_first + s->seen_count++) % SEEN_MAX;
		seen_set(&s->seen[end], st);
		if (s->seen_count == 1)
			pthread_cond_signal(&s->work);
	}
	pthread_mutex_unlock(&s->lock);
	return room;
}
