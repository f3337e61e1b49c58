/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/extract/sketch.h"
#include "core/queue/event.h"
#include "core/queue/hash.h"

/*
 * The texts of documents, and sketches of them.
 *
 * A worker takes a content whose text is pending in the catalog, finds a file
 * with that content, and gives its descriptor to kin-extract
 * (core/extract/client.h), which is a process of its own that can do nothing but
 * compute.  What comes back through a pipe goes into a sketch, and the sketch to
 * the committer.  The descriptor is the only thing that leaves this process, and
 * a sketch of the text the only thing that is kept.  A content that changes
 * meanwhile has another id, so nothing is lost but the work.
 *
 * A job for a text is of a file with that content, which a query waits for; or
 * of no file.  That one makes the next text, and is delayed until the one after
 * it.  A content that cannot be read now (its file is open for writing, or gone)
 * is passed over, and tried again in the next pass.
 */

enum {
	BUSY_MS = 200,     /* until texts that came are made */
	LATER_MS = 60000,  /* until the next pass, or kin-extract may start */
	COPIES_TRIED = 16, /* files of one content */
};

/* ---- what became of a text ---- */

static enum text_state state_of(const struct extract_result *r, bool has_text)
{
	switch (r->status) {
	case EXTRACT_OK:
		return has_text ? TEXT_YES : TEXT_NONE;
	case EXTRACT_NO_TEXT:
		return TEXT_NONE;
	case EXTRACT_ENCRYPTED:
		return TEXT_ENCRYPTED;
	case EXTRACT_UNSUPPORTED:
		/* It was no document after all. */
		return r->kind == EXTRACT_UNKNOWN ? TEXT_NONE : TEXT_FAILED;
	default:
		return TEXT_FAILED;
	}
}

/* Has the committer write what became of it. */
static int post(struct hasher *h, const struct file_key *key,
		const struct file_identity *identity,
		const struct extract_result *r, const struct sketch *sketch)
{
	struct event *ev = event_new_key(EVENT_TEXT, key);
	uint8_t packed[SKETCH_PACKED_MAX];
	int err = 0;

	if (!ev)
		return -ENOMEM;
	ev->identity = *identity;
	ev->text = calloc(1, sizeof(*ev->text));
	if (ev->text && sketch)
		err = buf_append(&ev->text->sketch, packed,
				 sketch_pack(sketch, packed));
	if (!ev->text || err) {
		event_free(ev);
		return -ENOMEM;
	}
	ev->text->text = (struct content_text){
		.state = state_of(r, sketch != NULL),
		.why = r->status == EXTRACT_UNSUPPORTED ? TEXT_UNREADABLE :
							  (uint8_t)r->status,
		.date = r->date,
	};
	return events_post(h->context.events, ev);
}

/* ---- one file ---- */

/* A file whose text is made. */
struct text_task {
	struct hasher *h;
	struct extract_client *client;
	struct job *job;
	struct file_key key;
	struct file_identity identity;
	struct source_found found; /* fd: -1, or of the file in that state */
};

/* Whether the text is of no use any more: the file was removed or changed, the
 * request was given up, or the daemon ends. */
static bool is_over(void *task)
{
	struct text_task *t = task;
	const struct engine_parts *c = &t->h->context;

	return atomic_load(c->stopping) ||
	       !hash_has_identity(t->found.fd, &t->identity) ||
	       (t->job->key.inode &&
		queue_order(c->queue, t->job, 0) == QUEUE_HAND_OVER);
}

static void close_task(struct text_task *t)
{
	if (t->found.fd >= 0)
		close(t->found.fd);
	t->found.fd = -1;
}

/* -EAGAIN: is_over(). */
static int read_task(struct text_task *t)
{
	struct extract_sketch *maker = extract_sketch_new();
	const struct sketch *sketch = NULL;
	struct extract_result result;
	int err = maker ? 0 : -ENOMEM;

	extract_stop_when(t->client, is_over, t);
	if (!err)
		err = extract_sketch_read(maker, t->client, t->found.fd,
					  t->found.st.st_uid, &sketch, &result);
	if (!err && is_over(t))
		err = -EAGAIN;
	if (!err)
		err = post(t->h, &t->key, &t->identity, &result, sketch);
	extract_sketch_free(maker);
	return err;
}

