/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/source/source.h"

/* Of a batch that other transactions made fail: each waits longer, up to 3 s. */
enum { TRIES = 8 };
enum { STATEMENT_MS = 20000, SWEEP_MS = 600000 };

/* ---- opening ---- */

/* The key of the root, and the path of SOURCE. */
static int find_source(struct session *s)
{
	struct catalog_txn *txn;
	struct buf source = { 0 };
	struct stat st = { 0 };
	int fd = -1, err = catalog_read(s->catalog, &txn);

	if (err)
		return err;
	err = catalog_source(txn, &source);
	catalog_abort(txn);
	if (!err) {
		fd = open(source.data, O_PATH | O_DIRECTORY | O_CLOEXEC);
		err = fd < 0 || fstat(fd, &st) ? -errno : 0;
	}
	if (!err)
		source_make_key(st.st_dev, fd, "", &st, &s->feed.root);
	if (fd >= 0)
		close(fd);
	free(s->source);
	s->source = buf_take(&source);
	return err;
}

static int open_state(struct session *s)
{
	struct buf path = { 0 };
	int err;

	if (s->state)
		return 0;
	err = dirty_register(s->directory);
	if (!err)
		err = buf_append_format(&path, "%s/" CATALOG_SHARE_DIRECTORY,
					s->directory);
	free(s->share_directory);
	s->share_directory = buf_take(&path);
	return err ? err : share_state_open(s->share_directory, &s->state);
}

/* The id of the host, for programs that do not open the state. */
static int sign(struct session *s)
{
	char id[DB_UUID_TEXT + 1];
	struct buf path = { 0 };
	FILE *file = NULL;
	int err = buf_append_format(&path, "%s/host", s->share_directory);

	db_format_uuid(share_state_identity(s->state)->host, id);
	if (!err) {
		file = fopen(path.data, "we");
		err = file ? 0 : -errno;
	}
	if (file && fputs(id, file) == EOF)
		err = -EIO;
	if (file && fclose(file) == EOF)
		err = -EIO;
	buf_release(&path);
	return err;
}

static int read_sign(const struct session *s, char id_out[DB_UUID_TEXT + 1])
{
	struct buf path = { 0 };
	FILE *file = NULL;
	int err = buf_append_format(
		&path, "%s/" CATALOG_SHARE_DIRECTORY "/host", s->directory);

	if (!err)
		file = fopen(path.data, "re");
	if (!file || !fgets(id_out, DB_UUID_TEXT + 1, file))
		err = err ? err : -ENODATA;
	if (file)
		(void)fclose(file);
	buf_release(&path);
	return err;
}

static void count_published(struct session *s)
{
	uint64_t count;

	if (!share_state_count(s->state, &count))
		atomic_store(&s->published, count);
}

static int prepare_feed(struct session *s)
{
	s->feed.catalog = s->catalog;
	s->feed.state = s->state;
	s->feed.rules = s->rules;
	s->feed.source = s->source;
	s->feed.stop = s->stop;
	return feed_init(&s->feed);
}

/* The directory is registered before anything is read: what changes from then
 * on is recorded. */
int session_open(struct session *s)
{
	int err = 0;

	feed_release(&s->feed);
	catalog_free(s->catalog);
	s->catalog = NULL;
	if (access(s->directory, F_OK))
		return -errno;
	err = catalog_follow(s->directory, &s->catalog);
	if (!err)
		err = find_source(s);
	if (!err)
		err = open_state(s);
	if (!err)
		err = sign(s);
	if (!err)
		err = prepare_feed(s);
	if (!err)
		count_published(s);
	return err;
}

int session_peek(struct session *s, char host_out[DB_UUID_TEXT + 1])
{
	int err = catalog_follow(s->directory, &s->catalog);

	if (!err)
		err = find_source(s);
	if (!err)
		err = read_sign(s, host_out);
	return err ? err : prepare_feed(s);
}

void session_close(struct session *s)
{
	feed_release(&s->feed);
	share_state_close(s->state);
	catalog_free(s->catalog);
	free(s->share_directory);
	free(s->source);
	s->state = NULL;
	s->catalog = NULL;
	s->share_directory = NULL;
	s->source = NULL;
}

