/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "core/base/buf.h"
#include "core/base/bytes.h"
#include "core/base/hex.h"
#include "core/digest/rdc/rdc.h"
#include "core/digest/reference/rdc_signature.h"
#include "tests/support/recipe.h"

#define DIR "tests/vectors/rdc/"

static struct buf sign(const void *data, size_t len, unsigned window,
		       unsigned horizon)
{
	static struct rdc rdc;
	struct rdc_signature_writer writer;
	struct buf file = { 0 };
	uint8_t traits[RDC_TRAITS];

	assert_int_equal(rdc_init(&rdc, window, horizon), 0);
	rdc_signature_begin(&writer, rdc_signature_append, &file);
	rdc.on_chunk = rdc_signature_add;
	rdc.arg = &writer;
	rdc_begin(&rdc);
	rdc_update(&rdc, data, len);
	rdc_final(&rdc, traits);
	assert_int_equal(writer.err, 0);
	return file;
}

/* ---- a reader of such files ---- */

enum { LENGTH = 16 }; /* behind the MD4 */

struct rdc_signature {
	const uint8_t *records; /* count of them, borrowed */
	size_t count;
	uint64_t size; /* of the file that was signed */
};

/* The padding, at 12, is to be ignored. */
static int is_header(const uint8_t *header)
{
	return load_le32(header) == RDC_SIGNATURE_HEADER &&
	       load_le32(header + 4) == UINT32_C(0x00010001) &&
	       load_le32(header + 8) == UINT32_C(0x00010001) &&
	       load_le64(header + 16) == 1;
}

static const uint8_t *record_of(const struct rdc_signature *s, size_t i)
{
	return s->records + i * RDC_SIGNATURE_RECORD;
}

static bool rdc_signature_begins(const void *data, size_t len)
{
	return len >= RDC_SIGNATURE_HEADER && is_header(data);
}

static int rdc_signature_parse(const void *data, size_t len,
			       struct rdc_signature *out)
{
	struct rdc_signature s = { 0 };
	uint16_t length;
	size_t i;

	if (!rdc_signature_begins(data, len) ||
	    (len - RDC_SIGNATURE_HEADER) % RDC_SIGNATURE_RECORD != 0)
		return -EINVAL;
	s.records = (const uint8_t *)data + RDC_SIGNATURE_HEADER;
	s.count = (len - RDC_SIGNATURE_HEADER) / RDC_SIGNATURE_RECORD;
	for (i = 0; i < s.count; i++) {
		length = load_le16(record_of(&s, i) + LENGTH);
		if (length == 0)
			return -EINVAL;
		s.size += length;
	}
	*out = s;
	return 0;
}

static int compare_records(const void *x, const void *y)
{
	return memcmp(x, y, RDC_SIGNATURE_RECORD);
}

static int rdc_signature_shared(const struct rdc_signature *a,
				const struct rdc_signature *b,
				uint64_t *bytes_out)
{
	size_t i, len = b->count * RDC_SIGNATURE_RECORD;
	uint8_t *sorted = malloc(len + 1);
	uint64_t bytes = 0;

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, b->records, len);
	qsort(sorted, b->count, RDC_SIGNATURE_RECORD, compare_records);
	for (i = 0; i < a->count; i++)
		if (bsearch(record_of(a, i), sorted, b->count,
			    RDC_SIGNATURE_RECORD, compare_records))
			bytes += load_le16(record_of(a, i) + LENGTH);
	free(sorted);
	*bytes_out = bytes;
	return 0;
}

static struct rdc_signature parse(const struct buf *file)
{
	struct rdc_signature s;

	assert_int_equal(rdc_signature_parse(file->data, file->len, &s), 0);
	return s;
}

/* [MS-RDC] 4.5 prints the file; this is the MD5 of it. */
TEST(file_of_the_specification)
{
	struct bytes input = bytes_read(DIR "rfc1320_msrdc.bin");
	struct buf file = sign(input.data, input.len, 16, 512);
	uint8_t hash[16];
	char have[33];

	assert_int_equal(file.len, 132);
	assert_int_equal(
		EVP_Digest(file.data, file.len, hash, NULL, EVP_md5(), NULL),
		1);
	hex_encode(hash, sizeof(hash), have);
	assert_string_equal(have, "8ded74b82629bff134e9107175c219b8");
	buf_release(&file);
	free(input.data);
}

