/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"
#include "tests/unit/catalog/sketches.h"

#include "core/base/bytes.h"
#include "core/catalog/catalog_impl.h"

/* The sketches of contents, which are kept apart from their other digests. */

static int get_sketch(struct fixture *f, uint32_t content, struct sketch *out)
{
	struct catalog_txn *txn = begin_read(f);
	int err = catalog_sketch_get(txn, content, out);

	catalog_abort(txn);
	return err;
}

/* ---- what goes in comes out ---- */

WITH_CATALOG(test_a_sketch_comes_back_as_it_was)
{
	static const size_t counts[] = { 0, 1, 2, 127, 128, 700, 1024 };
	static struct sketch want, have;
	struct fixture *f = *state;
	uint32_t content;
	size_t i;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		make_sketch(counts[i], i, &want);
		content = add_content(f, i, &want);
		assert_int_equal(get_sketch(f, content, &have), 0);
		assert_same_sketch(&have, &want);
	}
	check_clean(f);
}

WITH_CATALOG(test_only_what_is_wanted_is_read)
{
	const uint32_t wanted =
		DIGEST_BIT(DIGEST_SSDEEP) | DIGEST_BIT(DIGEST_SHA256);
	static struct sketch sketch;
	struct fixture *f = *state;
	struct digests all, some;
	struct catalog_txn *txn;
	uint32_t content;

	make_sketch(500, 1, &sketch);
	content = add_content(f, 1, &sketch);
	txn = begin_read(f);
	assert_int_equal(catalog_content_get(txn, content, CONTENT_ALL, &all),
			 0);
	assert_int_equal(all.set, DIGEST_DEFAULT);
	assert_int_equal(catalog_content_get(txn, content, wanted, &some), 0);
	assert_int_equal(some.set, DIGEST_BIT(DIGEST_SSDEEP) |
					   DIGEST_BIT(DIGEST_XXH128) |
					   DIGEST_BIT(DIGEST_SIMHASH) |
					   DIGEST_BIT(DIGEST_RDC));
	assert_int_equal(digests_simhash(&some), digests_simhash(&all));
	assert_int_equal(some.blocks[DIGEST_SSDEEP].len,
			 all.blocks[DIGEST_SSDEEP].len);
	assert_memory_equal(some.blocks[DIGEST_SSDEEP].bytes,
			    all.blocks[DIGEST_SSDEEP].bytes,
			    all.blocks[DIGEST_SSDEEP].len);
	assert_null(some.blocks[DIGEST_SIF].bytes);
	digests_release(&all);
	digests_release(&some);
	catalog_abort(txn);
}

static void put_value(struct catalog_txn *txn, uint32_t content,
		      enum catalog_db db, const void *bytes, size_t len)
{
	assert_int_equal(txn_put(txn, db, key_of_id(content), bytes, len), 0);
}

/* Digests that are not wanted are not looked at. */
WITH_CATALOG(test_a_damaged_digest_does_not_hide_the_others)
{
	static struct sketch sketch;
	struct fixture *f = *state;
	struct catalog_txn *txn;
	struct digests d;
	uint32_t content;

	make_sketch(3, 1, &sketch);
	content = add_content(f, 1, &sketch);
	txn = begin_write(f);
	put_value(txn, content, DB_DIGESTS, "\xffno list", 8);
	assert_int_equal(
		catalog_content_get(txn, content, DIGEST_BIT(DIGEST_SIF), &d),
		0);
	digests_release(&d);
	assert_int_equal(
		catalog_content_get(txn, content, DIGEST_BIT(DIGEST_SISE), &d),
		-EUCLEAN);
	assert_int_equal(catalog_content_get(txn, content, CONTENT_ALL, &d),
			 -EUCLEAN);
	catalog_abort(txn);
}

WITH_CATALOG(test_a_content_may_be_without)
{
	static struct sketch have;
	struct fixture *f = *state;
	uint32_t content = add_content(f, 1, NULL);
	struct catalog_txn *txn;
	struct digests d;

	assert_int_equal(get_sketch(f, content, &have), -ENOENT);
	assert_int_equal(get_sketch(f, content + 1, &have), -ENOENT);
	txn = begin_read(f);
	assert_int_equal(catalog_content_get(txn, content, CONTENT_ALL, &d), 0);
	assert_null(d.blocks[DIGEST_SIF].bytes);
	assert_false(d.set & DIGEST_BIT(DIGEST_SIF));
	digests_release(&d);
	catalog_abort(txn);
	check_clean(f);
}

WITH_CATALOG(test_a_sketch_goes_with_its_content)
{
	static struct sketch sketch;
	struct fixture *f = *state;
	uint32_t first, second;

	make_sketch(1000, 1, &sketch);
	first = add_content(f, 1, &sketch);
	second = add_content(f, 2, &sketch);
	remove_file(f, 1);
	assert_int_equal(get_sketch(f, first, &sketch), -ENOENT);
	assert_int_equal(get_sketch(f, second, &sketch), 0);
	check_clean(f);
	remove_file(f, 2);
	assert_int_equal(get_sketch(f, second, &sketch), -ENOENT);
	check_clean(f);
}

