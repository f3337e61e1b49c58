/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/queue/event.h"
#include "core/queue/hash.h"

/* The digests of a file, from the queue or the catalog; and files that have
 * changed. */

/* ---- asking ---- */

/* Answers of the state of the file that *out names, as far as the catalog knows
 * it. */
static int ask_catalog(struct hasher *h, uint32_t wanted,
		       struct file_digests *out)
{
	struct catalog *catalog = h->context.catalog;
	struct catalog_txn *txn;
	struct file_record rec;
	int err = catalog_read(catalog, &txn);

	/* Where the catalog is damaged, the file is pending and hashed again. */
	if (err)
		return err == -EUCLEAN ? 0 : err;
	err = catalog_file_get(txn, &out->key, &rec);
	if (!err && !file_identity_equal(&rec.identity, &out->identity))
		err = -ENOENT;
	if (!err && rec.state == FILE_FRESH) {
		err = catalog_content_get(txn, rec.content, wanted,
					  &out->digests);
		if (!err)
			out->state = DIGESTS_FRESH;
	} else if (!err && rec.state == FILE_FAILED) {
		out->state = DIGESTS_FAILED;
		out->error = rec.error;
	}
	if (err == -EUCLEAN)
		catalog_found_damage(catalog);
	catalog_abort(txn);
	return err == -ENOENT || err == -EUCLEAN ? 0 : err;
}

/* Why the directory could not be listed.  -ENODATA: it was, or that is not
 * known. */
static int ask_directory(struct hasher *h, struct file_digests *out)
{
	const struct catalog_name self = { "", 0 };
	struct catalog *catalog = h->context.catalog;
	struct catalog_txn *txn;
	int err = catalog_is_open(catalog) ? catalog_read(catalog, &txn) :
					     -ENODATA;

	if (err)
		return -ENODATA;
	err = catalog_unread_get(txn, &out->key, self, &out->error);
	catalog_abort(txn);
	if (err)
		return -ENODATA;
	out->state = DIGESTS_FAILED;
	return 0;
}

static int answer_of(const struct result *found, struct file_digests *out)
{
	*out = (struct file_digests){
		.state = found->error ? DIGESTS_FAILED : DIGESTS_FRESH,
		.error = found->error,
		.key = found->key,
		.identity = found->identity,
	};
	return found->error ? 0 : digests_copy(&found->digests, &out->digests);
}

/* Looks in the queue first: it has results that are not committed yet. */
static int ask_queue_and_catalog(struct hasher *h, uint32_t wanted,
				 struct file_digests *out)
{
	struct queue *queue = h->context.queue;
	struct result *found =
		queue_find_result(queue, &out->key, &out->identity);
	int err = 0;

	if (found)
		err = answer_of(found, out);
	else if (!queue_doubts_file(queue, &out->key))
		err = ask_catalog(h, wanted, out);
	result_free(found);
	return err;
}

/* Whether equal identities mean equal content.  Where timestamps do not show
 * every change, they do not while the file is open for writing. */
static bool is_identity_reliable(const struct source *source,
				 const struct file_key *key,
				 const struct stat *st)
{
	return source_get_times(source, key) == TIMES_OWN ||
	       source_get_use(source, st) == SOURCE_UNUSED;
}

bool hash_answer_holds(struct hasher *h, int fd,
		       const struct file_digests *answer)
{
	const struct source *source = h->context.source;
	struct file_identity identity;
	struct file_key key;
	struct stat st;

	if (answer->state != DIGESTS_FRESH && answer->state != DIGESTS_FAILED)
		return false;
	if (fstat(fd, &st))
		return false;
	source_get_key(source, fd, &st, &key);
	source_get_identity(&st, &identity);
	return file_key_equal(&key, &answer->key) &&
	       file_identity_equal(&identity, &answer->identity) &&
	       is_identity_reliable(source, &key, &st) &&
	       !queue_doubts_file(h->context.queue, &key);
}

int hash_ask(struct hasher *h, int fd, uint32_t wanted,
	     struct file_digests *answer_out)
{
	static const enum digests_state states[] = {
		[SOURCE_UNUSED] = DIGESTS_PENDING,
		[SOURCE_WRITTEN] = DIGESTS_BUSY,
		[SOURCE_CLOSING] = DIGESTS_CLOSED,
	};
	const struct engine_parts *c = &h->context;
	struct file_digests answer = { .state = DIGESTS_PENDING };
	struct stat st;
	const char *rule;
	int err = 0;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -ENODATA;
	rule = source_skip_rule_at(c->source, fd, &st);
	if (rule) {
		answer.state = DIGESTS_SKIPPED;
		(void)snprintf(answer.rule, sizeof(answer.rule), "%s", rule);
		*answer_out = answer;
		return 0;
	}
	source_get_key(c->source, fd, &st, &answer.key);
	source_get_identity(&st, &answer.identity);
	if (S_ISDIR(st.st_mode)) {
		err = ask_directory(h, &answer);
		if (!err)
			*answer_out = answer;
		return err;
	}
	/* This function must not wait until the catalog is open. */
	if (catalog_is_open(c->catalog) &&
	    is_identity_reliable(c->source, &answer.key, &st))
		err = ask_queue_and_catalog(h, wanted, &answer);
	if (err)
		return err;
	if (answer.state == DIGESTS_PENDING)
		answer.state = states[source_get_use(c->source, &st)];
	*answer_out = answer;
	return 0;
}

