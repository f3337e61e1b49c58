/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/index/fixture.h"

#include "core/index/frequency.h"
#include "core/index/index_impl.h"

/*
 * What an index has counted is kept from one start to the next.  The promise:
 * the index is the one that would have counted all contents, and bytes that are
 * anything else are refused.
 */
enum { VALUES = 100 };

/* The sketch of a made-up content; all have one value in common. */
static void make_sketch(uint32_t content, struct sketch *out)
{
	unsigned i;

	out->count = 0;
	sketch_add(out, value_of(0));
	for (i = 1; i < VALUES; i++)
		sketch_add(out, value_of(VALUES * (uint64_t)content + i));
}

static void add(struct index *ix, uint32_t content)
{
	static struct sketch sketch;

	make_sketch(content, &sketch);
	add_sketch(ix, content, 1000, &sketch);
}

static void add_contents(struct index *ix, uint32_t first, uint32_t count)
{
	while (count--)
		add(ix, first++);
}

/* ---- counters ---- */

static void store_counters(unsigned contents, struct buf *out)
{
	static struct sketch sketch;
	struct frequency *f;
	unsigned i;

	assert_int_equal(frequency_new(&f), 0);
	for (i = 1; i <= contents; i++) {
		make_sketch(i, &sketch);
		frequency_add(f, &sketch);
	}
	assert_int_equal(frequency_store(f, out), 0);
	frequency_free(f);
}

static int load_counters(const struct buf *bytes, size_t len,
			 struct frequency **out)
{
	const uint8_t *from = (const uint8_t *)bytes->data, *at = from;
	int err = frequency_load(&at, from + len, out);

	assert_ptr_equal(at, err ? from : from + len);
	return err;
}

/* In tables of each size but the largest, and in that. */
static void test_stored_counters_are_the_counters(void **state)
{
	static const unsigned contents[] = { 0, 1, 500, 3000, 90000 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
		struct buf first = { 0 }, again = { 0 };
		struct frequency *f;

		store_counters(contents[i], &first);
		assert_int_equal(load_counters(&first, first.len, &f), 0);
		assert_int_equal(frequency_store(f, &again), 0);
		assert_int_equal(first.len, again.len);
		assert_memory_equal(first.data, again.data, first.len);
		frequency_free(f);
		buf_release(&first);
		buf_release(&again);
	}
}

static void test_other_bytes_are_no_counters(void **state)
{
	struct buf bytes = { 0 };
	struct frequency *f = NULL;
	char bits;
	int other;
	size_t len;

	(void)state;
	store_counters(1, &bytes);
	for (len = 0; len < bytes.len; len += len < 100 ? 1 : 997)
		assert_int_equal(load_counters(&bytes, len, &f), -EINVAL);
	assert_int_equal(load_counters(&bytes, bytes.len - 1, &f), -EINVAL);
	bits = bytes.data[0];
	for (other = 0; other < 256; other++) {
		bytes.data[0] = (char)other;
		if (bytes.data[0] != bits)
			assert_int_equal(load_counters(&bytes, bytes.len, &f),
					 -EINVAL);
	}
	buf_release(&bytes);
}

/* ---- an index ---- */

static void store(struct index *ix, struct buf *out)
{
	int kept;

	buf_clear(out);
	kept = index_store_counts(ix, out);
	assert_in_range(kept, 0, 1);
	assert_int_equal(kept, out->len > 1);
}

static int load(struct index *ix, const struct buf *bytes)
{
	const uint8_t *from = (const uint8_t *)bytes->data, *at = from;
	int err = index_load_counts(ix, &at, from + bytes->len);

	assert_ptr_equal(at, err ? from : from + bytes->len);
	return err;
}

/* An index of contents 1 to count, which are loaded; counts may be NULL. */
static struct index *load_index(const struct buf *counts, uint32_t count)
{
	struct index *ix;

