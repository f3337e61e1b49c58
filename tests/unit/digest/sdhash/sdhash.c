/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>

#include <openssl/sha.h>

#include "core/base/hex.h"
#include "core/digest/sdhash/sdhash.h"
#include "tests/support/sdhash_inputs.h"

/* Golden values: the program itself, see tests/vectors/sdhash/README.md. */

static void sha256(const void *data, size_t len, char out[65])
{
	uint8_t hash[SHA256_DIGEST_LENGTH];

	(void)SHA256(data, len, hash);
	hex_encode(hash, sizeof(hash), out);
}

/* ---- whole digests ---- */

/* A line of digests.tsv. */
struct golden {
	char *name;
	char *mode;
	char *rules;
	size_t filters;
	size_t last_or_block;
	size_t line_bytes;
	char *line_sha256;
};

static struct golden golden_of(const struct tsv *line)
{
	return (struct golden){
		.name = line->fields[0],
		.mode = line->fields[1],
		.rules = line->fields[2],
		.filters = strtoul(line->fields[3], NULL, 10),
		.last_or_block = strtoul(line->fields[4], NULL, 10),
		.line_bytes = strtoul(line->fields[5], NULL, 10),
		.line_sha256 = line->fields[6],
	};
}

/* The digest line with its newline; "" if there is none. */
static struct buf line_of(struct bytes b, const struct golden *g)
{
	struct sdhash_digest d = { 0 };
	struct buf line = { 0 };
	unsigned kib = 0;
	int err;

	(void)sscanf(g->mode, "block%u", &kib);
	err = digest_bytes(b, kib * SDHASH_BLOCK_UNIT, b.len, &d);
	assert_true(err == 0 || err == -ENODATA);
	name_digest(&d, g->name);
	if (!err) {
		assert_int_equal(sdhash_format(&d, &line), 0);
		assert_int_equal(line.len, sdhash_text_length(&d));
		assert_int_equal(buf_append_text(&line, "\n"), 0);
	}
	sdhash_digest_release(&d);
	return line;
}

static int is_stored_line(const struct golden *g, const struct buf *line)
{
	struct bytes want;
	char path[256];
	int same;

	if (g->line_bytes == 0 || g->line_bytes > 8192)
		return 1;
	(void)snprintf(path, sizeof(path), SDHASH_DIR "lines/%s.%s.%s.sdbf",
		       g->name, g->mode, g->rules);
	want = bytes_read(path);
	same = want.len == line->len &&
	       memcmp(want.data, line->data, want.len) == 0;
	free(want.data);
	return same;
}

/* Whether the digest that was read from a line is as golden says, and gives
 * the line again. */
static int reads_back(const struct golden *g, const struct buf *line)
{
	struct sdhash_digest d = { 0 };
	struct buf again = { 0 };
	int ok;

	assert_int_equal(sdhash_parse(line->data, line->len - 1, &d), 0);
	assert_int_equal(sdhash_format(&d, &again), 0);
	ok = again.len == line->len - 1 &&
	     memcmp(again.data, line->data, again.len) == 0 &&
	     d.count == g->filters;
	if (d.block_size)
		ok = ok && d.block_size == g->last_or_block;
	else
		ok = ok && d.filters[d.count - 1].count == g->last_or_block;
	buf_release(&again);
	sdhash_digest_release(&d);
	return ok;
}

static int check_golden(const struct golden *g)
{
	struct tsv input = input_line(g->name);
	struct bytes b = input_make(input.fields[3]);
	struct buf line;
	char hash[65];
	int ok;

	sha256(b.data, b.len, hash);
	assert_string_equal(hash, input.fields[2]);
	line = line_of(b, g);
	sha256(line.len ? line.data : "", line.len, hash);
	ok = line.len == g->line_bytes && strcmp(hash, g->line_sha256) == 0 &&
	     is_stored_line(g, &line);
	if (line.len > 0)
		ok = ok && reads_back(g, &line);
	buf_release(&line);
	tsv_close(&input);
	free(b.data);
	return ok;
}

/* Of all but the lines of 3.4 alone, and of inputs that the program cuts by
 * itself (input.c). */
