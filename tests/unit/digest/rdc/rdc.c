/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include <openssl/evp.h>

#include "core/base/buf.h"
#include "core/base/bytes.h"
#include "core/base/hex.h"
#include "core/digest/rdc/rdc.h"
#include "tests/support/rdc_model.h"
#include "tests/support/recipe.h"
#include "tests/unit/digest/variants.h"

#define DIR "tests/vectors/rdc/"

/* The traits of rdc; seed != 0 cuts data into updates. */
static void digest(struct rdc *rdc, const void *data, size_t len, uint64_t seed,
		   uint8_t traits[16])
{
	struct draws d = draws_of(seed);
	size_t i, part;

	rdc_begin(rdc);
	for (i = 0; i < len; i += part) {
		part = seed ? draw(&d) % (draw(&d) % 4 ? 100 : 9000) : len;
		part = len - i < part ? len - i : part;
		rdc_update(rdc, (const uint8_t *)data + i, part);
	}
	rdc_final(rdc, traits);
}

/* The signature file, [MS-RDC] 2.2.2, and the traits. */
static struct buf signatures(const void *data, size_t len, unsigned window,
			     unsigned horizon, uint64_t seed,
			     uint8_t traits[16])
{
	static struct rdc rdc;
	struct buf file = { 0 };

	assert_int_equal(rdc_init(&rdc, window, horizon), 0);
	assert_int_equal(rdc_signature_begin(&file), 0);
	rdc.records = &file;
	digest(&rdc, data, len, seed, traits);
	assert_int_equal(rdc.err, 0);
	return file;
}

static void assert_md5(const struct buf *file, const char *want)
{
	uint8_t hash[16];
	char have[33];

	assert_int_equal(
		EVP_Digest(file->data, file->len, hash, NULL, EVP_md5(), NULL),
		1);
	hex_encode(hash, sizeof(hash), have);
	assert_string_equal(have, want);
}

static void assert_traits(const uint8_t traits[16], const char *want)
{
	char have[33];

	hex_encode(traits, 16, have);
	assert_string_equal(have, want);
}

/* ---- values published by Microsoft or made by msrdc.dll ---- */

/* Ours has the value of a zero byte taken off. */
TEST(table_h3)
{
	static struct rdc rdc;
	FILE *file = fopen(DIR "h3_table.txt", "r");
	unsigned i, value, zero_value = 0;

	assert_non_null(file);
	assert_int_equal(rdc_init(&rdc, RDC_WINDOW, RDC_HORIZON), 0);
	for (i = 0; i < 256; i++) {
		assert_int_equal(fscanf(file, "%x", &value), 1);
		if (i == 0)
			zero_value = value;
		assert_int_equal(rdc.hasher.rolling.h3->values[i],
				 value ^ zero_value);
	}
	(void)fclose(file);
}

/* [MS-RDC] 4.2; the document prints the first two. */
TEST(rolling_hash)
{
	static const uint32_t want[] = {
		0x6ee63f63, 0x9698c3b2, 0x4acdc3a0, 0x1fcdd17c,
		0x0cedc829, 0x464d5125, 0x33ce5fa4, 0xb38b5e50,
		0x8e901bfe, 0x9937574d, 0x7f07b619,
	};
	static const uint8_t text[] = "\0\0\0\0Hello World";
	static struct kernel_high found;
	static struct rdc rdc;
	const struct kernel_ops *variants;
	size_t i, count;

	assert_int_equal(rdc_init(&rdc, 4, 128), 0);
	variants = kernel_all(&count);
	for (i = 0; i < count; i++) {
		variants[i].rdc->find(&rdc.hasher.rolling, text + 4, 11, 0,
				      &found);
		assert_int_equal(found.count, 11);
		assert_memory_equal(found.hashes, want, sizeof(want));
	}
}

/* [MS-RDC] 4.5 and 4.6. */
TEST(rfc_1320)
{
	struct bytes input = bytes_read(DIR "rfc1320_msrdc.bin");
	struct tsv chunks = tsv_open(DIR "rfc1320_chunks.tsv");
	uint8_t traits[16];
	struct buf file = signatures(input.data, input.len, 16, 512, 0, traits);
	const uint8_t *record =
		(const uint8_t *)file.data + RDC_SIGNATURE_HEADER;
	char md4[33];

	assert_int_equal(file.len, RDC_SIGNATURE_HEADER + 6 * 18);
	for (; tsv_next(&chunks); record += 18) {
		hex_encode(record, 16, md4);
		assert_string_equal(md4, chunks.fields[2]);
		assert_int_equal(load_le16(record + 16),
				 strtoul(chunks.fields[1], NULL, 10));
	}
	assert_md5(&file, "8ded74b82629bff134e9107175c219b8");
	assert_traits(traits, "2a383a37090b3b013e2627292a011439");
	tsv_close(&chunks);
	buf_release(&file);
	free(input.data);
}

