/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/sample.h"

WITH_SAMPLE(test_the_sample_itself_opens)
{
	struct sample *s = *state;

	assert_int_equal(try_all(s), 0);
	restore(s);
	assert_int_equal(try_unsealed(s), 0);
}

WITH_SAMPLE(test_a_truncated_file_is_unclean)
{
	struct sample *s = *state;
	size_t len, refused = 0, tried = 0;

	/* Every page, and a bit more than it. */
	for (len = 1; len < s->len; len += len % 4096 == 0 ? 1 : 4095) {
		restore(s);
		write_whole(s->path, s->bytes, len);
		assert_int_equal(try_all(s), -EUCLEAN);
		write_whole(s->path, s->bytes, len);
		refused += try_unsealed(s) != 0;
		tried++;
	}
	/* The last pages may be free. */
	assert_true(refused > tried - tried / 4);
	restore(s);
	write_whole(s->path, s->bytes, s->len / 2);
	assert_set_aside_and_opened(s);
}

WITH_SAMPLE(test_an_empty_file_is_a_new_catalog)
{
	struct sample *s = *state;

	write_whole(s->path, "", 0);
	fixture_open(&s->f);
	assert_int_equal(count_files(&s->f), 0);
}

WITH_SAMPLE(test_zeros_and_garbage_are_refused)
{
	struct sample *s = *state;
	uint64_t random = SEED;
	uint8_t *bytes = calloc(1, s->len);
	size_t i;

	assert_non_null(bytes);
	write_whole(s->path, bytes, s->len);
	assert_int_equal(try_all(s), -EUCLEAN);
	assert_int_equal(try_unsealed(s), -EMEDIUMTYPE);
	for (i = 0; i < s->len; i++)
		bytes[i] = (uint8_t)next_random(&random);
	restore(s);
	write_whole(s->path, bytes, s->len);
	assert_int_equal(try_all(s), -EUCLEAN);
	assert_int_equal(try_unsealed(s), -EMEDIUMTYPE);
	assert_set_aside_and_opened(s);
	free(bytes);
}

WITH_SAMPLE(test_a_zeroed_page_is_unclean_or_unused)
{
	struct sample *s = *state;
	uint8_t *bytes = malloc(s->len);
	size_t page, refused = 0;

	assert_non_null(bytes);
	for (page = 0; page < s->len / 4096; page++) {
		memcpy(bytes, s->bytes, s->len);
		memset(bytes + 4096 * page, 0, 4096);
		restore(s);
		write_whole(s->path, bytes, s->len);
		assert_int_equal(try_all(s), -EUCLEAN);
		write_whole(s->path, bytes, s->len);
		refused += try_unsealed(s) != 0;
	}
	assert_true(refused > s->len / 4096 / 4);
	free(bytes);
}

/* Where damage hurts most: headers and offsets, or anywhere. */
static size_t flip_offset(const struct sample *s, uint64_t *random)
{
	size_t page = (size_t)random_below(random, s->len / 4096);

	switch (random_below(random, 4)) {
	case 0:
		return (size_t)random_below(random, 2 * 4096) % 160 +
		       4096 * (size_t)random_below(random, 2);
	case 1:
		return 4096 * page + (size_t)random_below(random, 16);
	case 2:
		return 4096 * page + (size_t)random_below(random, 120);
	default:
		return (size_t)random_below(random, s->len);
	}
}

static void flip_some(const struct sample *s, uint64_t *random, int flips,
		      uint8_t *bytes)
{
	do {
		int n = flips;

		memcpy(bytes, s->bytes, s->len);
		for (; n > 0; n--)
			bytes[flip_offset(s, random)] ^=
				(uint8_t)(1u << random_below(random, 8));
	} while (memcmp(bytes, s->bytes, s->len) == 0);
}

WITH_SAMPLE(test_flipped_bits_break_the_seal)
{
	struct sample *s = *state;
	uint8_t *bytes = malloc(s->len);
	uint64_t random = SEED;
	int i;

	assert_non_null(bytes);
	for (i = 0; i < FLIPS; i++) {
		flip_some(s, &random, 1 + i % 3, bytes);
		write_whole(s->path, bytes, s->len);
		assert_int_equal(try_all(s), -EUCLEAN);
	}
	free(bytes);
}

WITH_SAMPLE(test_flipped_bits_do_not_crash)
{
	struct sample *s = *state;
	uint8_t *bytes = malloc(s->len);
	uint64_t random = SEED;
	size_t refused = 0;
	int i;

	assert_non_null(bytes);
	for (i = 0; i < FLIPS; i++) {
		flip_some(s, &random, 1 + i % 3, bytes);
		write_whole(s->path, bytes, s->len);
		refused += try_unsealed(s) != 0;
	}
	/* Others are in what nobody reads, or in digests. */
	assert_true(refused > FLIPS / 8);
	free(bytes);
}

/* Gives each record with this key a value of 256 MiB more than it has: LMDB
 * keeps the size of the value in the eight bytes before the key. */
static void lengthen_values(const struct sample *s, const uint8_t *key,
			    size_t len, uint8_t *bytes)
{
	uint8_t *at = bytes;
	size_t found = 0;

	memcpy(bytes, s->bytes, s->len);
	while ((at = memmem(at, (size_t)(bytes + s->len - at), key, len))) {
		at[-5] ^= 0x10;
		at += len;
		found++;
	}
	assert_true(found > 0);
}

static void assert_length_is_checked(struct sample *s, struct record_key key)
{
	uint8_t *bytes = malloc(s->len);

	assert_non_null(bytes);
	lengthen_values(s, key.bytes, key.len, bytes);
	write_whole(s->path, bytes, s->len);
	assert_int_equal(try_unsealed(s), -EUCLEAN);
	free(bytes);
}

/* A writer that removes the record would move what lies behind the page. */
WITH_SAMPLE(test_values_that_are_not_read_have_their_size)
{
	struct catalog_name name = name_of("file number 1 of many");
	struct file_key file = key_of(1), parent = key_of(100000);
	struct sample *s = *state;

	assert_length_is_checked(s, key_of_link(&file, &parent, name));
	assert_length_is_checked(s, key_of_name(&parent, name));
	/* The first one. */
	assert_length_is_checked(s, key_of_copy(1, &file));
	file = key_of(7);
	assert_length_is_checked(s, key_of_file(&file));
	assert_length_is_checked(s, SOURCE_KEY);
}

/* The free space of pages is believed by writes alone: each of these bytes
 * takes every value that differs in one bit. */
WITH_SAMPLE(test_page_headers_do_not_crash_a_writer)
{
	struct sample *s = *state;
	uint8_t *bytes = malloc(s->len);
	size_t page, offset;
	int bit;

	assert_non_null(bytes);
	for (page = 2; page < s->len / 4096; page += 11) {
		for (offset = 8; offset < 16; offset++) {
			bit = (int)((page + offset) % 8);
			memcpy(bytes, s->bytes, s->len);
			bytes[4096 * page + offset] ^= (uint8_t)(1u << bit);
			write_whole(s->path, bytes, s->len);
			(void)try_unsealed(s);
		}
	}
	free(bytes);
}
