/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/sketch_reader.h"

#include <errno.h>
#include <string.h>

#include "core/digest/sketch/sketch.h"
#include "tests/support/test.h"

/* A catalog with so many sketches, of which the one of content n has n % 5
 * values, counted up from n. */
enum { MOST = 5000 };
static uint32_t listed, damaged;
static int list_result;

static void make_sketch(uint32_t content, struct sketch *out)
{
	size_t i;

	memset(out, 0xff, sizeof(*out));
	out->level = 0;
	out->count = content % 5;
	out->windows = out->count;
	out->folded = out->count ? out->count + SKETCH_WINDOW - 1 : 0;
	out->is_placed = false;
	for (i = 0; i < out->count; i++) {
		out->values[i] = content + i;
		out->times[i] = 1;
	}
}

/* Stays until all was unpacked. */
static uint8_t packed[MOST][64];

static size_t pack(const struct sketch *sketch, uint8_t out[64])
{
	static uint8_t bytes[SKETCH_PACKED_MAX];
	size_t len = sketch_pack(sketch, bytes);

	assert_true(len < 64);
	memcpy(out, bytes, len);
	return len;
}

/* ---- the catalog, in place of the real one ---- */

/* Every third sketch is one of a text. */
struct catalog_walk {
	bool texts;
	uint32_t id;
};

static int walk_begin(struct catalog_txn *txn, bool texts,
		      struct catalog_walk **out)
{
	static struct catalog_walk walks[2];

	assert_null(txn);
	walks[texts] = (struct catalog_walk){ .texts = texts };
	*out = &walks[texts];
	return 0;
}

int catalog_sketches_begin(struct catalog_txn *txn, struct catalog_walk **out)
{
	return walk_begin(txn, false, out);
}

int catalog_texts_begin(struct catalog_txn *txn, struct catalog_walk **out)
{
	return walk_begin(txn, true, out);
}

int catalog_sketches_next(struct catalog_walk *w, uint32_t *content_out,
			  const uint8_t **packed_out, size_t *len_out)
{
	static struct sketch sketch;

	do
		w->id++;
	while (w->texts != (w->id % 3 == 1));
	if (w->id > listed)
		return list_result;
	*content_out = w->id;
	make_sketch(w->id, &sketch);
	*packed_out = packed[w->id - 1];
	*len_out = pack(&sketch, packed[w->id - 1]);
	if (w->id == damaged)
		*len_out = 1;
	return 1;
}

int catalog_texts_next(struct catalog_walk *w, uint32_t *sketch_out,
		       const uint8_t **packed_out, size_t *len_out)
{
	return catalog_sketches_next(w, sketch_out, packed_out, len_out);
}

void catalog_walk_end(struct catalog_walk *w)
{
	assert_non_null(w);
}

/* Takes sketches until one of that content is there. */
struct taker {
	uint32_t taken, last;
	int result_of_last;
};

static int take(void *arg, uint32_t content, const struct sketch *have)
{
	struct taker *t = arg;
	static struct sketch want;

	assert_int_equal(content, ++t->taken);
	make_sketch(content, &want);
	assert_int_equal(have->folded, want.folded);
	assert_int_equal(have->windows, want.windows);
	assert_int_equal(have->level, 0);
	assert_int_equal(have->count, want.count);
	assert_memory_equal(have->values, want.values,
			    want.count * sizeof(want.values[0]));
	return content == t->last ? t->result_of_last : 0;
}

TEST(test_all_are_taken_in_order)
{
	static const uint32_t counts[] = {
		0, 1, 31, 32, 33, 255, 256, 257, MOST
	};
	size_t i;

	list_result = 0;
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct taker t = { 0 };

		listed = counts[i];
		assert_int_equal(sketch_reader_each(NULL, take, &t), 0);
		assert_int_equal(t.taken, listed);
	}
}

TEST(test_an_error_of_the_list_comes_after_what_was_found)
{
	struct taker t = { 0 };

	listed = 1000;
	list_result = -EUCLEAN;
	assert_int_equal(sketch_reader_each(NULL, take, &t), -EUCLEAN);
	assert_int_equal(t.taken, listed);
}

/* Of whichever batch, and in it. */
TEST(test_those_before_a_damaged_one_are_taken)
{
	listed = 600;
	list_result = 0;
	for (damaged = 2; damaged <= listed; damaged += 31) {
		struct taker t = { 0 };

		assert_int_equal(sketch_reader_each(NULL, take, &t), -EUCLEAN);
		assert_int_equal(t.taken, damaged - 1);
	}
	damaged = 0;
}

/* Wherever it is: the reader may be waiting for room, or have ended. */
TEST(test_the_taker_ends_it)
{
	uint32_t last;

	listed = 600;
	list_result = 0;
	for (last = 1; last <= listed; last += 13) {
		struct taker t = { .last = last, .result_of_last = -ENOMEM };

		assert_int_equal(sketch_reader_each(NULL, take, &t), -ENOMEM);
		assert_int_equal(t.taken, last);
	}
}