	assert_int_equal(index_new(&ix), 0);
	if (counts)
		assert_int_equal(load(ix, counts), 0);
	assert_int_equal(index_load_begin(ix), 0);
	add_contents(ix, 1, count);
	assert_int_equal(index_load_end(ix), 0);
	return ix;
}

static void assert_same_counts(struct index *a, struct index *b)
{
	struct buf x = { 0 }, y = { 0 };

	store(a, &x);
	store(b, &y);
	assert_int_equal(x.len, y.len);
	assert_memory_equal(x.data, y.data, x.len);
	buf_release(&x);
	buf_release(&y);
}

static void assert_same_candidates(struct index *a, struct index *b,
				   uint32_t content)
{
	static struct sketch sketch;
	struct index_candidate x[INDEX_MATCHES], y[INDEX_MATCHES];
	struct digests d = { .size = 1000 };
	struct index_query q = { .digests = &d,
				 .sketch = &sketch,
				 .first_content = 1 };
	size_t x_count, y_count;

	make_sketch(content, &sketch);
	assert_int_equal(index_candidates(a, &q, INDEX_BY_SKETCH, x,
					  INDEX_MATCHES, &x_count),
			 0);
	assert_int_equal(index_candidates(b, &q, INDEX_BY_SKETCH, y,
					  INDEX_MATCHES, &y_count),
			 0);
	assert_true(x_count > 0);
	assert_int_equal(x_count, y_count);
	assert_memory_equal(x, y, x_count * sizeof(*x));
}

/* Also of those that are added one by one later. */
static void test_an_index_with_kept_counts_is_as_one_that_counted(void **state)
{
	static const uint32_t contents[] = { 0, 1, 200, 3000 };
	struct buf counts = { 0 };
	struct index *counted, *kept;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
		counted = load_index(NULL, contents[i]);
		store(counted, &counts);
		kept = load_index(&counts, contents[i]);
		assert_same_counts(counted, kept);
		add_contents(counted, contents[i] + 1, 300);
		add_contents(kept, contents[i] + 1, 300);
		assert_same_counts(counted, kept);
		assert_same_candidates(counted, kept, 1);
		assert_same_candidates(counted, kept, contents[i] + 150);
		index_free(counted);
		index_free(kept);
	}
	buf_release(&counts);
}

/* The entries of the second load are what the first one ended with. */
static void test_the_limit_of_the_postings_is_kept(void **state)
{
	enum { BUDGET = 20000, CONTENTS = 2000 };
	struct buf counts = { 0 };
	struct index *counted, *kept;
	uint32_t limit;

	(void)state;
	assert_int_equal(index_new(&counted), 0);
	postings_free(counted->postings);
	assert_int_equal(postings_new(BUDGET, &counted->postings), 0);
	add_contents(counted, 1, CONTENTS);
	limit = postings_limit(counted->postings);
	assert_in_range(limit, 1, POSTINGS_KEYS / 2);
	store(counted, &counts);
	assert_int_equal(index_new(&kept), 0);
	assert_int_equal(load(kept, &counts), 0);
	assert_int_equal(postings_limit(kept->postings), limit);
	assert_int_equal(index_load_begin(kept), 0);
	add_contents(kept, 1, CONTENTS);
	assert_int_equal(index_load_end(kept), 0);
	assert_same_candidates(counted, kept, 7);
	assert_int_equal(postings_limit(kept->postings), limit);
	index_free(counted);
	index_free(kept);
	buf_release(&counts);
}

static bool is_kept(struct index *ix)
{
	struct buf counts = { 0 };
	bool kept;

	store(ix, &counts);
	kept = counts.len > 1;
	buf_release(&counts);
	return kept;
}

