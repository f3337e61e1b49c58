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
 * of no file.  That one makes the next text, in the order of the contents' ids,
 * and is delayed until the one after it.  A content that cannot be read now (its
 * file is open for writing, or gone) is passed over, and tried again in the next
 * pass.
 */

enum {
	BUSY_MS = 200,     /* until texts that came are made */
	LATER_MS = 60000,  /* until the next pass, or kin-extract may start */
	COPIES_TRIED = 16, /* files of one content */
};

/* ---- one file ---- */

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

/* -EAGAIN: the file is not what the catalog knows, or is being written. */
static int read_file(struct hasher *h, const struct file_key *key,
		     const struct file_identity *identity)
{
	const struct engine_parts *c = &h->context;
	struct extract_sketch *maker = extract_sketch_new();
	const struct sketch *sketch = NULL;
	struct extract_result result;
	struct source_found found = { .fd = -1 };
	int err = maker ? hash_open_same(c, key, identity, &found) : -ENOMEM;

	if (!err)
		err = extract_sketch_read(maker, c->extract, found.fd,
					  found.st.st_uid, &sketch, &result);
	if (!err && (atomic_load(c->stopping) ||
		     !hash_has_identity(found.fd, identity)))
		err = -EAGAIN;
	if (!err)
		err = post(h, key, identity, &result, sketch);
	if (found.fd >= 0)
		close(found.fd);
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

/* -EAGAIN: none of its files can be read now. */
static int make_text(struct hasher *h, uint32_t content)
{
	struct file_identity identity;
	struct file_key key;
	int i, found = 0, err = -EAGAIN;

	for (i = 0; i < COPIES_TRIED && !found && err == -EAGAIN; i++) {
		found = find_copy(h, content, i ? &key : NULL, &key, &identity);
		if (!found)
			err = read_file(h, &key, &identity);
	}
	if (err == -EIO && !h->texts.is_broken)
		logger_print(h->context.log,
			     "kin-extract cannot be started; texts of "
			     "documents have to wait");
	h->texts.is_broken = err == -EIO;
	return found && found != -ENOENT ? found : err;
}

/* ---- jobs ---- */

/* The content of the file, whose text is pending. */
static int find_content(struct hasher *h, const struct file_key *key,
			uint32_t *content_out)
{
	struct content_text text;
	struct catalog_txn *txn;
	struct file_record rec;
	int err = catalog_read(h->context.catalog, &txn);

	if (err)
		return err;
	err = catalog_file_get(txn, key, &rec);
	if (!err && rec.state != FILE_FRESH)
		err = -ENOENT;
	if (!err)
		err = catalog_text_get(txn, rec.content, &text);
	catalog_abort(txn);
	*content_out = rec.content;
	return err || text.state == TEXT_PENDING ? err : -ENOENT;
}

/* The next content whose text is to be made. */
static int find_next(struct hasher *h, uint32_t *content_out)
{
	struct catalog_txn *txn;
	int err = catalog_read(h->context.catalog, &txn);

	if (err)
		return err;
	err = catalog_text_pending(txn, h->texts.after, !h->texts.passed,
				   content_out);
	catalog_abort(txn);
	return err;
}

/* The end of a pass.  Returns in how many milliseconds there is to be another
 * one; negative: when contents have come. */
static int64_t end_pass(struct hasher *h)
{
	struct hash_texts *t = &h->texts;

	t->passed = true;
	t->after = 0;
	atomic_store(&t->passed_over, t->skipped);
	t->skipped = 0;
	return catalog_pending_texts(h->context.catalog) ? LATER_MS : -1;
}

/* Makes the next text.  Returns when to go on, as end_pass(). */
static int64_t make_next(struct hasher *h)
{
	struct hash_texts *t = &h->texts;
	uint32_t content;
	int err;

	err = find_next(h, &content);
	if (err)
		return err == -ENOENT ? end_pass(h) : LATER_MS;
	err = make_text(h, content);
	/* No user is to wait for them. */
	if (t->is_broken)
		atomic_store(&t->passed_over,
			     catalog_pending_texts(h->context.catalog));
	if (t->is_broken || err == -ECANCELED)
		return LATER_MS;
	t->skipped += err != 0;
	t->after = content;
	return 0;
}

void hash_make_text(struct hasher *h, struct job *job)
{
	const struct engine_parts *c = &h->context;
	struct event_counts counts;
	int64_t delay_ms = -1;
	uint32_t content;

	/* While commits fail, texts would stay in memory, and each pass would
	 * make them again. */
	events_counts(c->events, &counts);
	if (!job->key.inode)
		delay_ms = counts.error ? LATER_MS : make_next(h);
	else if (!counts.error && !find_content(h, &job->key, &content) &&
		 !make_text(h, content))
		(void)events_settle(c->events);
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
