/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/scan.h"

#include <unistd.h>

#include "core/engine/engine_impl.h"

/* Files the host came across. */

static bool take_seen(struct scan *s, struct seen *out, size_t *left_out)
{
	bool any;

	pthread_mutex_lock(&s->lock);
	any = s->seen_count > 0;
	s->looking = any;
	if (any) {
		*out = s->seen[s->seen_first];
		s->seen_first = (s->seen_first + 1) % SEEN_MAX;
		*left_out = --s->seen_count;
	}
	pthread_mutex_unlock(&s->lock);
	return any;
}

static bool is_recorded(struct engine *e, const struct file_key *key,
			const struct file_identity *identity)
{
	struct catalog_txn *txn;
	struct file_record rec;
	bool recorded;

	if (catalog_read(e->catalog, &txn))
		return true;
	recorded = !catalog_file_get(txn, key, &rec) &&
		   rec.state != FILE_DIRECTORY &&
		   file_identity_equal(&rec.identity, identity);
	catalog_abort(txn);
	return recorded;
}

static void look_at(struct engine *e, const struct seen *seen)
{
	const struct engine_host *host = &e->options.host;
	struct file_identity now;
	struct file_key key;
	struct stat st;
	int fd;

	if (!host->open_known)
		return;
	fd = host->open_known(host->ctx, seen->device, seen->inode);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		engine_file_key(e, fd, &st, &key);
		engine_file_identity(&st, &now);
		if (!is_recorded(e, &key, &now))
			(void)queue_push(&e->queue, &key, JOB_CLOSED, &now);
	}
	close(fd);
}

void scan_look_at_seen(struct engine *e)
{
	struct scan *s = &e->scan;
	struct seen seen;
	size_t left;

	while (!atomic_load(&e->stopping) && take_seen(s, &seen, &left)) {
		look_at(e, &seen);
		if (left < SEEN_MAX / 2)
			(void)pace_rest(e, NULL, &s->since_ns);
	}
}

void scan_saw(struct engine *e, const struct stat *st)
{
	struct scan *s = &e->scan;
	struct seen *slot;

	pthread_mutex_lock(&s->lock);
	if (s->seen_count < SEEN_MAX && !s->stopped) {
		slot = &s->seen[(s->seen_first + s->seen_count++) % SEEN_MAX];
		slot->device = st->st_dev;
		slot->inode = st->st_ino;
		if (s->seen_count == 1)
			pthread_cond_signal(&s->work);
	}
	pthread_mutex_unlock(&s->lock);
}