/* ---- epochs ---- */

static uint64_t new_token(void)
{
	uint64_t token;

	do
		if (getrandom(&token, sizeof(token), 0) != sizeof(token))
			return 0;
	while (!token);
	return token >> 1;
}

static int put_host(struct session *s, struct share_db *db, bool is_known)
{
	const struct share_identity *i = share_state_identity(s->state);
	char host[DB_UUID_TEXT + 1], epoch[24], token[24];
	const char *values[] = { host, epoch, token, s->rules->label };

	db_format_uuid(i->host, host);
	(void)snprintf(epoch, sizeof(epoch), "%" PRIu64, i->epoch);
	(void)snprintf(token, sizeof(token), "%" PRIu64, i->token);
	return db_run(db,
		      is_known ? "UPDATE @kin_host SET epoch = $2::bigint, "
				 "token = $3::bigint, label = $4, seen = now() "
				 "WHERE host = $1::uuid" :
				 "INSERT INTO @kin_host (host, epoch, token, "
				 "label, seen) VALUES ($1::uuid, $2::bigint, "
				 "$3::bigint, $4, now())",
		      4, values, NULL);
}

static int begin_epoch(struct session *s, struct share_db *db, bool is_known,
		       uint64_t epoch)
{
	struct share_identity *i = share_state_identity(s->state);
	int err;

	i->epoch = (epoch > i->epoch ? epoch : i->epoch) + 1;
	i->token = i->next_token = new_token();
	i->is_filled = i->is_swept = false;
	i->done = (struct dirty_mark){ 0 };
	err = share_state_clear(s->state);
	atomic_store(&s->published, 0);
	return err ? err : put_host(s, db, is_known);
}

static int take_host(struct session *s, struct share_db *db, const PGresult *r)
{
	struct share_identity *i = share_state_identity(s->state);
	bool is_known = PQntuples(r) > 0;
	uint64_t epoch = 0, token = 0;

	if (is_known) {
		epoch = strtoull(db_value(r, 0, 0), NULL, 10);
		token = strtoull(db_value(r, 0, 1), NULL, 10);
	}
	if (!is_known || epoch != i->epoch ||
	    (token != i->token && token != i->next_token))
		return begin_epoch(s, db, is_known, epoch);
	i->token = token;
	return put_host(s, db, true);
}

int session_greet(struct session *s, struct share_db *db, int64_t limit)
{
	char host[DB_UUID_TEXT + 1];
	const char *values[] = { host };
	PGresult *r = NULL;
	int err;

	s->feed.limit = limit;
	feed_restart(&s->feed);
	atomic_store(&s->is_current, false);
	db_format_uuid(share_state_identity(s->state)->host, host);
	db_set_timeout(db, STATEMENT_MS);
	err = db_run(db,
		     "SELECT epoch, token FROM @kin_host WHERE host = $1::uuid",
		     1, values, &r);
	if (!err)
		err = take_host(s, db, r);
	PQclear(r);
	return err;
}

int session_refill(struct session *s)
{
	share_state_identity(s->state)->epoch++;
	return share_state_clear(s->state);
}

/* ---- batches ---- */

static int apply(struct session *s, bool is_known)
{
	struct share_batch *b = &s->feed.batch;
	struct share_publication *put = calloc(b->copy_count + 1, sizeof(*put));
	size_t i;
	int err;

	if (!put)
		return -ENOMEM;
	for (i = 0; i < b->copy_count; i++) {
		put[i] = b->copies[i].publication;
		put[i].is_known = is_known;
	}
	err = share_state_apply(s->state, put, b->copy_count, b->gone,
				is_known ? b->gone_count : 0);
	free(put);
	return err;
}

/* Transactions of other hosts may make this one fail; then it is sent again. */
static int send_to(struct session *s, struct share_db *db)
{
	const struct share_identity *i = share_state_identity(s->state);
	unsigned tries;
	int err;

	for (tries = 0;; tries++) {
		err = batch_send(&s->feed.batch, db, i);
		if (!db_is_conflict(db, err) || tries == TRIES)
			return err;
		(void)poll(NULL, 0, (int)(new_token() % (10U << tries)));
	}
}