/* Over several starts, as what was removed before stays counted. */
static void test_removed_contents_stay_counted_until_there_are_many(
	void **state)
{
	enum { CONTENTS = 900, MOST = CONTENTS / (INDEX_REMOVED_PART + 1) };
	struct buf counts = { 0 };
	struct index *first, *second;
	uint32_t i;

	(void)state;
	first = load_index(NULL, CONTENTS);
	for (i = CONTENTS; i > CONTENTS - MOST; i--)
		index_remove(first, i);
	index_remove(first, CONTENTS); /* is not there */
	assert_true(is_kept(first));
	store(first, &counts);
	second = load_index(&counts, CONTENTS - MOST);
	assert_same_counts(first, second);
	index_remove(second, 1);
	assert_false(is_kept(second));
	store(second, &counts);
	index_free(first);
	/* That it is not kept is no error. */
	first = load_index(&counts, CONTENTS - MOST);
	assert_true(is_kept(first));
	index_free(first);
	index_free(second);
	buf_release(&counts);
}

static void test_counts_that_lack_a_content_are_not_kept(void **state)
{
	struct index *ix = load_index(NULL, 10);

	(void)state;
	assert_true(is_kept(ix));
	index_distrust_counts(ix);
	assert_false(is_kept(ix));
	index_free(ix);
}

/* The index is as without them then. */
static void assert_refused(struct buf *bytes, size_t len)
{
	const struct buf piece = { .data = bytes->data, .len = len };
	struct index *ix, *fresh;

	assert_int_equal(index_new(&ix), 0);
	assert_int_equal(index_new(&fresh), 0);
	assert_int_equal(load(ix, &piece), -EINVAL);
	assert_same_counts(ix, fresh);
	index_free(ix);
	index_free(fresh);
}

static void test_other_bytes_are_no_counts(void **state)
{
	static const unsigned char wrong[][2] = {
		{ 0, 2 },    /* a form that is not known */
		{ 0, 255 },  /* another one */
		{ 9, 3 },    /* a limit that is no power of two */
		{ 12, 255 }, /* one that is above all keys */
		{ 13, 13 },  /* too few counters */
		{ 13, 15 },  /* more than there are */
		{ 13, 64 },  /* more than there can be */
	};
	struct index *ix = load_index(NULL, 50);
	struct buf counts = { 0 };
	size_t i;

	(void)state;
	store(ix, &counts);
	index_free(ix);
	for (i = 0; i < 40; i++)
		assert_refused(&counts, i);
	assert_refused(&counts, counts.len - 1);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char *at = counts.data + wrong[i][0], before = *at;

		*at = (char)wrong[i][1];
		assert_refused(&counts, counts.len);
		*at = before;
	}
	buf_release(&counts);
}

/* Whatever they count, the index can be used. */
static void test_random_counts_do_no_harm(void **state)
{
	struct index *ix = load_index(NULL, 50);
	struct random r = { 13 };
	struct buf counts = { 0 };
	size_t i, round;

	(void)state;
	store(ix, &counts);
	index_free(ix);
	for (round = 0; round < 20; round++) {
		for (i = 1; i < counts.len; i++)
			if (i < 9 || i > 13)
				counts.data[i] = (char)random_next(&r);
		ix = load_index(&counts, 50);
		add_contents(ix, 51, 50);
		index_remove(ix, 3);
		assert_same_candidates(ix, ix, 20);
		assert_true(index_bytes(ix) < 64 << 20);
		(void)is_kept(ix);
		index_free(ix);
	}
	buf_release(&counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stored_counters_are_the_counters),
		cmocka_unit_test(test_other_bytes_are_no_counters),
		cmocka_unit_test(
			test_an_index_with_kept_counts_is_as_one_that_counted),
		cmocka_unit_test(test_the_limit_of_the_postings_is_kept),
		cmocka_unit_test(
			test_removed_contents_stay_counted_until_there_are_many),
		cmocka_unit_test(test_counts_that_lack_a_content_are_not_kept),
		cmocka_unit_test(test_other_bytes_are_no_counts),
		cmocka_unit_test(test_random_counts_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
