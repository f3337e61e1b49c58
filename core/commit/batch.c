/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/base/err.h"
#include "core/commit/commit_impl.h"

/* Applies the events in one transaction. */
static int write_batch(struct committer *c, const struct event *ev,
		       size_t count, struct catalog_changes *changes)
{
	struct catalog_txn *txn;
	int err;

	err = catalog_write(c->context.catalog, &txn);
	if (err)
		return err;
	if (c->context.up->is_watched &&
	    c->context.up->is_watched(c->context.up->ctx))
		catalog_watch(txn);
	while (!err && count--) {
		gate_pass(&c->context.events->gate);
		err = event_apply(c, txn, ev);
		if (count) /* the last one's next is under the lock */
			ev = ev->next;
	}
	if (err == -EUCLEAN)
		catalog_found_damage(c->context.catalog);
	if (err) {
		catalog_abort(txn);
		return err;
	}
	c->context.events->gate.slice_ns = 0;
	gate_pass(&c->context.events->gate);
	return catalog_commit(txn, changes);
}

/* id: of a content, or of the sketch of a text, whose size does not matter. */
static int index_add_content(struct committer *c, struct catalog_txn *txn,
			     uint32_t id)
{
	struct digests text = { .size = 1 }, d;
	struct sketch sketch;
	bool has_sketch, is_content;
	int err = catalog_content_get(txn, id, 0, &d);

	is_content = !err;
	if ((err && err != -ENOENT) || (is_content && !d.size))
		return err;
	err = catalog_sketch_get(txn, id, &sketch);
	has_sketch = !err;
	if (err && err != -ENOENT)
		return err;
	/* It was removed again, or the catalog replaced after the commit. */
	if (!is_content && !has_sketch)
		return 0;
	return index_add(c->context.index, id, is_content ? &d : &text,
			 has_sketch ? &sketch : NULL);
}

static int index_added(struct committer *c, struct catalog_txn *txn,
		       const struct catalog_changes *ch)
{
	uint64_t id;
	int err = 0;

	for (id = ch->added_begin; id < ch->added_end && !err; id++) {
		gate_pass(&c->context.events->gate);
		err = index_add_content(c, txn, (uint32_t)id);
	}
	return err;
}

/* From so many on a bulk load (index_load_begin()) is worth its cost. */
#define LOAD_CONTENTS 256

static int load_added(struct committer *c, struct catalog_txn *txn,
		      const struct catalog_changes *ch)
{
	int err = index_load_begin(c->context.index), end_err;

	if (err)
		return err;
	err = index_added(c, txn, ch);
	end_err = index_load_end(c->context.index);
	return err ? err : end_err;
}

static void not_indexed(struct committer *c, int err)
{
	logger_print(c->context.log,
		     "index: %s; near-duplicates will be missing "
		     "until the next mount",
		     err_text(err));
}

static void update_index(struct committer *c, const struct catalog_changes *ch)
{
	const uint64_t added = ch->added_end - ch->added_begin;
	struct catalog_txn *txn;
	size_t i;
	int err;

	for (i = 0; i < ch->removed_count; i++)
		index_remove(c->context.index, ch->removed[i]);
	if (!added)
		return;
	err = catalog_read(c->context.catalog, &txn);
	if (!err) {
		err = added < LOAD_CONTENTS ? index_added(c, txn, ch) :
					      load_added(c, txn, ch);
		catalog_abort(txn);
	}
	if (err)
		not_indexed(c, err);
}

static int write_and_index(struct committer *c, const struct event *first,
			   size_t count)
{
	struct catalog_changes changes = { 0 };
	int err = write_batch(c, first, count, &changes);

	if (!err)
		update_index(c, &changes);
	if (!err && changes.event_count)
		c->context.up->changed(c->context.up->ctx, &changes);
	catalog_changes_release(&changes);
	return err;
}

int batch_write(struct committer *c, const struct event *first, size_t count)
{
	int err = write_and_index(c, first, count);

	/* Another catalog takes its place; the next transaction waits for
	 * that. */
	return err == -EUCLEAN ? write_and_index(c, first, count) : err;
}