/* ---- pieces ---- */

static size_t packed_len(const struct sketch *s)
{
	static uint8_t bytes[SKETCH_PACKED_MAX];

	return sketch_pack(s, bytes);
}

/* Of very different lengths, in one transaction: they leave no gaps. */
WITH_CATALOG(test_values_fill_their_pages)
{
	enum { CONTENTS = 300 };
	static struct sketch want, have;
	static uint8_t packed[SKETCH_PACKED_MAX];
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	size_t bytes = 0, i;
	MDB_stat st;

	for (i = 1; i <= CONTENTS; i++) {
		make_sketch(i * 37 % 1024, i, &want);
		bytes += packed_len(&want);
		assert_int_equal(blob_append(txn, DB_SKETCHES, (uint32_t)i,
					     packed,
					     sketch_pack(&want, packed)),
				 0);
	}
	for (i = CONTENTS; i; i--) {
		make_sketch(i * 37 % 1024, i, &want);
		assert_int_equal(catalog_sketch_get(txn, (uint32_t)i, &have),
				 0);
		assert_same_sketch(&have, &want);
	}
	assert_int_equal(mdb_stat(txn->mdb, f->c->dbs[DB_SKETCHES], &st), 0);
	assert_int_equal(st.ms_overflow_pages, 0);
	assert_true(st.ms_leaf_pages * 4096 < bytes + bytes / 25);
	for (i = 1; i <= CONTENTS; i++)
		assert_int_equal(blob_delete(txn, DB_SKETCHES, (uint32_t)i), 0);
	assert_int_equal(blob_delete(txn, DB_SKETCHES, 1), -ENOENT);
	assert_int_equal(oracle_entries(txn, DB_SKETCHES), 0);
	catalog_abort(txn);
}

/* A sketch of two pieces or more, without the piece of that number. */
static void assert_lacks_piece(struct fixture *f, uint8_t number)
{
	static struct sketch sketch;
	struct catalog_txn *txn = begin_write(f);
	uint8_t key[CONTENT_KEY_BYTES + 1] = { 0, 0, 0, 1, number };
	static uint8_t packed[SKETCH_PACKED_MAX];
	struct catalog_walk *walk;
	const uint8_t *bytes;
	uint32_t id;
	size_t len;

	make_sketch(1000, 1, &sketch);
	len = sketch_pack(&sketch, packed);
	assert_int_equal(blob_append(txn, DB_SKETCHES, 1, packed, len), 0);
	assert_int_equal(
		txn_delete(txn, DB_SKETCHES, key_of_bytes(key, sizeof(key))),
		0);
	assert_int_equal(catalog_sketch_get(txn, 1, &sketch), -EUCLEAN);
	assert_int_equal(catalog_sketches_begin(txn, &walk), 0);
	assert_int_equal(catalog_sketches_next(walk, &id, &bytes, &len),
			 -EUCLEAN);
	catalog_walk_end(walk);
	catalog_abort(txn);
}

WITH_CATALOG(test_a_missing_piece_is_unclean)
{
	assert_lacks_piece(*state, 0);
	assert_lacks_piece(*state, 0x80 | 1);
}

WITH_CATALOG(test_pieces_of_two_values_are_not_one)
{
	static struct sketch sketch;
	static uint8_t packed[SKETCH_PACKED_MAX];
	struct catalog_txn *txn = begin_write(*state);
	const uint8_t end[] = { 0, 0, 0, 1, 0x80 | 1 };
	const uint8_t begin[] = { 0, 0, 0, 2, 0 };
	struct catalog_walk *walk;
	const uint8_t *bytes;
	uint32_t id;
	size_t len;

	make_sketch(1000, 1, &sketch);
	len = sketch_pack(&sketch, packed);
	assert_int_equal(blob_append(txn, DB_SKETCHES, 1, packed, len), 0);
	assert_int_equal(blob_append(txn, DB_SKETCHES, 2, packed, len), 0);
	assert_int_equal(
		txn_delete(txn, DB_SKETCHES, key_of_bytes(end, sizeof(end))),
		0);
	assert_int_equal(txn_delete(txn, DB_SKETCHES,
				    key_of_bytes(begin, sizeof(begin))),
			 0);
	assert_int_equal(catalog_sketches_begin(txn, &walk), 0);
	assert_int_equal(catalog_sketches_next(walk, &id, &bytes, &len),
			 -EUCLEAN);
	catalog_walk_end(walk);
	catalog_abort(txn);
}

/* ---- identities ---- */

/* Contents whose hashes are equal are told apart. */
WITH_CATALOG(test_an_identity_is_compared)
{
	struct fixture *f = *state;
	struct catalog_txn *txn;
	uint32_t first, found;
	struct digests d;

	first = add_content(f, 1, NULL);
	(void)add_content(f, 2, NULL);
	txn = begin_write(f);
	assert_int_equal(catalog_content_get(txn, first + 1, 0, &d), 0);
	assert_int_equal(txn_put(txn, DB_IDENTITIES,
				 key_of_identity(txn->meta.key_sum, &d, first),
				 "", 0),
			 0);
	assert_int_equal(catalog_content_find(txn, &d, &found), 0);
	assert_int_equal(found, first + 1);
	d.size++;
	assert_int_equal(catalog_content_find(txn, &d, &found), -ENOENT);
	catalog_abort(txn);
}

