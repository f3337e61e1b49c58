/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/extract/sketch.h"
#include "core/queue/event.h"
#include "core/queue/hash.h"

/*
 * The texts of documents, and sketches of them; and the hashes of pictures, which
 * are made in the same way.
 *
 * A worker takes a content whose text is pending in the catalog, finds a file
 * with that content, and gives its descriptor to kin-extract
 * (core/extract/client.h), which is a process of its own that can do nothing but
 * compute.  What comes back through a pipe goes into a sketch, and the sketch to
 * the committer.  The descriptor is the only thing that leaves this process, and
 * a sketch of the text the only thing that is kept.  A content that changes
 * meanwhile has another id, so nothing is lost but the work.
 *
 * A job for a text is of a file, which a query waits for; or of no file.  That one
 * makes the next text, and is delayed until the one after it.  A file that cannot
 * be read now (it is open for writing, or gone) is passed over, and tried again in
 * the next pass.
 *
 * A text is made once for each owner of files with the content, so that it takes
 * as long as if nobody else had one (catalog.h, "To whom a text is told").
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
		return has_text       ? TEXT_YES :
		       r->picture.has ? TEXT_PICTURE :
					TEXT_NONE;
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

static uint16_t why_of(const struct extract_result *r)
{
	if (r->status == EXTRACT_OK || r->status == EXTRACT_NO_TEXT)
		return (uint16_t)(r->flags & EXTRACT_DOUBTS);
	return r->status == EXTRACT_UNSUPPORTED ? TEXT_UNREADABLE :
						  (uint16_t)r->status;
}

/* ---- one file ---- */

