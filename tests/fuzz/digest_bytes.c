/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/digest/digest.h"
#include "tests/fuzz/fuzz.h"

/* Bytes from a catalog, which may be any: what the row of a digest takes can be
 * formatted and compared, and its text gives these bytes again. */
static void use(enum digest_id id, struct digest_value v)
{
	struct digests d = { .size = 1000 }, again = { .size = 1000 };
	struct digest_value w;
	struct buf text = { 0 };
	int score = 0, err;

	assert_int_equal(digest_put(&d, id, v), 0);
	assert_int_equal(digest_format(&d, id, &text), 0);
	assert_int_equal(digest_parse(id, text.data, text.len, &again), 0);
	w = digest_value_of(&again, id);
	assert_int_equal(w.len, v.len);
	assert_memory_equal(w.bytes, v.bytes, v.len);
	err = digest_compare(id, &d, &again, &score);
	assert_true(err == 0 || err == -ENODATA);
	assert_in_range(score, 0, 100);
	buf_release(&text);
	digests_release(&d);
	digests_release(&again);
}

/* The first byte chooses the digest. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct digest_value v = { NULL, len ? len - 1 : 0 };
	enum digest_id id = len ? data[0] % DIGEST_COUNT : 0;
	uint8_t *bytes = malloc(v.len ? v.len : 1);

	assert_non_null(bytes);
	if (v.len)
		memcpy(bytes, data + 1, v.len);
	v.bytes = bytes;
	if (digest_is_valid(id, v))
		use(id, v);
	free(bytes);
	return 0;
}
