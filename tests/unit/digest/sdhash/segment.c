/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sdhash/sdhash.h"
#include "tests/support/sdhash_inputs.h"

/* The arithmetic is the program's, read in its source; whole digests made with
 * it are in sdhash.c. */

TEST(padding_is_zeros_that_do_not_count)
{
	static struct sdhash s;
	static uint8_t bytes[16384 + 600];
	struct sdhash_digest want = { 0 }, have = { 0 };

	put_random(bytes, 16384 + 300, 1);
	assert_int_equal(digest_bytes((struct bytes){ bytes, sizeof(bytes) },
				      SDHASH_4_0, 16384, 0, &want),
			 0);
	assert_int_equal(sdhash_begin(&s, SDHASH_4_0, 16384, &have), 0);
	assert_int_equal(sdhash_update(&s, bytes, 16384 + 300), 0);
	assert_int_equal(sdhash_pad(&s, 300), 0);
	assert_int_equal(sdhash_final(&s), 0);
	assert_int_equal(have.count, 2);
	assert_int_equal(have.size, 16384 + 300);
	have.size = want.size;
	assert_true(same_digest(&want, &have));
	sdhash_digest_release(&want);
	sdhash_digest_release(&have);
}

struct plan {
	uint64_t size;
	uint64_t segments;
	uint64_t last_offset;
	uint64_t last_size;
	uint32_t zeros;
};

TEST(segments_are_the_programs)
{
	const uint64_t c = SDHASH_SEGMENT;
	const struct plan plans[] = {
		{ 0, 1, 0, 0, 0 },
		{ c - 1, 1, 0, c - 1, 0 },
		{ c, 1, 0, c, 0 },
		{ c + 1, 1, 0, c + 1, 0 },
		{ c + 512, 1, 0, c + 512, 0 },
		{ c + 513, 2, c, 513, 0 },
		{ 2 * c, 2, c, c, 0 },
		{ 2 * c + 1, 2, c, c + 1, 1 },
		{ 3 * c + 512, 3, 2 * c, c + 512, 512 },
		{ 3 * c + 513, 4, 3 * c, 513, 0 },
	};
	struct sdhash_segment last;
	const struct plan *p;

	for (p = plans; p < plans + sizeof(plans) / sizeof(plans[0]); p++) {
		assert_int_equal(sdhash_segments(p->size), p->segments);
		last = sdhash_segment(p->size, p->segments - 1);
		assert_int_equal(last.offset, p->last_offset);
		assert_int_equal(last.size, p->last_size);
		assert_int_equal(last.zeros, p->zeros);
		assert_true(p->segments == 1 ||
			    sdhash_segment(p->size, 0).size == c);
	}
	assert_int_equal(sdhash_default_block(SDHASH_BLOCKS_FROM - 1), 0);
	assert_int_equal(sdhash_default_block(SDHASH_BLOCKS_FROM), 16384);
}

static void check_name(uint64_t size, uint64_t index, const char *want)
{
	struct buf name = { 0 };

	assert_int_equal(sdhash_segment_name("x", size, index, &name), 0);
	assert_string_equal(name.data, want);
	buf_release(&name);
}

TEST(segments_are_named_by_offset)
{
	check_name(SDHASH_SEGMENT + 512, 0, "x");
	check_name(2 * SDHASH_SEGMENT, 0, "x.0000M");
	check_name(2 * SDHASH_SEGMENT, 1, "x.0128M");
	check_name(100 * SDHASH_SEGMENT, 80, "x.10240M");
}