TEST(what_was_written_is_read)
{
	struct bytes input = bytes_read(DIR "rfc1320_msrdc.bin");
	struct tsv chunks = tsv_open(DIR "rfc1320_chunks.tsv");
	struct buf file = sign(input.data, input.len, 16, 512);
	struct rdc_signature s = parse(&file);
	const uint8_t *record = s.records;
	char md4[33];

	assert_int_equal(s.count, 6);
	assert_int_equal(s.size, input.len);
	for (; tsv_next(&chunks); record += RDC_SIGNATURE_RECORD) {
		hex_encode(record, 16, md4);
		assert_string_equal(md4, chunks.fields[2]);
		assert_int_equal(load_le16(record + 16),
				 strtoul(chunks.fields[1], NULL, 10));
	}
	tsv_close(&chunks);
	buf_release(&file);
	free(input.data);
}

TEST(an_empty_file_has_a_header)
{
	struct buf file = sign("", 0, RDC_WINDOW, RDC_HORIZON);
	struct rdc_signature s = parse(&file);
	uint64_t bytes = 1;

	assert_int_equal(s.count, 0);
	assert_int_equal(s.size, 0);
	assert_int_equal(rdc_signature_shared(&s, &s, &bytes), 0);
	assert_int_equal(bytes, 0);
	buf_release(&file);
}

static void assert_refused(const void *data, size_t len)
{
	struct rdc_signature s = { NULL, 77, 0 };
	uint8_t *copy = malloc(len + 1);

	/* Exactly as long as it says, for whoever looks at memory. */
	assert_non_null(copy);
	memcpy(copy, data, len);
	copy = realloc(copy, len ? len : 1);
	assert_int_equal(rdc_signature_parse(copy, len, &s), -EINVAL);
	assert_int_equal(s.count, 77);
	free(copy);
}

TEST(other_lengths_are_refused)
{
	struct bytes b = recipe_random(1, 10000);
	struct buf file = sign(b.data, b.len, 16, 128);
	struct rdc_signature s;
	size_t len;

	for (len = 0; len < file.len; len++)
		if (len < 24 || (len - 24) % 18)
			assert_refused(file.data, len);
		else
			assert_int_equal(
				rdc_signature_parse(file.data, len, &s), 0);
	buf_release(&file);
	free(b.data);
}

TEST(other_headers_are_refused)
{
	struct buf file = sign("kin", 3, RDC_WINDOW, RDC_HORIZON);
	struct rdc_signature s;
	size_t bit;

	for (bit = 0; bit < (size_t)8 * RDC_SIGNATURE_HEADER; bit++) {
		file.data[bit / 8] = (char)(file.data[bit / 8] ^ 1 << bit % 8);
		if (bit / 32 == 3) /* padding */
			(void)parse(&file);
		else
			assert_refused(file.data, file.len);
		file.data[bit / 8] = (char)(file.data[bit / 8] ^ 1 << bit % 8);
	}
	s = parse(&file);
	assert_int_equal(s.size, 3);
	buf_release(&file);
}

TEST(empty_chunks_are_refused)
{
	struct bytes b = recipe_random(2, 5000);
	struct buf file = sign(b.data, b.len, 16, 128);
	size_t i;
	char length[2];

	for (i = 24 + 16; i < file.len; i += 18) {
		memcpy(length, file.data + i, 2);
		memset(file.data + i, 0, 2);
		assert_refused(file.data, file.len);
		memcpy(file.data + i, length, 2);
	}
	(void)parse(&file);
	buf_release(&file);
	free(b.data);
}

/* ---- what two files share ---- */

static uint64_t model_shared(const struct rdc_signature *a,
			     const struct rdc_signature *b)
{
	const uint8_t *record;
	uint64_t bytes = 0;
	size_t i, k;

	for (i = 0; i < a->count; i++) {
		record = a->records + 18 * i;
		for (k = 0; k < b->count; k++) {
			if (memcmp(record, b->records + 18 * k, 18) != 0)
				continue;
			bytes += load_le16(record + 16);
			break;
		}
	}
	return bytes;
}