/* A file whose text is made. */
struct text_task {
	struct hasher *h;
	struct extract_client *client;
	struct job *job;
	struct file_key key;
	struct file_identity identity;
	uint32_t content;          /* of the file */
	bool is_unreadable;        /* no program could read it before */
	bool is_made;              /* the text of the content is, ... */
	bool is_told;              /* ... and told of the file */
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

/* Has the committer write what became of the text; r: NULL: that it is told of the
 * file, too. */
static int post(struct text_task *t, const struct extract_result *r,
		const struct sketch *sketch)
{
	struct event *ev = event_new(EVENT_TEXT, &t->key);
	uint8_t packed[SKETCH_PACKED_MAX];
	int err = 0;

	if (!ev)
		return -ENOMEM;
	ev->identity = t->identity;
	if (r)
		ev->text = calloc(1, sizeof(*ev->text));
	if (ev->text && sketch)
		err = buf_append(&ev->text->kept, packed,
				 sketch_pack(sketch, packed));
	else if (ev->text)
		err = buf_append(&ev->text->kept, &r->picture,
				 sizeof(r->picture));
	if (err || (r && !ev->text)) {
		event_free(ev);
		return -ENOMEM;
	}
	if (r)
		ev->text->text = (struct content_text){
			.state = state_of(r, sketch != NULL),
			.why = why_of(r),
			.date = r->date,
		};
	return events_post(t->h->context.events, ev);
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
		err = post(t, &result, sketch);
	extract_sketch_free(maker);
	return err;
}

/* ---- one file, or another one of its owner ---- */

/* The next file with the content.  1: its text was told; 0: it was not. */
static int next_copy(struct hasher *h, uint32_t content,
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
	if (!err) {
		*identity_out = rec.identity;
		err = catalog_text_is_told(txn, content, key_out);
	}
	catalog_abort(txn);
	return err;
}

/* Whether the owner of the task's file has another one of which the text is
 * told. */
static bool is_told_to_owner(struct text_task *t)
{
	struct file_identity identity;
	struct source_found found;
	struct file_key key;
	bool is_told = false;
	int i, told = 0;

	for (i = 0; i < COPIES_TRIED && told >= 0 && !is_told; i++) {
		told = next_copy(t->h, t->content, i ? &key : NULL, &key,
				 &identity);
		if (told != 1 ||
		    hash_open_same(&t->h->context, &key, &identity, &found))
			continue;
		is_told = found.st.st_uid == t->found.st.st_uid;
		close(found.fd);
	}
	return is_told;
}

/* Sets the file, which has the content, and opens it.  -EAGAIN: not now. */
static int find_task(struct text_task *t, const struct file_key *key)
{
	struct content_text text = { 0 };
	struct file_record rec = { 0 };
	struct catalog_txn *txn;
	int err = catalog_read(t->h->context.catalog, &txn);

	if (err)
		return err;
	t->key = *key;
	err = catalog_file_get(txn, key, &rec);
	if (!err && rec.state != FILE_FRESH)
		err = -ENOENT;
	if (!err)
		err = catalog_text_get(txn, rec.content, &text);
	t->is_unreadable =
		text.state == TEXT_FAILED && text.why == TEXT_UNREADABLE;
	t->is_made = text.state != TEXT_PENDING;
	t->is_told = !err && t->is_made &&
		     catalog_text_is_told(txn, rec.content, key) == 1;
	catalog_abort(txn);
	t->content = rec.content;
	t->identity = rec.identity;
	return err ? err :
		     hash_open_same(&t->h->context, &t->key, &t->identity,
				    &t->found);
}

/* Makes the text, or tells it of the file, too.  made: this was done just now for
 * the content and the owner. */
static int make_text(struct text_task *t, bool made)
{
	if (!made && !(t->is_made && is_told_to_owner(t)))
		return read_task(t);
	return post(t, NULL, NULL);
}

static void make_wanted(struct text_task *t)
{
	int err = find_task(t, &t->job->key);

	/* That it was hashed may be told, and not be in the catalog yet. */
	if (err == -ENOENT && !events_settle(t->h->context.events))
		err = find_task(t, &t->job->key);
	if (!err && t->is_unreadable)
		err = read_task(t);
	else if (!err && !t->is_told)
		err = make_text(t, false);
	if (!err)
		(void)events_settle(t->h->context.events);
	source_found_close(&t->found);
}

/* ---- the pass ---- */

/*
 * Owners of files take turns, so that a thousand slow archives of one user keep
 * no document of another one waiting.  The files of each owner are in the order
 * of the contents' ids, and each owner has come to some file.  The pass looks
 * ahead for owners that have files, so it opens each file once for that, and once
 * for each owner that has come by.
 */
enum { LOOK_AHEAD = 64 };

/* Opens the next untold file after the place, and moves that.  -EAGAIN: not now;
 * -ENOENT: there is none. */
static int open_after(struct text_task *t, struct text_place *at)
{
	struct catalog_txn *txn;
	int err = catalog_read(t->h->context.catalog, &txn);

	if (err)
		return err;
	err = catalog_text_untold(txn, &at->content, &at->key);
	catalog_abort(txn);
	if (err)
		return err;
	err = find_task(t, &at->key);
	if (!err && !t->is_told)
		return 0;
	source_found_close(&t->found);
	return -EAGAIN;
}

/* False: there is no room for another owner. */
static bool note_owner(struct hash_texts *texts, uid_t uid,
		       const struct text_place *before)
{
	size_t i = 0;

	while (i < texts->owner_count && texts->owners[i].uid != uid)
		i++;
	if (i == TEXT_OWNERS)
		return false;
	if (i == texts->owner_count)
		texts->owners[texts->owner_count++] =
			(struct text_owner){ .uid = uid, .at = *before };
	return true;
}

/* 0: there is more to look at; -ENOENT: there is not. */
static int look_ahead(struct text_task *t)
{
	struct hash_texts *texts = &t->h->texts;
	int i, err = 0;

	for (i = 0; i < LOOK_AHEAD && !err; i++) {
		const struct text_place before = texts->looked;

		err = open_after(t, &texts->looked);
		if (!err && !note_owner(texts, t->found.st.st_uid, &before)) {
			texts->looked = before;
			i = LOOK_AHEAD;
		}
		if (err == -EAGAIN)
			err = 0; /* passed over */
		source_found_close(&t->found);
	}
	return err;
}

/* Opens the next file of the owner.  -EAGAIN: none was found yet; -ENOENT: there
 * are no more. */
static int open_next(struct text_task *t, struct text_owner *owner)
{
	int i, err = -EAGAIN;

	for (i = 0; i < LOOK_AHEAD && err == -EAGAIN; i++) {
		err = open_after(t, &owner->at);
		if (!err && t->found.st.st_uid != owner->uid) {
			source_found_close(&t->found);
			err = -EAGAIN;
		}
	}
	return err;
}

/* The end of a pass.  Returns in how many milliseconds there is to be another
 * one; negative: when files have come. */
static int64_t end_pass(struct hasher *h)
{
	struct hash_texts *t = &h->texts;

	atomic_store(&t->settled, t->begun);
	atomic_store(&t->passed, true);
	t->passes = false;
	t->looked = (struct text_place){ 0 };
	return catalog_untold_texts(h->context.catalog) ? LATER_MS : -1;
}

static int note_outcome(struct text_task *t, int err)
{
	struct hash_texts *texts = &t->h->texts;

	source_found_close(&t->found);
	if (err == -EIO && !atomic_load(&texts->is_broken))
		logger_print(t->h->context.log,
			     "kin-extract cannot be started; texts of "
			     "documents have to wait");
	atomic_store(&texts->is_broken, err == -EIO);
	return err == -EAGAIN ? 0 : err;
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
	err = make_text(t, owner->made == t->content);
	if (!err)
		owner->made = t->content;
	return note_outcome(t, err);
}

/* In the first pass: makes the next text of which no program could read the
 * format before.  -ENOENT: there are no more. */
static int make_unreadable(struct text_task *t)
{
	struct hash_texts *texts = &t->h->texts;
	struct catalog_txn *txn;
	struct file_key key;
	int err = atomic_load(&texts->passed) ?
			  -ENOENT :
			  catalog_read(t->h->context.catalog, &txn);

	if (err)
		return err;
	err = catalog_text_unreadable(txn, texts->unreadable,
				      &texts->unreadable);
	if (!err)
		err = catalog_copy_after(txn, texts->unreadable, NULL, &key);
	catalog_abort(txn);
	if (err)
		return err;
	err = find_task(t, &key);
	return note_outcome(t, err ? err : read_task(t));
}

/* Makes the next text.  Returns when to go on, as end_pass(). */
static int64_t make_next(struct text_task *t)
{
	struct hash_texts *texts = &t->h->texts;
	int err;

	if (!texts->passes)
		texts->begun = catalog_untold_added(t->h->context.catalog);
	texts->passes = true;
	err = look_ahead(t);
	if (!err || err == -ENOENT)
		err = texts->owner_count ? make_for_owner(t) :
		      err                ? make_unreadable(t) :
					   0;
	if (err == -ENOENT)
		return end_pass(t->h);
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
		queue_done(c->queue, job, NULL, false);
	else
		queue_delay(c->queue, job, delay_ms, false);
}

void hash_want_texts(struct hasher *h)
{
	if (h->context.extract && (!atomic_load(&h->texts.passed) ||
				   catalog_untold_texts(h->context.catalog)))
		queue_want(h->context.queue, QUEUE_TEXT, BUSY_MS);
}

/* Whether the worker has still to look at files. */
static bool has_new(struct hasher *h)
{
	struct hash_texts *t = &h->texts;

	return h->context.extract && !atomic_load(&t->is_broken) &&
	       (!atomic_load(&t->passed) ||
		atomic_load(&t->settled) !=
			catalog_untold_added(h->context.catalog));
}

bool hash_has_texts_to_make(struct hasher *h)
{
	return has_new(h) && catalog_pending_texts(h->context.catalog);
}

bool hash_has_texts_to_tell(struct hasher *h)
{
	return has_new(h) && catalog_untold_texts(h->context.catalog);
}
