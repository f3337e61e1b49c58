/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"
#include "tests/unit/catalog/sketches.h"

#include "core/base/bytes.h"
#include "core/catalog/catalog_impl.h"

/* The sketches of contents, which are kept apart from their other digests. */

static int get_sketch(struct fixture *f, uint32_t content,
		      struct sif_sketch *out)
{
	struct catalog_txn *txn = begin_read(f);
	int err = catalog_sketch_get(txn, content, out);

	catalog_abort(txn);
	return err;
}

/* ---- what goes in comes out ---- */

static void test_a_sketch_comes_back_as_it_was(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 127, 128, 700, 1024 };
	static struct sif_sketch want, have;
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

static void test_the_digest_is_made_of_it(void **state)
{
	static struct sif_sketch want;
	struct fixture *f = *state;
	struct catalog_txn *txn;
	struct buf text = { 0 };
	struct digests d;
	uint32_t content;

	make_sketch(500, 1, &want);
	assert_int_equal(sif_format(&want, &text), 0);
	content = add_content(f, 1, &want);
	txn = begin_read(f);
	assert_int_equal(catalog_content_get(txn, content, &d), 0);
	assert_true(d.set & DIGEST_BIT(DIGEST_SIF));
	assert_string_equal(d.text[DIGEST_SIF], text.data);
	digests_release(&d);
	catalog_abort(txn);
	buf_release(&text);
}

/* Which is a table of its own. */
static void test_a_content_has_a_sketch_of_its_text(void **state)
{
	static struct sif_sketch sketch, own, have;
	struct fixture *f = *state;
	struct catalog_txn *txn;
	struct digests d;
	uint32_t content;

	make_sketch(500, 1, &sketch);
	content = add_content(f, 1, &sketch);
	txn = begin_read(f);
	assert_int_equal(catalog_content_get(txn, content, &d), 0);
	assert_int_equal(sif_parse(d.text[DIGEST_TEXT],
				   strlen(d.text[DIGEST_TEXT]), &own),
			 0);
	assert_int_equal(catalog_text_sketch_get(txn, content, &have), 0);
	assert_same_sketch(&have, &own);
	assert_int_equal(catalog_text_sketch_get(txn, content + 1, &have),
			 -ENOENT);
	assert_int_equal(catalog_sketch_get(txn, content, &have), 0);
	assert_same_sketch(&have, &sketch);
	digests_release(&d);
	catalog_abort(txn);
	remove_file(f, 1);
	txn = begin_read(f);
	assert_int_equal(catalog_text_sketch_get(txn, content, &have), -ENOENT);
	catalog_abort(txn);
	check_clean(f);
}

static void test_only_what_is_wanted_is_read(void **state)
{
	const uint32_t wanted =
		DIGEST_BIT(DIGEST_SSDEEP) | DIGEST_BIT(DIGEST_SIF8);
	static struct sif_sketch sketch;
	struct fixture *f = *state;
	struct digests all, some;
	struct catalog_txn *txn;
	uint32_t content;
	int id;

	make_sketch(500, 1, &sketch);
	content = add_content(f, 1, &sketch);
	txn = begin_read(f);
	assert_int_equal(catalog_content_get(txn, content, &all), 0);
	assert_int_equal(catalog_content_some(txn, content, wanted, &some), 0);
	assert_int_equal(some.set, all.set & (wanted | ~DIGEST_TEXTS));
	assert_int_equal(some.simhash, all.simhash);
	for (id = 0; id < DIGEST_COUNT; id++) {
		if (wanted & DIGEST_BIT(id))
			assert_string_equal(some.text[id], all.text[id]);
		else
			assert_null(some.text[id]);
	}
	digests_release(&all);
	digests_release(&some);
	catalog_abort(txn);
}

static void test_a_content_may_be_without(void **state)
{
	static struct sif_sketch have;
	struct fixture *f = *state;
	uint32_t content = add_content(f, 1, NULL);
	struct catalog_txn *txn;
	struct digests d;

	assert_int_equal(get_sketch(f, content, &have), -ENOENT);
	assert_int_equal(get_sketch(f, content + 1, &have), -ENOENT);
	txn = begin_read(f);
	assert_int_equal(catalog_content_get(txn, content, &d), 0);
	assert_null(d.text[DIGEST_SIF]);
	assert_false(d.set & DIGEST_BIT(DIGEST_SIF));
	digests_release(&d);
	catalog_abort(txn);
	check_clean(f);
}

