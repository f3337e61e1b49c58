/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/xxh3.h"
#include "core/share/schema.h"

/* Of a batch that other transactions made fail: each waits longer, up to 3 s. */
enum { TRIES = 8 };
enum { STATEMENT_MS = 20000, SWEEP_MS = 600000 };

/* Rules with another hash publish other rows. */
static uint64_t hash_rules(const struct share_rules *rules)
{
	uint64_t hash = (uint64_t)(rules->none | rules->no_paths << 1);
	size_t i;

	for (i = 0; i < rules->globs.count; i++)
		hash = XXH3_64bits_withSeed(rules->globs.all[i],
					    strlen(rules->globs.all[i]), hash);
	return hash;
}

/* ---- opening ---- */

/* The path of SOURCE. */
static int find_source(struct session *s)
{
	struct catalog_txn *txn;
	struct buf source = { 0 };
	int err = catalog_read(s->catalog, &txn);

	if (err)
		return err;
	err = catalog_source(txn, &source);
	catalog_abort(txn);
	free(s->source);
	s->source = buf_take(&source);
	return err;
}

/* The id of the host in a file, for programs that do not open the state. */
static FILE *open_host_file(const struct session *s, const char *mode)
{
	struct buf path = { 0 };
	FILE *file = NULL;

	if (!buf_append_format(&path, "%s/" CATALOG_SHARE_DIRECTORY "/host",
			       s->directory))
		file = fopen(path.data, mode);
	buf_release(&path);
	return file;
}

/* The directory is registered before anything is read: what changes from then
 * on is recorded. */
int session_open(struct session *s)
{
	struct buf path = { 0 };
	FILE *file;
	int err;

	feed_restart(s);
	catalog_free(s->catalog);
	s->catalog = NULL;
	if (access(s->directory, F_OK))
		return -errno;
	err = catalog_follow(s->directory, &s->catalog);
	if (!err)
		err = find_source(s);
	if (!err && !s->state) {
		err = dirty_register(s->catalog);
		if (!err)
			err = buf_append_format(&path,
						"%s/" CATALOG_SHARE_DIRECTORY,
						s->directory);
		free(s->share_directory);
		s->share_directory = buf_take(&path);
		if (!err)
			err = share_state_open(s->share_directory, &s->state);
		if (!err)
			db_format_uuid(s->state->identity.host, s->host);
	}
	if (!err && !s->sketch)
		s->sketch = malloc(sizeof(*s->sketch));
	if (err || !s->sketch)
		return err ? err : -ENOMEM;
	atomic_store(&s->published, s->state->count);
	file = open_host_file(s, "we");
	if (!file)
		return -errno;
	if (fputs(s->host, file) == EOF)
		err = -EIO;
	return fclose(file) == EOF ? -EIO : err;
}

int session_peek(struct session *s)
{
	FILE *file = open_host_file(s, "re");
	int err = catalog_follow(s->directory, &s->catalog);

	if (!err)
		err = find_source(s);
	if (!err && (!file || !fgets(s->host, sizeof(s->host), file)))
		err = -ENODATA;
	if (file)
		(void)fclose(file);
	s->sketch = malloc(sizeof(*s->sketch));
	s->step = PASS_FILES;
	s->is_blind = true;
	return err || s->sketch ? err : -ENOMEM;
}

