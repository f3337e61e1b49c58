/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog_fixture.h"

#include "core/catalog/catalog_impl.h"

/* Records: what is stored can be read, and anything else is -EUCLEAN. */

static void add_long_signature(struct fixture *f, uint64_t inode, size_t len)
{
	struct catalog_txn *txn = begin_write(f);
	struct file_key key = key_of(inode);
	struct file_identity id = identity_of(inode);
	char text[128];
	struct digests d = digests_of(inode, text, sizeof(text));

	d.text[DIGEST_SISE] = malloc(len + 1);
	assert_non_null(d.text[DIGEST_SISE]);
	memset(d.text[DIGEST_SISE], 'S', len);
	d.text[DIGEST_SISE][len] = '\0';
	assert_int_equal(catalog_file_set_fresh(txn, &key, &id, &d), 0);
	commit(txn);
	free(d.text[DIGEST_SISE]);
}

static void test_long_values_come_and_go(void **state)
{
	struct fixture *f = *state;
	struct file_key key = key_of(5000);
	struct catalog_txn *txn;

	add_long_signature(f, 5000, 3 * 4096);
	txn = begin_write(f);
	assert_int_equal(catalog_file_remove(txn, &key), 0);
	commit(txn);
	add_long_signature(f, 6000, 100000);
	add_long_signature(f, 6001, 2040);
	check_clean(f);
	fixture_close(f);
	fixture_open(f);
	check_clean(f);
}

/* Each record, cut or lengthened by a byte. */
static void test_records_of_a_wrong_length_are_unclean(void **state)
{
	uint8_t bytes[128] = { 0 };
	struct file_record r = { .state = FILE_PENDING };
	struct digests d = { .set = DIGEST_DEFAULT };
	struct catalog_meta m = { .next_content = 1 };
	MDB_val v = { .mv_data = bytes };
	struct file_key key;
	uint32_t id;
	size_t len;

	(void)state;
	for (len = 0; len < sizeof(bytes); len++) {
		v.mv_size = len;
		file_record_store(&r, bytes);
		assert_int_equal(file_record_decode(&v, &r),
				 len == FILE_RECORD_BYTES ? 0 : -EUCLEAN);
		content_store(&d, bytes);
		assert_int_equal(content_decode(&v, &d),
				 len == CONTENT_BYTES ? 0 : -EUCLEAN);
		meta_store(&m, bytes);
		assert_int_equal(meta_decode(&v, &m),
				 len == META_BYTES ? 0 : -EUCLEAN);
		assert_int_equal(file_key_decode(&v, &key),
				 len == FILE_KEY_BYTES ? 0 : -EUCLEAN);
		assert_int_equal(content_id_decode(&v, &id),
				 len == CONTENT_KEY_BYTES ? 0 : -EUCLEAN);
		assert_int_equal(copy_key_decode(&v, &id, &key),
				 len == COPY_KEY_BYTES ? 0 : -EUCLEAN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_long_values_come_and_go,
						fixture_setup_open,
						fixture_teardown),
		cmocka_unit_test(test_records_of_a_wrong_length_are_unclean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
