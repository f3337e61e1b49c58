/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>

#include "tests/fuzz/fuzz.h"

/* Bytes as they might lie in a damaged catalog: unclean, or texts that are
 * stored and read again as they are. */
static void read_record(const uint8_t *data, size_t len)
{
	struct digests d = { .set = CATALOG_TEXTS }, again = { .set = d.set };
	MDB_val v = { .mv_data = (void *)data, .mv_size = len };
	struct buf bytes = { 0 };
	int id, err = texts_decode(&v, DIGEST_ALL, &d);

	assert_true(err == 0 || err == -EUCLEAN);
	if (!err) {
		assert_int_equal(texts_check(&v), 0);
		assert_int_equal(texts_store(&d, &bytes), 0);
		v = (MDB_val){ .mv_data = bytes.data, .mv_size = bytes.len };
		assert_int_equal(texts_decode(&v, DIGEST_ALL, &again), 0);
		for (id = 0; id < DIGEST_COUNT; id++)
			if (d.text[id])
				assert_string_equal(d.text[id], again.text[id]);
	}
	buf_release(&bytes);
	digests_release(&again);
	digests_release(&d);
}

/* The same bytes as a text. */
static void store_text(const uint8_t *data, size_t len)
{
	struct digests d = { .set = DIGEST_BIT(DIGEST_SISE) };
	struct digests again = { .set = d.set };
	struct buf bytes = { 0 };
	MDB_val v;

	d.text[DIGEST_SISE] = strndup((const char *)data, len);
	assert_non_null(d.text[DIGEST_SISE]);
	assert_int_equal(texts_store(&d, &bytes), 0);
	v = (MDB_val){ .mv_data = bytes.data, .mv_size = bytes.len };
	assert_int_equal(texts_decode(&v, DIGEST_ALL, &again), 0);
	assert_string_equal(d.text[DIGEST_SISE], again.text[DIGEST_SISE]);
	buf_release(&bytes);
	digests_release(&again);
	digests_release(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t none;

	read_record(len ? data : &none, len);
	store_text(len ? data : &none, len);
	return 0;
}