/* ---- one content ---- */

/* The next file with the content, and its identity; after: NULL at first. */
static int find_copy(struct hasher *h, uint32_t content,
		     const struct file_key *after, struct file_key *key_out,
		     struct file_identity *identity_out)
{
	struct catalog_txn *txn;
	struct file_record rec;
	int err = catalog_read(h->context.catalog, &txn);

	if (err)
		return err;
	err = catalog_copy_after(txn, content, after, key_out);
	if (!err)
		err = catalog_file_get(txn, key_out, &rec);
	if (!err)
		*identity_out = rec.identity;
	catalog_abort(txn);
	return err;
}

/* Opens a file with the content.  -EAGAIN, -ENOENT: none can be read now. */
static int open_copy(struct text_task *t, uint32_t content)
{
	int i, err = -EAGAIN;

	t->found.fd = -1;
	for (i = 0; i < COPIES_TRIED && err == -EAGAIN; i++) {
		err = find_copy(t->h, content, i ? &t->key : NULL, &t->key,
				&t->identity);
		if (!err)
			err = hash_open_same(&t->h->context, &t->key,
					     &t->identity, &t->found);
	}
	return err;
}

/* ---- for a request ---- */

/* Sets the file of the job, if the text of its content is pending. */
static int find_wanted(struct text_task *t)
{
	struct content_text text;
	struct catalog_txn *txn;
	struct file_record rec;
	int err = catalog_read(t->h->context.catalog, &txn);

	if (err)
		return err;
	t->key = t->job->key;
	err = catalog_file_get(txn, &t->key, &rec);
	if (!err && rec.state != FILE_FRESH)
		err = -ENOENT;
	if (!err)
		err = catalog_text_get(txn, rec.content, &text);
	catalog_abort(txn);
	t->identity = rec.identity;
	return err || text.state == TEXT_PENDING ? err : -ENOENT;
}

static void make_wanted(struct text_task *t)
{
	int err = find_wanted(t);

	if (!err)
		err = hash_open_same(&t->h->context, &t->key, &t->identity,
				     &t->found);
	if (!err)
		err = read_task(t);
	if (!err)
		(void)events_settle(t->h->context.events);
	close_task(t);
}

/* ---- the pass ---- */

/*
 * Owners of files take turns, so that a thousand slow archives of one user keep
 * no document of another one waiting.  The texts of each owner are made in the
 * order of the contents' ids, and each owner has come to some id.  The pass looks
 * ahead for owners that have contents, so it opens each file once for that, and
 * once for each owner that has come by.
 */
enum { LOOK_AHEAD = 64 };

/* The next content after that id whose text is to be made. */
static int find_next(struct hasher *h, uint32_t after, uint32_t *content_out)
{
	struct catalog_txn *txn;
	int err = catalog_read(h->context.catalog, &txn);

	if (err)
		return err;
	err = catalog_text_pending(txn, after, !h->texts.passed, content_out);
	catalog_abort(txn);
	return err;
}

/* False: there is no room for another owner. */
static bool note_owner(struct hash_texts *texts, uid_t uid, uint32_t content)
{
	size_t i = 0;

	while (i < texts->owner_count && texts->owners[i].uid != uid)
		i++;
	if (i == TEXT_OWNERS)
		return false;
	if (i == texts->owner_count)
		texts->owners[texts->owner_count++] =
			(struct text_owner){ uid, content - 1 };
	return true;
}

/* 0: there is more to look at; -ENOENT: there is not. */
static int look_ahead(struct text_task *t)
{
	struct hash_texts *texts = &t->h->texts;
	uint32_t content;
	bool noted = true;
	int i, err = 0;

	for (i = 0; i < LOOK_AHEAD && !err && noted; i++) {
		err = find_next(t->h, texts->looked, &content);
		if (err)
			break;
		err = open_copy(t, content);
		if (!err)
			noted = note_owner(texts, t->found.st.st_uid, content);
		texts->skipped += err != 0;
		if (err == -EAGAIN || err == -ENOENT)
			err = 0; /* passed over */
		if (noted)
			texts->looked = content;
		close_task(t);
	}
	return err;
}