static uint64_t shared(const struct rdc_signature *a,
		       const struct rdc_signature *b)
{
	uint64_t bytes = 0;

	assert_int_equal(rdc_signature_shared(a, b, &bytes), 0);
	assert_int_equal(bytes, model_shared(a, b));
	return bytes;
}

/* The chunk with the changed byte is lost, and no other. */
TEST(a_changed_byte_costs_its_chunk)
{
	struct bytes b = bytes_read(DIR "rfc1320_msrdc.bin");
	struct buf before = sign(b.data, b.len, 16, 512), after;
	struct rdc_signature x = parse(&before), y;

	b.data[6000] ^= 1;
	after = sign(b.data, b.len, 16, 512);
	y = parse(&after);
	assert_int_equal(shared(&x, &x), b.len);
	assert_int_equal(y.count, 6);
	/* 6190 bytes from 5357 on, as the specification has it. */
	assert_int_equal(shared(&x, &y), b.len - 6190);
	assert_int_equal(shared(&y, &x), b.len - 6190);
	buf_release(&before);
	buf_release(&after);
	free(b.data);
}

/* Chunks that come more than once, in either file. */
TEST(repeated_chunks_count_each_time)
{
	struct bytes half = recipe_random(3, 200000);
	struct bytes twice = recipe_repeat(half.data, half.len, 400000);
	struct bytes other = recipe_random(4, 100000);
	struct buf files[3] = { sign(half.data, half.len, 48, 1024),
				sign(twice.data, twice.len, 48, 1024),
				sign(other.data, other.len, 48, 1024) };
	struct rdc_signature s[3] = { parse(&files[0]), parse(&files[1]),
				      parse(&files[2]) };
	size_t i;

	assert_in_range(shared(&s[0], &s[1]), half.len - 4096, half.len);
	assert_in_range(shared(&s[1], &s[0]), twice.len - 8192, twice.len);
	assert_int_equal(shared(&s[0], &s[2]), 0);
	for (i = 0; i < 3; i++)
		buf_release(&files[i]);
	free(half.data);
	free(twice.data);
	free(other.data);
}

/* Not the same MD4 and not the same length are two reasons to differ. */
TEST(length_and_md4_both_count)
{
	static const uint8_t md4[2][16] = { { 1 }, { 2 } };
	struct rdc_signature_writer writer;
	struct buf a = { 0 }, b = { 0 };
	struct rdc_signature x, y;

	rdc_signature_begin(&writer, rdc_signature_append, &a);
	rdc_signature_add(&writer, md4[0], 1000);
	rdc_signature_add(&writer, md4[1], 65535);
	rdc_signature_begin(&writer, rdc_signature_append, &b);
	rdc_signature_add(&writer, md4[1], 1000);
	rdc_signature_add(&writer, md4[0], 65535);
	x = parse(&a);
	y = parse(&b);
	assert_int_equal(x.size, 66535);
	assert_int_equal(shared(&x, &y), 0);
	rdc_signature_add(&writer, md4[1], 65535);
	y = parse(&b);
	assert_int_equal(shared(&x, &y), 65535);
	assert_int_equal(shared(&y, &x), 65535);
	buf_release(&a);
	buf_release(&b);
}

/* ---- errors of whoever takes the bytes ---- */

struct sink {
	unsigned calls, good;
};

static int take(void *arg, const void *data, size_t len)
{
	struct sink *sink = arg;

	assert_non_null(data);
	assert_true(len > 0);
	return sink->calls++ < sink->good ? 0 : -ENOSPC;
}

TEST(the_first_error_is_kept)
{
	static const uint8_t md4[16] = { 0 };
	struct rdc_signature_writer writer;
	struct sink sink;
	unsigned i, good;

	for (good = 0; good < 4; good++) {
		sink = (struct sink){ 0, good };
		rdc_signature_begin(&writer, take, &sink);
		for (i = 0; i < 5; i++)
			rdc_signature_add(&writer, md4, 1);
		assert_int_equal(writer.err, -ENOSPC);
		assert_int_equal(sink.calls, good + 1);
	}
}