/* What RavenFS's test SigGeneratorTest.Generate_check feeds to msrdc.dll. */
static struct buf counted_lines(void)
{
	struct buf text = { 0 };
	int i, k;

	for (i = 0; i < 10000; i++) {
		for (k = 0; k < 100; k++)
			assert_int_equal(buf_append_format(&text, "%04d", i),
					 0);
		assert_int_equal(buf_append_text(&text, "\r\n"), 0);
	}
	return text;
}

/* MD5s by msrdc.dll, traits by a second program. */
TEST(two_levels_of_signatures)
{
	struct buf text = counted_lines();
	uint8_t traits[16], ignored[16];
	struct buf first, second;

	assert_int_equal(text.len, 4020000);
	first = signatures(text.data, text.len, RDC_WINDOW, RDC_HORIZON, 0,
			   traits);
	second = signatures(first.data, first.len, 2, 128, 0, ignored);
	assert_md5(&first, "9fe9d408aed35769e25ece3a56f2d12f");
	assert_md5(&second, "91b64180c75ef27213398979cc20bfb7");
	assert_traits(traits, "3f3c232d08332b2a3b1c29141e2e2c0c");
	buf_release(&text);
	buf_release(&first);
	buf_release(&second);
}

/* ---- against a model that works as the definition reads ---- */

static struct buf model_signatures(struct bytes b, unsigned window,
				   unsigned horizon, uint8_t traits[16])
{
	struct buf file = { 0 };

	assert_int_equal(rdc_signature_begin(&file), 0);
	rdc_model(b, window, horizon, &file, traits);
	return file;
}

static void compare_with_model(struct bytes b, unsigned window,
			       unsigned horizon, uint64_t seed)
{
	uint8_t want_traits[16], traits[16], split_traits[16], alone[16];
	struct buf want = model_signatures(b, window, horizon, want_traits);
	struct buf have = signatures(b.data, b.len, window, horizon, 0, traits);
	struct buf split =
		signatures(b.data, b.len, window, horizon, seed, split_traits);
	static struct rdc rdc;

	/* When nobody waits for chunks they may wait for each other. */
	assert_int_equal(rdc_init(&rdc, window, horizon), 0);
	digest(&rdc, b.data, b.len, seed, alone);
	if (have.len != want.len || split.len != want.len ||
	    memcmp(have.data, want.data, want.len) != 0 ||
	    memcmp(split.data, want.data, want.len) != 0 ||
	    memcmp(alone, want_traits, 16) != 0 ||
	    memcmp(traits, want_traits, 16) != 0 ||
	    memcmp(split_traits, want_traits, 16) != 0)
		fail_msg("seed %llu, %zu bytes, window %u, horizon %u",
			 (unsigned long long)seed, b.len, window, horizon);
	buf_release(&want);
	buf_release(&have);
	buf_release(&split);
}

TEST(odd_inputs_give_what_the_model_gives)
{
	static const unsigned windows[] = { 2, 7, 16, 48, 96 };
	static const unsigned horizons[] = { 128, 129, 200, 512, 1024 };
	struct draws d;
	struct bytes b;
	uint64_t seed;
	size_t i;
	unsigned window, horizon;

	for (seed = 1; seed <= 400; seed++) {
		d = draws_of(seed);
		window = windows[draw(&d) % 5];
		horizon = horizons[draw(&d) % 5];
		b = recipe_random(seed, draw(&d) % 30000);
		/* Whole blocks are where the end of the file matters. */
		if (draw(&d) % 2)
			b.len -= b.len % horizon;
		/* Few symbols, so that hashes are equal. */
		if (draw(&d) % 3 == 0)
			for (i = 0; i < b.len; i++)
				b.data[i] &= 1;
		compare_with_model(b, window, horizon, seed);
		free(b.data);
	}
}

/* Constant stretches have no maximum; the cuts around them stay. */
TEST(forced_cuts)
{
	static const size_t lengths[] = { 65534,  65535,  65536,  131070,
					  131071, 200000, 262144, 300001 };
	struct bytes b;
	size_t i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		b = recipe_random(i + 1, lengths[i]);
		memset(b.data, 'z', b.len);
		compare_with_model(b, 48, 1024, i + 1);
		free(b.data);
		b = recipe_random(i + 1, lengths[i]);
		memset(b.data + b.len / 50, 'z', b.len / 2);
		compare_with_model(b, 48, 1024, i + 1);
		free(b.data);
	}
}

