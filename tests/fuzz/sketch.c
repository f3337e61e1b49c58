/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sketch/sketch.h"

#include <errno.h>

#include "tests/fuzz/fuzz.h"
#include "tests/support/sketch_model.h"

static void update(void *arg, const void *data, size_t len)
{
	sketch_update(arg, data, len);
}

/* Own bytes: whether the size is known. */
static void digest(const uint8_t *data, size_t len, struct sketch *have)
{
	static struct sketch_stream s;
	static struct model_sample sample;
	static struct sketch want;
	struct fuzz f = fuzz_begin(data, len);
	uint64_t simhash;

	sketch_begin(&s, f.own[0] & 1 ? UINT64_MAX : f.content.len);
	fuzz_feed(&f, update, &s);
	sketch_final(&s, have, &simhash);
	model_sample(f.content, &sample);
	model_sketch(&sample, &want);
	assert_true(sketches_are_same(have, &want));
	assert_int_equal(simhash, sample.simhash);
	fuzz_end(&f);
}

/* What is accepted of any bytes is as sketch_pack() writes it. */
static bool unpack(const uint8_t *data, size_t len, struct sketch *out)
{
	static uint8_t again[SKETCH_PACKED_MAX];
	int err = sketch_unpack(data, len, out);

	assert_true(err == 0 || err == -EINVAL);
	if (err)
		return false;
	assert_int_equal(sketch_pack(out, again), len);
	assert_memory_equal(again, data, len);
	return true;
}

/* And of any text. */
static void parse(struct bytes line)
{
	static struct sketch out;
	struct buf text = { 0 };
	int err = sketch_parse((const char *)line.data, line.len, &out);

	assert_true(err == 0 || err == -EINVAL);
	if (err)
		return;
	assert_int_equal(sketch_format(&out, &text), 0);
	assert_int_equal(text.len, line.len);
	assert_memory_equal(text.data, line.data, line.len);
	buf_release(&text);
}

static void check_form(const struct sketch *sketch)
{
	static uint8_t bytes[SKETCH_PACKED_MAX];
	static struct sketch out;
	size_t len = sketch_pack(sketch, bytes);

	assert_true(unpack(bytes, len, &out));
	assert_true(sketches_are_same(&out, sketch));
	assert_false(unpack(bytes, len - 1, &out));
}

/* Also false for what is no number. */
static bool is_share(double share)
{
	return share >= 0 && share <= 1;
}

static void compare(const struct sketch *a, const struct sketch *b)
{
	struct sketch_shares there, back;

	sketch_shares(a, b, &there);
	sketch_shares(b, a, &back);
	assert_true(is_share(there.of_a));
	assert_true(is_share(there.of_b));
	assert_true(is_share(there.of_larger));
	assert_true(there.of_a == back.of_b);
	assert_true(there.of_b == back.of_a);
	assert_true(there.of_larger == back.of_larger);
	assert_true(there.matches == back.matches);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct sketch made, read;
	struct fuzz_lines lines = fuzz_split(data, len);

	digest(data, len, &made);
	check_form(&made);
	parse(lines.line[0]);
	fuzz_free_lines(&lines);
	if (!unpack(data, len, &read))
		sketch_of((struct bytes){ (uint8_t *)data, len }, &read);
	compare(&made, &read);
	compare(&read, &read);
	sketch_merge(&made, &read);
	check_form(&made);
	compare(&made, &read);
	return 0;
}