TEST(digests_are_the_programs)
{
	struct tsv lines = tsv_open(SDHASH_DIR "digests.tsv");
	struct golden g;
	size_t count = 0;

	assert_true(tsv_next(&lines));
	while (tsv_next(&lines)) {
		g = golden_of(&lines);
		if (strcmp(g.rules, "3.4") == 0 ||
		    strncmp(g.mode, "default", 7) == 0)
			continue;
		if (!check_golden(&g))
			fail_msg("%s %s %s differs", g.name, g.mode, g.rules);
		count++;
	}
	assert_int_equal(count, 147);
	tsv_close(&lines);
}

/* ---- pieces ---- */

static void check_splits(const char *name, uint32_t block_size)
{
	struct sdhash_digest whole = { 0 }, parts = { 0 };
	struct bytes b = input_named(name);
	uint64_t seed;

	assert_int_equal(digest_bytes(b, block_size, 0, &whole), 0);
	for (seed = 1; seed <= 10; seed++) {
		assert_int_equal(digest_bytes(b, block_size, seed, &parts), 0);
		if (!same_digest(&whole, &parts))
			fail_msg("%s in blocks of %" PRIu32
				 " differs, seed %" PRIu64,
				 name, block_size, seed);
	}
	sdhash_digest_release(&whole);
	sdhash_digest_release(&parts);
	free(b.data);
}

TEST(any_split_gives_the_same)
{
	check_splits("text_33333", 0);
	check_splits("mixed_300007", 0);
	check_splits("text_b69000", 1024);
	check_splits("rand_b66048", 3072);
	check_splits("mixed_b66047", 16384);
}

TEST(every_byte_by_itself)
{
	static struct sdhash s;
	struct sdhash_digest whole = { 0 }, single = { 0 };
	struct bytes b = input_named("text_33333");
	size_t i;

	assert_int_equal(digest_bytes(b, 0, 0, &whole), 0);
	assert_int_equal(sdhash_begin(&s, 0, SIZE_MAX, &single), 0);
	for (i = 0; i < b.len; i++)
		assert_int_equal(sdhash_update(&s, b.data + i, 1), 0);
	assert_int_equal(sdhash_final(&s), 0);
	assert_true(same_digest(&whole, &single));
	sdhash_digest_release(&whole);
	sdhash_digest_release(&single);
	free(b.data);
}

TEST(padding_is_zeros_that_do_not_count)
{
	static struct sdhash s;
	static uint8_t bytes[16384 + 600];
	struct sdhash_digest want = { 0 }, have = { 0 };

	put_random(bytes, 16384 + 300, 1);
	assert_int_equal(digest_bytes((struct bytes){ bytes, sizeof(bytes) },
				      16384, 0, &want),
			 0);
	assert_int_equal(sdhash_begin(&s, 16384, SIZE_MAX, &have), 0);
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

/* ---- the edges ---- */

TEST(short_inputs_have_no_digest)
{
	uint8_t zeros[SDHASH_MIN_SIZE] = { 0 };
	struct sdhash_digest d = { 0 };
	struct buf line = { 0 };
	uint32_t block;

	for (block = 0; block <= SDHASH_MAX_BLOCK; block += 1024) {
		assert_int_equal(digest_bytes((struct bytes){ zeros, 511 },
					      block, 0, &d),
				 -ENODATA);
		assert_int_equal(digest_bytes((struct bytes){ zeros, 512 },
					      block, 0, &d),
				 0);
		assert_int_equal(d.count, 1);
	}
	sdhash_digest_release(&d);
	assert_int_equal(sdhash_format(&d, &line), -ENODATA);
	assert_int_equal(line.len, 0);
}

/* Of inputs that grow across the end of the first filter. */
TEST(a_second_filter_has_20_features_at_least)
{
	struct bytes b = input_named("rand_16384");
	struct sdhash_digest d = { 0 };
	unsigned last, least = SDHASH_STREAM_FEATURES;

	for (b.len = 8192; b.len <= 12288; b.len += 8) {
		assert_int_equal(digest_bytes(b, 0, 0, &d), 0);
		last = d.filters[d.count - 1].count;
		if (d.count > 1 && last < least)
			least = last;
	}
	assert_int_equal(d.count, 2);
	assert_int_equal(least, 20);
	sdhash_digest_release(&d);
	free(b.data);
}

TEST(other_block_sizes_are_refused)
{
	static const uint32_t sizes[] = { 1, 512, 1023, 1025, 16383, 17408 };
	struct sdhash_digest d = { 0 };
	static struct sdhash s;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_int_equal(sdhash_begin(&s, sizes[i], SIZE_MAX, &d),
				 -EINVAL);
	sdhash_digest_release(&d);
}