/* A publication is in the state before it is sent to the database. */
static int send_batch(struct session *s, struct share_db *db)
{
	struct share_identity *i = share_state_identity(s->state);
	int err;

	i->next_token = new_token();
	err = apply(s, false);
	if (!err)
		err = send_to(s, db);
	if (err)
		return err;
	i->token = i->next_token;
	err = apply(s, true);
	batch_clear(&s->feed.batch);
	atomic_fetch_add(&s->batches, 1);
	count_published(s);
	return err;
}

/* ---- passes ---- */

/* Copies that this host published before the present epoch. */
static int sweep(struct session *s, struct share_db *db)
{
	struct share_identity *i = share_state_identity(s->state);
	char host[DB_UUID_TEXT + 1], epoch[24];
	const char *values[] = { host, epoch };
	int err;

	db_format_uuid(i->host, host);
	(void)snprintf(epoch, sizeof(epoch), "%" PRIu64, i->epoch);
	db_set_timeout(db, SWEEP_MS);
	err = db_run(db,
		     "DELETE FROM @kin_copy WHERE host = $1::uuid AND "
		     "epoch < $2::bigint",
		     2, values, NULL);
	if (!err)
		i->is_swept = true;
	return err;
}

static int end_pass(struct session *s, struct share_db *db)
{
	struct share_identity *i = share_state_identity(s->state);
	int err = 0;

	if (s->is_full_pass && !i->is_swept)
		err = sweep(s, db);
	if (err)
		return err;
	if (i->is_filled && !s->is_full_pass &&
	    i->done.change == s->feed.mark.change)
		return 0;
	i->is_filled = true;
	i->done = s->feed.mark;
	i->rules = share_rules_hash(s->rules);
	err = share_state_save(s->state);
	if (!err)
		err = dirty_acknowledge(s->directory, &i->done);
	return err;
}

/* A pass over the changes will do if all of them were recorded since the last
 * pass. */
static int needs_full_pass(struct session *s, bool *out)
{
	const struct share_identity *i = share_state_identity(s->state);
	struct dirty_mark mark;
	struct catalog_txn *txn;
	uint64_t snapshot;
	int err = catalog_read(s->catalog, &txn);

	if (err)
		return err;
	err = dirty_get_mark(txn, &mark);
	snapshot = catalog_snapshot(txn);
	catalog_abort(txn);
	*out = !i->is_filled || i->rules != share_rules_hash(s->rules) ||
	       i->done.incarnation != mark.incarnation ||
	       (!mark.incarnation && snapshot != s->snapshot);
	s->snapshot = snapshot;
	s->is_idle = !*out && mark.change == i->done.change;
	return err;
}

static int choose_pass(struct session *s)
{
	return s->feed.step == FEED_BEGIN ?
		       needs_full_pass(s, &s->is_full_pass) :
		       0;
}

int session_publish(struct session *s, struct share_db *db)
{
	const struct share_identity *i = share_state_identity(s->state);
	int err, more = 1;

	if (!catalog_follow_holds(s->catalog))
		return -EAGAIN;
	err = choose_pass(s);
	/* The entries of earlier changes stay until the next one. */
	if (!err && s->feed.step == FEED_BEGIN && s->is_idle) {
		atomic_store(&s->is_current, true);
		return 0;
	}
	while (!err && more > 0) {
		if (s->stop && atomic_load(s->stop))
			return -ECANCELED;
		more = s->is_full_pass ? feed_all(&s->feed) :
					 feed_changes(&s->feed, &i->done);
		if (s->progress && s->is_full_pass)
			s->progress(s->arg, s->feed.visited, s->feed.all);
		if (more > 0) {
			atomic_store(&s->is_current, false);
			err = send_batch(s, db);
		}
	}
	if (!err)
		err = more;
	if (!err)
		err = end_pass(s, db);
	if (!err)
		atomic_store(&s->is_current, true);
	else
		feed_restart(&s->feed);
	return err;
}