void session_close(struct session *s)
{
	feed_restart(s);
	free(s->sketch);
	share_state_close(s->state);
	catalog_free(s->catalog);
	free(s->share_directory);
	free(s->source);
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

int session_greet(struct session *s, struct share_db *db, int64_t limit)
{
	struct share_identity *i = &s->state->identity;
	char epoch_text[24], token_text[24];
	const char *values[] = { s->host, epoch_text, token_text,
				 s->rules->label };
	uint64_t epoch, token;
	PGresult *r = NULL;
	int err;

	s->limit = limit;
	feed_restart(s);
	atomic_store(&s->is_current, false);
	db_set_timeout(db, STATEMENT_MS);
	err = db_run(db, SQL_GET_HOST, 1, values, &r);
	if (err)
		return err;
	epoch = strtoull(db_value(r, 0, 0), NULL, 10);
	token = strtoull(db_value(r, 0, 1), NULL, 10);
	if (PQntuples(r) && epoch == i->epoch &&
	    (token == i->token || token == i->next_token)) {
		i->token = token;
	} else {
		i->epoch = (epoch > i->epoch ? epoch : i->epoch) + 1;
		i->token = i->next_token = new_token();
		i->is_filled = i->is_swept = false;
		i->done = (struct dirty_mark){ 0 };
		err = share_state_write(s->state, true, NULL, 0, NULL, 0);
		atomic_store(&s->published, 0);
	}
	PQclear(r);
	(void)snprintf(epoch_text, sizeof(epoch_text), "%" PRIu64, i->epoch);
	(void)snprintf(token_text, sizeof(token_text), "%" PRIu64, i->token);
	return err ? err : db_run(db, SQL_PUT_HOST, 4, values, NULL);
}

int session_refill(struct session *s)
{
	s->state->identity.epoch++;
	return share_state_write(s->state, true, NULL, 0, NULL, 0);
}

/* ---- batches ---- */

static int apply(struct session *s, bool is_known)
{
	const struct share_batch *b = &s->batch;
	size_t i;

	for (i = 0; i < b->put_count; i++)
		b->put[i].is_known = is_known;
	return share_state_write(s->state, false, b->put, b->put_count, b->gone,
				 is_known ? b->gone_count : 0);
}

/* A publication is in the state before it is sent to the database. */
static int send_batch(struct session *s, struct share_db *db)
{
	struct share_identity *i = &s->state->identity;
	unsigned tries;
	int err;

	i->next_token = new_token();
	err = apply(s, false);
	if (!err)
		err = batch_send(&s->batch, db, i);
	/* Class 40: transactions of other hosts made this one fail. */
	for (tries = 0;
	     tries < TRIES && err == -EREMOTEIO && !strncmp(db->code, "40", 2);
	     tries++) {
		(void)poll(NULL, 0, (int)(new_token() % (10U << tries)));
		err = batch_send(&s->batch, db, i);
	}
	if (err)
		return err;
	i->token = i->next_token;
	err = apply(s, true);
	batch_clear(&s->batch);
	atomic_fetch_add(&s->batches, 1);
	atomic_store(&s->published, s->state->count);
	return err;
}

/* ---- passes ---- */

/* A pass over the changes will do if all of them were recorded since the last
 * pass.  Without any the entries of earlier ones stay, and there is no pass. */
static int begin_pass(struct session *s)
{
	const struct share_identity *i = &s->state->identity;
	struct catalog_counts counts;
	struct catalog_txn *txn;
	uint64_t snapshot;
	int err = catalog_read(s->catalog, &txn);

	if (err)
		return err;
	err = dirty_get_mark(txn, &s->mark);
	if (!err)
		err = catalog_counts(txn, &counts);
	snapshot = catalog_snapshot(txn);
	catalog_abort(txn);
	if (err)
		return err;
	feed_restart(s);
	s->is_full = !i->is_filled || i->rules != hash_rules(s->rules) ||
		     i->done.incarnation != s->mark.incarnation ||
		     (!s->mark.incarnation && snapshot != s->snapshot);
	s->snapshot = snapshot;
	s->all = counts.fresh;
	if (s->is_full)
		s->step = PASS_FILES;
	else if (s->mark.change != i->done.change)
		s->step = PASS_CHANGES;
	return 0;
}

/* After a full pass the copies of earlier epochs go. */
static int end_pass(struct session *s, struct share_db *db)
{
	struct share_identity *i = &s->state->identity;
	char epoch[24];
	int err = 0;

	if (s->is_full && !i->is_swept) {
		(void)snprintf(epoch, sizeof(epoch), "%" PRIu64, i->epoch);
		db_set_timeout(db, SWEEP_MS);
		err = db_run(db, SQL_SWEEP, 2,
			     (const char *[]){ s->host, epoch }, NULL);
		i->is_swept = !err;
	}
	if (err)
		return err;
	i->is_filled = true;
	i->done = s->mark;
	i->rules = hash_rules(s->rules);
	err = share_state_write(s->state, false, NULL, 0, NULL, 0);
	return err ? err : dirty_acknowledge(s->catalog, &i->done);
}

int session_publish(struct session *s, struct share_db *db)
{
	bool is_new = s->step == PASS_NONE;
	int err, more = 0;

	if (!catalog_follow_holds(s->catalog))
		return -EAGAIN;
	if (s->stop && atomic_load(s->stop))
		return -ECANCELED;
	err = is_new ? begin_pass(s) : 0;
	if (!err && !(is_new && s->step == PASS_NONE)) {
		more = feed_fill(s);
		err = more < 0 ? more : 0;
		if (more > 0) {
			atomic_store(&s->is_current, false);
			err = send_batch(s, db);
		} else if (!err) {
			err = end_pass(s, db);
		}
	}
	if (err)
		feed_restart(s);
	else if (!more)
		atomic_store(&s->is_current, true);
	return err ? err : more;
}
