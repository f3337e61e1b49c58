/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sif/sif.h"

#include <errno.h>

#include "tests/fuzz/fuzz.h"

static bool read_line(struct bytes line, struct sif_sketch *out)
{
	static uint8_t made[SIF_PACKED_MAX], packed[SIF_PACKED_MAX];
	const char *chars = (const char *)line.data;
	size_t len = sif_pack_text(chars, line.len, made);
	int err = sif_parse(chars, line.len, out);
	struct buf text = { 0 };

	assert_true(err == 0 || err == -EINVAL);
	if (err)
		return false;
	assert_int_equal(len, sif_pack(out, packed));
	assert_memory_equal(made, packed, len);
	assert_int_equal(sif_format(out, &text), 0);
	assert_int_equal(text.len, line.len);
	assert_memory_equal(text.data, line.data, line.len);
	buf_release(&text);
	return true;
}

/* Also false for what is no number. */
static bool is_share(double share)
{
	return share >= 0 && share <= 1;
}

/* The binary form has the same to say, and no other bytes are that sketch. */
static void check_packed(const struct sif_sketch *sketch)
{
	static uint8_t bytes[SIF_PACKED_MAX], again[SIF_PACKED_MAX];
	static struct sif_sketch out;
	size_t len = sif_pack(sketch, bytes);

	assert_int_equal(sif_unpack(bytes, len, &out), 0);
	assert_int_equal(sif_pack(&out, again), len);
	assert_memory_equal(again, bytes, len);
	assert_int_equal(sif_unpack(bytes, len - 1, &out), -EINVAL);
}

static void find_shares(const struct sif_sketch *a, const struct sif_sketch *b)
{
	struct sif_shares there, back;
	int err = sif_find_shares(a, b, &there);

	assert_int_equal(err, a->window == b->window ? 0 : -EINVAL);
	assert_int_equal(sif_find_shares(b, a, &back), err);
	if (err)
		return;
	assert_true(is_share(there.of_a));
	assert_true(is_share(there.of_b));
	assert_true(is_share(there.of_larger));
	assert_true(there.of_a == back.of_b);
	assert_true(there.of_b == back.of_a);
	assert_true(there.of_larger == back.of_larger);
	assert_int_equal(there.samples, back.samples);
}

/* A union is a sketch like any other. */
static void merge(struct sif_sketch *a, const struct sif_sketch *b)
{
	static struct sif_sketch again;
	struct buf text = { 0 };
	struct bytes line;

	if (sif_merge(a, b, SIF_MAX_VALUES))
		return;
	assert_int_equal(sif_format(a, &text), 0);
	line = (struct bytes){ (uint8_t *)text.data, text.len };
	assert_true(read_line(line, &again));
	buf_release(&text);
}

/* What is accepted of any bytes is as sif_pack() writes it. */
static void unpack(const uint8_t *data, size_t len)
{
	static uint8_t again[SIF_PACKED_MAX];
	static struct sif_sketch out, values;
	int err = sif_unpack_in_full(data, len, &values);

	assert_true(err == 0 || err == -EINVAL);
	err = sif_unpack(data, len, &out);
	assert_true(err == 0 || err == -EINVAL);
	if (err)
		return;
	assert_memory_equal(values.values, out.values,
			    out.count * sizeof(out.values[0]));
	assert_int_equal(sif_pack(&out, again), len);
	assert_memory_equal(again, data, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct sif_sketch a, b;
	struct fuzz_lines lines = fuzz_split(data, len);

	unpack(data, len);
	if (read_line(lines.line[0], &a) && read_line(lines.line[1], &b)) {
		check_packed(&a);
		find_shares(&a, &b);
		merge(&a, &b);
	}
	fuzz_free_lines(&lines);
	return 0;
}