static void test_a_sketch_goes_with_its_content(void **state)
{
	static struct sif_sketch sketch;
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

/* ---- all of them ---- */

struct walk {
	uint32_t last;
	unsigned calls, stop_after;
};

/* Sketches are of as many values as their content's id says. */
static int visit(void *arg, uint32_t content, const uint8_t *packed, size_t len)
{
	static struct sif_sketch sketch;
	struct walk *w = arg;

	if (content <= w->last || sif_unpack(packed, len, &sketch) ||
	    sketch.count + sketch.rest != content)
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
	static struct sif_sketch sketch;
	uint32_t content;

	for (content = 1; content <= contents; content++) {
		make_sketch(content, content, &sketch);
		assert_int_equal(
			add_content(f, content, content % 3 ? &sketch : NULL),
			content);
	}
}

static void test_all_sketches_come_in_order(void **state)
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

static void test_visiting_stops_when_told(void **state)
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
	uint8_t id[CONTENT_KEY_BYTES];

	store_be32(id, content);
	assert_int_equal(txn_put(txn, DB_SKETCHES, id, sizeof(id), bytes, len),
			 0);
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

static void assert_reported(struct catalog_txn *txn, const char *want)
{
	struct buf report = { 0 };

	assert_int_equal(catalog_check(txn, &ROOT, &report), -EUCLEAN);
	if (!strstr(report.data, want))
		fail_msg("want \"%s\", have \"%s\"", want, report.data);
	buf_release(&report);
}

/* In the place of the only content's sketch; forgotten again. */
static void assert_unclean(struct fixture *f, uint32_t content,
			   const uint8_t *bytes, size_t len)
{
	static struct sif_sketch sketch;
	struct catalog_txn *txn = begin_write(f);
	struct digests d;

	put_bytes(txn, content, bytes, len);
	assert_int_equal(catalog_sketch_get(txn, content, &sketch), -EUCLEAN);
	assert_int_equal(catalog_content_get(txn, content, &d), -EUCLEAN);
	assert_reported(txn, "content 1: an unreadable sketch");
	catalog_abort(txn);
}

/* Bytes of that sketch; they and their number can be spoiled then. */
static size_t make_bytes(size_t count, uint8_t bytes[SIF_PACKED_MAX])
{
	static struct sif_sketch sketch;

	make_sketch(count, 7, &sketch);
	return sif_pack(&sketch, bytes);
}

static uint32_t add_one(struct fixture *f)
{
	static struct sif_sketch sketch;
	uint32_t content;

	make_sketch(40, 1, &sketch);
	content = add_content(f, 1, &sketch);
	assert_int_equal(content, 1);
	return content;
}

static void test_bytes_that_were_cut_are_unclean(void **state)
{
	static uint8_t bytes[SIF_PACKED_MAX + 1];
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

static void test_a_sketch_that_cannot_be_is_unclean(void **state)
{
	static uint8_t bytes[SIF_PACKED_MAX];
	struct fixture *f = *state;
	uint32_t content = add_one(f);
	size_t len = make_bytes(5, bytes);

	bytes[1] = 4; /* fewer distinct ones than there are */
	assert_unclean(f, content, bytes, len);
	len = make_bytes(5, bytes);
	bytes[0] = 3; /* a window that is none */
	assert_unclean(f, content, bytes, len);
	len = make_bytes(5, bytes);
	bytes[2] = 4; /* fewer windows than are distinct */
	assert_unclean(f, content, bytes, len);
	len = make_bytes(1, bytes);
	bytes[1] = 2; /* cut to one */
	assert_unclean(f, content, bytes, len);
	len = make_bytes(5, bytes);
	bytes[len - 1] |= 0x80; /* a bit that is not needed */
	assert_unclean(f, content, bytes, len);
}

static void test_the_check_misses_no_sketch(void **state)
{
	static uint8_t bytes[SIF_PACKED_MAX];
	size_t len = make_bytes(5, bytes);
	uint8_t id[CONTENT_KEY_BYTES];
	struct fixture *f = *state;
	uint32_t content = add_one(f), without = add_content(f, 2, NULL);
	struct catalog_txn *txn = begin_write(f);
	struct digests d;

	store_be32(id, content);
	assert_int_equal(txn_delete(txn, DB_SKETCHES, id, sizeof(id)), 0);
	assert_int_equal(catalog_content_get(txn, content, &d), -EUCLEAN);
	assert_reported(txn, "content 1: sketch and digest set disagree");
	catalog_abort(txn);
	txn = begin_write(f);
	put_bytes(txn, without, bytes, len);
	assert_reported(txn, "content 2: sketch and digest set disagree");
	catalog_abort(txn);
	txn = begin_write(f);
	put_bytes(txn, 77, bytes, len);
	assert_reported(txn, "content 77: a sketch and no record");
	catalog_abort(txn);
	txn = begin_write(f);
	assert_int_equal(txn_put(txn, DB_SKETCHES, id, 3, bytes, len), 0);
	assert_reported(txn, "a sketch with a wrong key");
	assert_int_equal(catalog_sketch_each(txn, ignore, NULL), -EUCLEAN);
	catalog_abort(txn);
	check_clean(f);
}

/* ---- the short ones ---- */

static int get_short(struct catalog_txn *txn, uint32_t content)
{
	struct short_sketch sketch;

	return catalog_short_sketch_get(txn, content, &sketch);
}

static void test_a_short_sketch_comes_and_goes(void **state)
{
	struct fixture *f = *state;
	uint32_t content = add_content(f, 4, NULL);
	struct catalog_txn *txn = begin_read(f);
	struct short_sketch sketch;
	struct digests d;

	assert_int_equal(catalog_short_sketch_get(txn, content, &sketch), 0);
	assert_int_equal(sketch.count, 1);
	assert_int_equal(catalog_content_get(txn, content, &d), 0);
	assert_string_equal(d.text[DIGEST_SIF8], "sif8:AQEE");
	digests_release(&d);
	catalog_abort(txn);
	remove_file(f, 4);
	txn = begin_read(f);
	assert_int_equal(get_short(txn, content), -ENOENT);
	catalog_abort(txn);
	check_clean(f);
}

/* ---- signatures ---- */

/* A content with that SiSe signature; NULL: it has none.  Returns what reading it
 * gives. */
static int get_signature(struct fixture *f, uint64_t inode, char *signature,
			 struct sise_signature *out)
{
	struct catalog_txn *txn = begin_write(f);
	struct file_identity id = identity_of(inode);
	struct file_key key = key_of(inode);
	uint32_t content;
	char text[64];
	struct digests d = digests_of(inode, text, sizeof(text));
	int err;

	d.text[DIGEST_SISE] = signature;
	if (!signature)
		d.set &= ~DIGEST_BIT(DIGEST_SISE);
	assert_int_equal(catalog_file_set_fresh(txn, &key, &id, &d), 0);
	assert_int_equal(catalog_content_find(txn, &d, &content), 0);
	commit(txn);
	txn = begin_read(f);
	err = catalog_sise_get(txn, content, out);
	catalog_abort(txn);
	return err;
}

static void test_a_signature_is_read(void **state)
{
	static char good[] = "6144(6143):AAAAbbbb::3072(3071):++//aa";
	static char bad[] = "no signature";
	static struct sise_signature have;
	struct fixture *f = *state;

	assert_int_equal(get_signature(f, 1, good, &have), 0);
	assert_int_equal(have.leading.block_size, 6144);
	assert_int_equal(have.leading.count, 4);
	assert_int_equal(have.secondary.count, 3);
	assert_int_equal(get_signature(f, 2, NULL, &have), -ENOENT);
	assert_int_equal(get_signature(f, 3, bad, &have), -EUCLEAN);
}

static void test_the_check_misses_no_short_sketch(void **state)
{
	static const uint8_t good[] = { 0, 0 }, bad[] = { 1, 1 };
	uint8_t id[CONTENT_KEY_BYTES];
	struct fixture *f = *state;
	uint32_t content = add_one(f);
	struct catalog_txn *txn = begin_write(f);

	store_be32(id, content);
	assert_int_equal(txn_put(txn, DB_SHORT_SKETCHES, id, sizeof(id), bad,
				 sizeof(bad)),
			 0);
	assert_int_equal(get_short(txn, content), -EUCLEAN);
	assert_reported(txn, "content 1: an unreadable sketch");
	catalog_abort(txn);
	txn = begin_write(f);
	store_be32(id, 77);
	assert_int_equal(txn_put(txn, DB_SHORT_SKETCHES, id, sizeof(id), good,
				 sizeof(good)),
			 0);
	assert_reported(txn, "content 77: a sketch and no record");
	catalog_abort(txn);
	check_clean(f);
}

#define with_catalog(name)                                        \
	cmocka_unit_test_setup_teardown(name, fixture_setup_open, \
					fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_catalog(test_a_sketch_comes_back_as_it_was),
		with_catalog(test_the_digest_is_made_of_it),
		with_catalog(test_a_content_has_a_sketch_of_its_text),
		with_catalog(test_only_what_is_wanted_is_read),
		with_catalog(test_a_content_may_be_without),
		with_catalog(test_a_sketch_goes_with_its_content),
		with_catalog(test_all_sketches_come_in_order),
		with_catalog(test_visiting_stops_when_told),
		with_catalog(test_bytes_that_were_cut_are_unclean),
		with_catalog(test_a_sketch_that_cannot_be_is_unclean),
		with_catalog(test_the_check_misses_no_sketch),
		with_catalog(test_a_short_sketch_comes_and_goes),
		with_catalog(test_a_signature_is_read),
		with_catalog(test_the_check_misses_no_short_sketch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