/* ---- all of them ---- */

struct walk {
	uint32_t last;
	unsigned calls, stop_after;
};

/* Sketches are of as many values as their content's id says. */
static int visit(void *arg, uint32_t content, const uint8_t *packed, size_t len)
{
	static struct sketch sketch;
	struct walk *w = arg;

	if (content <= w->last || sketch_unpack(packed, len, &sketch) ||
	    sketch.count != content)
		return -EBADMSG;
	w->last = content;
	return ++w->calls == w->stop_after ? 7 : 0;
}

static int visit_all(struct fixture *f, struct walk *w)
{
	struct catalog_txn *txn = begin_read(f);
	int result = catalog_sketch_each(txn, visit, w);

	catalog_abort(txn);
	return result;
}

static void add_some(struct fixture *f, uint32_t contents)
{
	static struct sketch sketch;
	uint32_t content;

	for (content = 1; content <= contents; content++) {
		make_sketch(content, content, &sketch);
		assert_int_equal(
			add_content(f, content, content % 3 ? &sketch : NULL),
			content);
	}
}

WITH_CATALOG(test_all_sketches_come_in_order)
{
	struct fixture *f = *state;
	struct walk w = { 0 };

	assert_int_equal(visit_all(f, &w), 0);
	assert_int_equal(w.calls, 0);
	add_some(f, 30);
	assert_int_equal(visit_all(f, &w), 0);
	assert_int_equal(w.calls, 20);
	assert_int_equal(w.last, 29);
}

WITH_CATALOG(test_visiting_stops_when_told)
{
	struct walk w = { .stop_after = 5 };
	struct fixture *f = *state;

	add_some(f, 30);
	assert_int_equal(visit_all(f, &w), 7);
	assert_int_equal(w.calls, 5);
}

/* ---- damage ---- */

static void put_bytes(struct catalog_txn *txn, uint32_t content,
		      const uint8_t *bytes, size_t len)
{
	put_value(txn, content, DB_SKETCHES, bytes, len);
}

static int ignore(void *arg, uint32_t content, const uint8_t *packed,
		  size_t len)
{
	(void)arg;
	(void)content;
	(void)packed;
	(void)len;
	return 0;
}

/* In the place of the only content's sketch; forgotten again. */
static void assert_unclean(struct fixture *f, uint32_t content,
			   const uint8_t *bytes, size_t len)
{
	static struct sketch sketch;
	struct catalog_txn *txn = begin_write(f);
	struct digests d;

	put_bytes(txn, content, bytes, len);
	assert_int_equal(catalog_sketch_get(txn, content, &sketch), -EUCLEAN);
	assert_int_equal(catalog_content_get(txn, content, CONTENT_ALL, &d),
			 -EUCLEAN);
	catalog_abort(txn);
}

/* Bytes of that sketch; they and their number can be spoiled then. */
static size_t make_bytes(size_t count, uint8_t bytes[SKETCH_PACKED_MAX])
{
	static struct sketch sketch;

	make_sketch(count, 7, &sketch);
	return sketch_pack(&sketch, bytes);
}

static uint32_t add_one(struct fixture *f)
{
	static struct sketch sketch;
	uint32_t content;

	make_sketch(40, 1, &sketch);
	content = add_content(f, 1, &sketch);
	assert_int_equal(content, 1);
	return content;
}

WITH_CATALOG(test_bytes_that_were_cut_are_unclean)
{
	static uint8_t bytes[SKETCH_PACKED_MAX + 1];
	struct fixture *f = *state;
	uint32_t content = add_one(f);
	size_t len = make_bytes(5, bytes), i;

	for (i = 0; i < len; i++)
		assert_unclean(f, content, bytes, i);
	bytes[len] = 0;
	assert_unclean(f, content, bytes, len + 1);
	len = make_bytes(900, bytes);
	assert_unclean(f, content, bytes, len - 1);
	assert_unclean(f, content, bytes, sizeof(bytes));
}

WITH_CATALOG(test_a_missing_sketch_is_unclean)
{
	static uint8_t bytes[SKETCH_PACKED_MAX];
	size_t len = make_bytes(5, bytes);
	struct fixture *f = *state;
	uint32_t content = add_one(f);
	struct catalog_txn *txn = begin_write(f);
	struct digests d;

	assert_int_equal(txn_delete(txn, DB_SKETCHES, key_of_id(content)), 0);
	assert_int_equal(catalog_content_get(txn, content, CONTENT_ALL, &d),
			 -EUCLEAN);
	assert_int_equal(
		txn_put(txn, DB_SKETCHES, key_of_bytes("\0\0", 3), bytes, len),
		0);
	assert_int_equal(catalog_sketch_each(txn, ignore, NULL), -EUCLEAN);
	catalog_abort(txn);
	check_clean(f);
}