/* Opens the next content of the owner.  -EAGAIN: none was found yet; -ENOENT:
 * there are no more. */
static int open_next(struct text_task *t, struct text_owner *owner)
{
	int i, err = -EAGAIN;

	for (i = 0; i < LOOK_AHEAD && err == -EAGAIN; i++) {
		uint32_t content;

		err = find_next(t->h, owner->after, &content);
		if (err)
			break;
		owner->after = content;
		err = open_copy(t, content) ? -EAGAIN : 0;
		if (!err && t->found.st.st_uid != owner->uid) {
			close_task(t);
			err = -EAGAIN;
		}
	}
	return err;
}

/* The end of a pass.  Returns in how many milliseconds there is to be another
 * one; negative: when contents have come. */
static int64_t end_pass(struct hasher *h)
{
	struct hash_texts *t = &h->texts;

	t->passed = true;
	t->looked = 0;
	atomic_store(&t->passed_over, t->skipped);
	t->skipped = 0;
	return catalog_pending_texts(h->context.catalog) ? LATER_MS : -1;
}

/* Makes the next text of the owner whose turn it is. */
static int make_for_owner(struct text_task *t)
{
	struct hash_texts *texts = &t->h->texts;
	struct text_owner *owner;
	int err;

	texts->turn = texts->turn % texts->owner_count;
	owner = &texts->owners[texts->turn];
	err = open_next(t, owner);
	if (err == -ENOENT)
		*owner = texts->owners[--texts->owner_count];
	if (err)
		return err == -EAGAIN || err == -ENOENT ? 0 : err;
	texts->turn++;
	err = read_task(t);
	close_task(t);
	if (err == -EIO && !texts->is_broken)
		logger_print(t->h->context.log,
			     "kin-extract cannot be started; texts of "
			     "documents have to wait");
	texts->is_broken = err == -EIO;
	texts->skipped += err == -EAGAIN;
	return err == -EAGAIN ? 0 : err;
}

/* Makes the next text.  Returns when to go on, as end_pass(). */
static int64_t make_next(struct text_task *t)
{
	struct hash_texts *texts = &t->h->texts;
	int err = look_ahead(t);

	if (err == -ENOENT && !texts->owner_count)
		return end_pass(t->h);
	if (err == -ENOENT)
		err = 0;
	if (!err && texts->owner_count)
		err = make_for_owner(t);
	/* No user is to wait for them. */
	if (texts->is_broken)
		atomic_store(&texts->passed_over,
			     catalog_pending_texts(t->h->context.catalog));
	return err ? LATER_MS : 0;
}

void hash_make_text(struct hasher *h, struct extract_client *client,
		    struct job *job)
{
	const struct engine_parts *c = &h->context;
	struct text_task t = {
		.h = h, .client = client, .job = job, .found = { .fd = -1 }
	};
	struct event_counts counts;
	int64_t delay_ms = -1;

	/* While commits fail, texts would stay in memory, and each pass would
	 * make them again. */
	events_counts(c->events, &counts);
	if (!job->key.inode)
		delay_ms = counts.error ? LATER_MS : make_next(&t);
	else if (!counts.error)
		make_wanted(&t);
	if (delay_ms < 0)
		queue_finish(c->queue, job);
	else
		queue_delay(c->queue, job, delay_ms, false);
}

void hash_want_texts(struct hasher *h)
{
	if (h->context.extract &&
	    (!h->texts.passed || catalog_pending_texts(h->context.catalog)))
		queue_want_texts(h->context.queue, BUSY_MS);
}

bool hash_has_texts_to_make(struct hasher *h)
{
	return h->context.extract && catalog_pending_texts(h->context.catalog) >
					     atomic_load(&h->texts.passed_over);
}
