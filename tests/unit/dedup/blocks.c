/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/act/dedup/dedup_impl.h"

enum { BLOCKS = 3000 };

/* A block that is like no other of its number. */
static void make_block(uint64_t number, unsigned char *out)
{
	size_t i;

	for (i = 0; i < BLOCK_BYTES; i++) {
		number = number * 6364136223846793005u + 1442695040888963407u;
		out[i] = (unsigned char)(number >> 56);
	}
}

static int make_file(void)
{
	unsigned char block[BLOCK_BYTES];
	int fd = memfd_create("blocks", MFD_CLOEXEC);
	uint64_t i;

	assert_true(fd >= 0);
	for (i = 0; i < BLOCKS; i++) {
		make_block(i, block);
		assert_int_equal(pwrite(fd, block, sizeof(block),
					(off_t)(i * BLOCK_BYTES)),
				 BLOCK_BYTES);
	}
	return fd;
}

/* How many of the blocks are found, each where it is. */
static size_t count_found(const struct block_table *t)
{
	unsigned char block[BLOCK_BYTES];
	uint64_t i, number;
	size_t found = 0;

	for (i = 0; i < BLOCKS; i++) {
		make_block(i, block);
		if (!block_table_find(t, block, &number))
			continue;
		assert_int_equal(number, i);
		found++;
	}
	return found;
}

TEST(test_every_block_is_found)
{
	struct block_table t = { 0 };
	unsigned char block[BLOCK_BYTES];
	uint64_t number;
	int fd = make_file();

	assert_int_equal(block_table_fill(&t, fd, BLOCKS * BLOCK_BYTES,
					  BLOCK_TABLE_SLOTS),
			 0);
	assert_int_equal(t.sample_bits, 0);
	assert_int_equal(count_found(&t), BLOCKS);
	make_block(BLOCKS + 1, block);
	assert_false(block_table_find(&t, block, &number));
	block_table_release(&t);
	close(fd);
}

TEST(test_a_small_table_has_a_sample)
{
	struct block_table t = { 0 };
	size_t found;
	int fd = make_file();

	assert_int_equal(block_table_fill(&t, fd, BLOCKS * BLOCK_BYTES, 1024),
			 0);
	assert_true(t.slot_count <= 1024);
	assert_int_equal(t.sample_bits, 3);
	found = count_found(&t);
	assert_in_range(found, BLOCKS / 8 - 100, BLOCKS / 8 + 100);
	block_table_release(&t);
	close(fd);
}

TEST(test_zeros_are_not_in_the_table)
{
	static const unsigned char zeros[BLOCK_BYTES];
	struct block_table t = { 0 };
	uint64_t number;
	int fd = memfd_create("zeros", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, 10 * BLOCK_BYTES), 0);
	assert_int_equal(block_table_fill(&t, fd, 10 * BLOCK_BYTES, 1024), 0);
	assert_false(block_table_find(&t, zeros, &number));
	block_table_release(&t);
	close(fd);
}

/* ---- extents ---- */

TEST(test_what_is_not_referred_to_any_more_is_free)
{
	struct extent was[] = {
		{ .start = 0, .end = 100, .place = 1000 },
		{ .start = 100, .end = 200, .place = 5000, .shared = true },
		{ .start = 200, .end = 300, .place = 2000 },
	};
	/* The second half of the first extent and the last one are gone. */
	struct extent is[] = {
		{ .start = 0, .end = 50, .place = 1000 },
		{ .start = 50, .end = 300, .place = 9000, .shared = true },
	};
	struct extent_map before = { was, 3 }, after = { is, 2 };

	assert_int_equal(extent_map_unshared(&before, 50, 250), 100);
	assert_int_equal(extent_map_missing(&before, &after), 150);
	assert_int_equal(extent_map_missing(&after, &before), 0);
}

TEST(test_an_extent_is_found_by_offset)
{
	struct extent list[] = {
		{ .start = 0, .end = 100, .place = 1000 },
		{ .start = 200, .end = 300, .place = 2000 },
	};
	const struct extent_map m = { list, 2 };

	assert_int_equal(extent_map_place(&m, 99), 1099);
	assert_int_equal(extent_map_place(&m, 100), 0);
	assert_int_equal(extent_map_place(&m, 199), 0);
	assert_int_equal(extent_map_place(&m, 250), 2050);
	assert_int_equal(extent_map_place(&m, 300), 0);
}
