/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <strings.h>

#include "core/digest/digest.h"
#include "tests/fuzz/fuzz.h"

/* A line is the name of a digest, a blank and its text. */
static const struct digest_ops *take_name(struct bytes *line)
{
	const uint8_t *blank = memchr(line->data, ' ', line->len);
	size_t len = blank ? (size_t)(blank - line->data) : 0;
	const struct digest_ops *info;
	char name[32];

	if (len == 0 || len >= sizeof(name))
		return NULL;
	memcpy(name, line->data, len);
	name[len] = '\0';
	info = digest_find(name);
	if (info) {
		line->len -= len + 1;
		memmove(line->data, line->data + len + 1, line->len);
		/* Nothing behind the text. */
		line->data = realloc(line->data, line->len ? line->len : 1);
		assert_non_null(line->data);
	}
	return info;
}

static void assert_text(const struct digests *d, enum digest_id id,
			const void *want, size_t len)
{
	struct buf have = { 0 };

	assert_int_equal(digest_format(d, id, &have), 0);
	assert_int_equal(have.len, len);
	assert_memory_equal(have.data, want, len);
	buf_release(&have);
}

/* Whether text ends with these digits, in upper case; those of the line may
 * have no "T1" before them. */
static void assert_digits(const struct buf *text, const struct bytes *line)
{
	enum { DIGITS = 70 };

	assert_in_range(line->len, DIGITS, text->len);
	assert_int_equal(text->len, 2 + DIGITS);
	assert_int_equal(
		strncasecmp(text->data + 2,
			    (const char *)line->data + line->len - DIGITS,
			    DIGITS),
		0);
}

/* Parses into d, which stays as it was if that is refused. */
static bool read_line(struct bytes *line, enum digest_id *id_out,
		      struct digests *d)
{
	const struct digest_ops *info = take_name(line);
	struct digests again = { 0 };
	struct buf text = { 0 };
	int err;

	if (!info)
		return false;
	*id_out = info->id;
	err = digest_parse(info->id, (const char *)line->data, line->len, d);
	assert_true(err == 0 || err == -EINVAL || err == -EPROTONOSUPPORT);
	assert_int_equal(d->set, err ? 0 : DIGEST_BIT(info->id));
	if (err)
		return false;
	assert_int_equal(digest_format(d, info->id, &text), 0);
	assert_int_equal(digest_parse(info->id, text.data, text.len, &again),
			 0);
	assert_text(&again, info->id, text.data, text.len);
	/* Only what is too long is written in another way, and TLSH as other
	 * programs write it. */
	if (info->id == DIGEST_TLSH)
		assert_digits(&text, line);
	else if (info->id != DIGEST_SISE)
		assert_text(d, info->id, line->data, line->len);
	buf_release(&text);
	digests_release(&again);
	return true;
}

/* Of sketches and filters there may be nothing to say. */
static void compare(const struct digests *a, const struct digests *b,
		    enum digest_id id)
{
	int there = -1, back = -1, err = digest_compare(id, a, b, &there);

	assert_int_equal(digest_compare(id, b, a, &back), err);
	assert_int_equal(there, back);
	if (id == DIGEST_TLSH) {
		assert_int_equal(err, -ENODATA);
		assert_int_equal(digest_tlsh_distance(a, b, &there), 0);
		assert_int_equal(digest_tlsh_distance(b, a, &back), 0);
		assert_int_equal(there, back);
		return;
	}
	if ((id == DIGEST_SIF || id == DIGEST_SDHASH) && err)
		assert_true(err == -ENODATA || err == -EINVAL);
	else
		assert_int_equal(err, 0);
	if (!err)
		assert_in_range(there, 0, 100);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_lines lines = fuzz_split(data, len);
	struct digests a = { 0 }, b = { 0 };
	enum digest_id id, other;

	if (read_line(&lines.line[0], &id, &a)) {
		compare(&a, &a, id);
		if (read_line(&lines.line[1], &other, &b) && id == other)
			compare(&a, &b, id);
	}
	digests_release(&a);
	digests_release(&b);
	fuzz_free_lines(&lines);
	return 0;
}