/* Many hashes are equal, of which a byte that breaks the period makes one the
 * largest or not. */
TEST(periods)
{
	static const unsigned windows[] = { 2, 16, 48 };
	size_t period, i;
	struct draws d;
	struct bytes b;

	for (period = 1; period <= 700; period += 1 + period / 16) {
		d = draws_of(period);
		b = recipe_random(period, 9000);
		for (i = period; i < b.len; i++)
			b.data[i] = b.data[i - period];
		compare_with_model(b, windows[period % 3], 1024, period);
		for (i = 0; i < 4; i++)
			b.data[draw(&d) % b.len] ^= 0x55;
		compare_with_model(b, windows[period % 3], 1024, period);
		free(b.data);
	}
}

/* Blocks are looked at after what waits was moved. */
TEST(room_for_more)
{
	struct bytes b;
	unsigned seed;

	for (seed = 1; seed <= 20; seed++) {
		b = recipe_random(seed, RDC_BUFFER + 1000);
		compare_with_model(b, 48, 128 + seed, seed);
		free(b.data);
	}
}

/* Longer than what waits for its MD4, and more chunks than one batch. */
TEST(many_chunks)
{
	struct bytes b = recipe_random(11, 3 * RDC_BUFFER + 12345);

	compare_with_model(b, 48, 1024, 1);
	compare_with_model(b, 16, 128, 2);
	b.len = RDC_BUFFER;
	compare_with_model(b, 7, 129, 3);
	free(b.data);
}

/* Long ones are hashed next to short ones that come later. */
TEST(chunks_of_all_lengths)
{
	struct draws d;
	struct bytes b;
	size_t i, part;
	unsigned seed;

	for (seed = 1; seed <= 8; seed++) {
		d = draws_of(seed);
		b = recipe_random(seed, 5 * RDC_BUFFER + 1000 * seed);
		for (i = 0; i < b.len; i += 2 * part) {
			part = draw(&d) % (draw(&d) % 4 ? 9000 : 300000);
			part = part < b.len - i ? part : b.len - i;
			memset(b.data + i, (int)seed, part);
		}
		compare_with_model(b, 48, seed % 2 ? 1024 : 128, seed);
		free(b.data);
	}
}

TEST(small_files)
{
	uint8_t traits[16];
	struct buf file = signatures("", 0, 48, 1024, 0, traits);
	struct bytes b;
	size_t len;

	assert_int_equal(file.len, RDC_SIGNATURE_HEADER);
	assert_traits(traits, "00000000000000000000000000000000");
	buf_release(&file);
	for (len = 0; len < 4200; len += len < 5 ? 1 : 37) {
		b = recipe_random(len + 1, len);
		compare_with_model(b, 48, 1024, len + 1);
		free(b.data);
	}
}

/* Whatever is expected, and however that is wrong. */
TEST(expected_sizes_change_nothing)
{
	static const size_t sizes[] = { 0,    1,    1023, 1024, 3071,
					3072, 3073, 4096, 40000 };
	enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
	static uint8_t data[40000];
	static struct rdc rdc;
	uint8_t want[16], have[16];
	struct draws d = draws_of(1);
	size_t i, k;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)draw(&d);
	assert_int_equal(rdc_init(&rdc, RDC_WINDOW, RDC_HORIZON), 0);
	for (i = 0; i < SIZES; i++) {
		digest(&rdc, data, sizes[i], 0, want);
		for (k = 0; k < SIZES; k++) {
			rdc_begin(&rdc);
			rdc_expect(&rdc, sizes[k]);
			rdc_update(&rdc, data, sizes[i] / 2);
			rdc_update(&rdc, data + sizes[i] / 2,
				   sizes[i] - sizes[i] / 2);
			rdc_final(&rdc, have);
			assert_memory_equal(have, want, sizeof(want));
			assert_true(rdc.blocks == 0 || sizes[k] < sizes[i] ||
				    sizes[k] >= (size_t)3 * RDC_HORIZON);
		}
	}
}

TEST(parameters_out_of_range_are_refused)
{
	static struct rdc rdc;

	assert_int_equal(rdc_init(&rdc, 1, 1024), -EINVAL);
	assert_int_equal(rdc_init(&rdc, 97, 1024), -EINVAL);
	assert_int_equal(rdc_init(&rdc, 48, 127), -EINVAL);
	assert_int_equal(rdc_init(&rdc, 48, 1025), -EINVAL);
}