/* ---- waiting ---- */

/* A request is parked at most this often: otherwise it would wait for ever for
 * a file that changes all the time. */
enum { PARKED_MAX = 16 };

/* DIGESTS_CLOSED is waited for once.  If the file is in that state again after
 * the host has caught up, another descriptor is open for writing. */
static bool is_worth_parking(struct digests_wait *w, enum digests_state state)
{
	bool closed = state == DIGESTS_CLOSED && !w->closed;

	if (clock_now_ms() >= w->deadline_ms)
		return false;
	if (state != DIGESTS_PENDING && !closed)
		return false;
	w->closed = w->closed || closed;
	return w->times_parked++ < PARKED_MAX;
}

/* Whether what is demanded is still to be made of the file, which is fresh. */
static bool is_to_be_made(const struct hasher *h, struct digests_wait *w,
			  const struct result *found)
{
	if (w->demanded != QUEUE_TEXT)
		return w->demanded && !(found && found->demanded) &&
		       w->times_parked++ < PARKED_MAX;
	/* Once: it may be no picture. */
	return h->context.extract && !w->is_made;
}

/* Makes an answer of the result; -ESTALE: the file has changed since. */
static int answer_with_result(struct digests_wait *w, int fd,
			      const struct result *found,
			      struct file_digests *out)
{
	struct file_digests answer;
	int err = answer_of(found, &answer);

	if (!err && (!hash_answer_holds(w->answerer, fd, &answer) ||
		     (found->demanded &&
		      !file_identity_equal(&found->identity, &w->fresh))))
		err = -ESTALE;
	else if (!err && found->demanded)
		err = -found->error;
	if (err)
		file_digests_release(&answer);
	else
		*out = answer;
	return err;
}

static void on_unparked(void *arg, int err, const struct result *found);

/* Answers the request, or parks it; the queue owns a parked one.  If this
 * function fails, the request is neither answered nor parked. */
static int answer_or_park(struct hasher *h, struct digests_wait *w,
			  const struct result *found)
{
	struct file_digests answer;
	int fd = w->open(w->arg), err = -ESTALE;

	if (fd < 0)
		return fd;
	if (found)
		err = answer_with_result(w, fd, found, &answer);
	if (err == -ESTALE) {
		found = NULL;
		err = hash_ask(h, fd, w->wanted, &answer);
	}
	w->close(w->arg);
	if (err)
		return err;
	w->parked = (struct parked_request){
		.identity = &answer.identity,
		.uid = w->uid,
		.deadline_ms = w->deadline_ms,
		.ticket = w->ticket,
		.done = on_unparked,
		.arg = w,
	};
	if (is_worth_parking(w, answer.state))
		return queue_park(h->context.queue, &answer.key, &w->parked);
	if (answer.state == DIGESTS_FRESH && is_to_be_made(h, w, found)) {
		file_digests_release(&answer);
		w->is_made = true;
		w->fresh = answer.identity;
		w->parked.demanded = w->demanded;
		if (w->demanded != QUEUE_TEXT)
			w->parked.deadline_ms = INT64_MAX;
		return queue_park(h->context.queue, &answer.key, &w->parked);
	}
	w->done(w->arg, 0, &answer);
	return 0;
}

static void on_unparked(void *arg, int err, const struct result *found)
{
	struct digests_wait *w = arg;

	if (!err || err == -ETIMEDOUT)
		err = answer_or_park(w->answerer, w, found);
	if (err)
		w->done(w->arg, err, NULL);
}

int hash_wait(struct hasher *h, struct digests_wait *w)
{
	w->answerer = h;
	return answer_or_park(h, w, NULL);
}

/* ---- changes ---- */

void hash_file_pending(struct hasher *h, const struct file_key *key,
		       const struct file_identity *identity)
{
	struct event *ev = event_new(EVENT_PENDING, key);

	if (ev)
		ev->identity = *identity;
	(void)events_post(h->context.events, ev);
}

void hash_file_closed(struct hasher *h, const struct file_key *key,
		      const struct file_identity *identity)
{
	const struct engine_parts *c = &h->context;
	int err = source_get_times(c->source, key) == TIMES_DOUBTFUL ?
			  queue_push_changed(c->queue, key, identity) :
			  queue_push(c->queue, key, JOB_CLOSED, identity);

	if (err && err != -ECANCELED)
		hash_file_pending(h, key, identity);
}
