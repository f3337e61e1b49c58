/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "core/scan/scan_impl.h"

/* Files that are compared with the catalog in one transaction.  Nearly all of
 * them have not changed and are not opened. */
enum { SEEN_BATCH = 32 };

/* many_out: more than half of what may wait is left. */
static size_t take_seen(struct scanner *s, struct seen_file *out,
			bool *many_out)
{
	size_t count = 0;

	pthread_mutex_lock(&s->lock);
	while (count < SEEN_BATCH && s->seen_count) {
		out[count++] = s->seen[s->seen_first];
		s->seen_first = (s->seen_first + 1) % SEEN_MAX;
		s->seen_count--;
	}
	s->checking = count > 0;
	*many_out = s->seen_count > SEEN_MAX / 2;
	pthread_mutex_unlock(&s->lock);
	return count;
}

/* Removes the files whose record has the same identity; returns how many are
 * left. */
static size_t drop_recorded(const struct engine_parts *c,
			    struct seen_file *seen, size_t count)
{
	struct catalog_txn *txn;
	size_t i, kept = 0;

	if (catalog_read(c->catalog, &txn))
		return 0;
	for (i = 0; i < count; i++)
		if (catalog_file_is_recorded(
			    txn, source_get_device(c->source, seen[i].device),
			    seen[i].inode, &seen[i].identity) != 1)
			seen[kept++] = seen[i];
	catalog_abort(txn);
	return kept;
}

static void set_seen(struct seen_file *out, const struct stat *st)
{
	out->device = st->st_dev;
	out->inode = st->st_ino;
	source_get_identity(st, &out->identity);
}

/* Reports the file if it still differs from its record: it may have changed
 * again since it was seen. */
static void check_file(const struct engine_parts *c,
		       const struct seen_file *seen)
{
	const struct source *source = c->source;
	struct file_key key;
	struct seen_file now;
	struct stat st;
	int fd;

	if (!source->open_known)
		return;
	fd = source->open_known(source->ctx, seen->device, seen->inode);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		set_seen(&now, &st);
		if (drop_recorded(c, &now, 1)) {
			source_get_key(source, fd, &st, &key);
			hash_file_closed(c->hasher, &key, &now.identity);
		}
	}
	close(fd);
}

void scan_check_seen(struct scanner *s)
{
	const struct engine_parts *c = &s->context;
	struct seen_file seen[SEEN_BATCH];
	size_t i, count;
	bool many;

	while (!scan_is_stopping(s) &&
	       (count = take_seen(s, seen, &many)) > 0) {
		count = drop_recorded(c, seen, count);
		for (i = 0; i < count; i++)
			check_file(c, &seen[i]);
		if (!many)
			gate_pass(&s->gate);
	}
}

bool scan_add_seen(struct scanner *s, const struct stat *st)
{
	bool room;
	size_t end;

	pthread_mutex_lock(&s->lock);
	room = s->seen_count < SEEN_MAX && !s->stopped;
	if (room) {
		end = (s->seen_first + s->seen_count++) % SEEN_MAX;
		set_seen(&s->seen[end], st);
		if (s->seen_count == 1)
			pthread_cond_signal(&s->work);
	}
	pthread_mutex_unlock(&s->lock);
	return room;
}
