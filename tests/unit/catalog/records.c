/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"

#include "core/base/bytes.h"
#include "core/catalog/catalog_impl.h"

/* Records: what is stored can be read, and anything else is -EUCLEAN. */

static void add_long_signature(struct fixture *f, uint64_t inode, size_t pairs)
{
	struct catalog_txn *txn = begin_write(f);
	struct file_key key = key_of(inode);
	struct file_identity id = identity_of(inode);
	char text[128];
	struct digests d = digests_of(inode, text, sizeof(text));
	struct buf sise = { 0 };

	make_sise(pairs, 7, &sise);
	lend_digest(&d, DIGEST_SISE, sise.data, sise.len);
	assert_int_equal(catalog_file_set_fresh(txn, &key, &id, &d), 0);
	commit(txn);
	buf_release(&sise);
}

WITH_CATALOG(test_long_values_come_and_go)
{
	struct fixture *f = *state;
	struct file_key key = key_of(5000);
	struct catalog_txn *txn;

	add_long_signature(f, 5000, SISE_MAX_PAIRS);
	txn = begin_write(f);
	assert_int_equal(catalog_file_remove(txn, &key), 0);
	commit(txn);
	add_long_signature(f, 6000, SISE_MAX_PAIRS);
	add_long_signature(f, 6001, 680);
	check_clean(f);
	fixture_close(f);
	fixture_open(f);
	check_clean(f);
}

/* Each record, cut or lengthened by a byte. */
static void store_key(struct record_key key, uint8_t *bytes, size_t *len_out)
{
	memcpy(bytes, key.bytes, key.len);
	*len_out = key.len;
}

TEST(test_records_of_a_wrong_length_are_unclean)
{
	uint8_t bytes[128] = { 0 };
	struct file_record r = { .state = FILE_PENDING };
	struct digests d = { .set = DIGEST_DEFAULT };
	struct catalog_meta m = { .magic = META_MAGIC,
				  .version = CATALOG_VERSION,
				  .next_content = 1 };
	MDB_val v = { .mv_data = bytes };
	struct file_key file = { .inode = 70000, .device = 3 }, key;
	uint32_t id;
	size_t len, key_len;

	for (len = 0; len < sizeof(bytes); len++) {
		v.mv_size = len;
		memcpy(bytes, &r, sizeof(r));
		assert_int_equal(file_record_decode(&v, &r),
				 len == sizeof(r) ? 0 : -EUCLEAN);
		memcpy(bytes, &d, CONTENT_BYTES);
		assert_int_equal(content_decode(&v, &d),
				 len == CONTENT_BYTES ? 0 : -EUCLEAN);
		memcpy(bytes, &m, sizeof(m));
		assert_int_equal(meta_decode(&v, &m),
				 len == sizeof(m) ? 0 : -EUCLEAN);
		store_key(key_of_file(&file), bytes, &key_len);
		assert_int_equal(file_key_decode(&v, &key),
				 len == key_len ? 0 : -EUCLEAN);
		store_be32(bytes, 7);
		assert_int_equal(content_id_decode(&v, &id),
				 len == CONTENT_KEY_BYTES ? 0 : -EUCLEAN);
		store_key(key_of_copy(7, &file), bytes, &key_len);
		assert_int_equal(copy_key_decode(&v, &id, &key),
				 len == key_len ? 0 : -EUCLEAN);
	}
}

/* ---- keys of files ---- */

/* In ascending order. */
static const struct file_key keys[] = {
	{ 0, 0, 0 },
	{ 0, 0, 1 },
	{ 1, 0, 0 },
	{ 255, 0, UINT16_MAX },
	{ 256, 0, 0 },
	{ UINT32_MAX, 0, 5 },
	{ UINT64_C(1) << 32, 0, 5 },
	{ UINT64_MAX, 0, UINT16_MAX },
	{ 0, 1, 0 },
	{ 70000, 1, 9 },
	{ UINT64_MAX, 1, 0 },
	{ 1, 256, 0 },
	{ UINT64_MAX, UINT32_MAX, UINT16_MAX },
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

TEST(test_keys_come_back_and_sort_as_their_numbers)
{
	struct record_key k, before = { 0 };
	struct file_key have;
	size_t i, less;

	for (i = 0; i < KEYS; i++, before = k) {
		MDB_val v;

		k = key_of_file(&keys[i]);
		v = (MDB_val){ k.len, k.bytes };
		assert_true(k.len <= FILE_KEY_BYTES_MAX);
		assert_int_equal(file_key_decode(&v, &have), 0);
		assert_true(file_key_equal(&have, &keys[i]));
		if (i == 0)
			continue;
		less = k.len < before.len ? k.len : before.len;
		/* Not 0: neither is the beginning of the other one. */
		assert_true(memcmp(before.bytes, k.bytes, less) < 0);
	}
}

/* Keys of a device and inode begin alike, and no others do. */
TEST(test_a_number_is_how_its_keys_begin)
{
	size_t i, j;

	for (i = 0; i < KEYS; i++)
		for (j = 0; j < KEYS; j++) {
			bool same = keys[i].device == keys[j].device &&
				    keys[i].inode == keys[j].inode;

			struct record_key key = key_of_file(&keys[j]);
			struct record_key number =
				key_of_number(keys[i].device, keys[i].inode);

			assert_true((key.len > number.len &&
				     !memcmp(number.bytes, key.bytes,
					     number.len)) == same);
		}
}

/* There is one form of each key. */
TEST(test_other_keys_are_unclean)
{
	static const struct {
		size_t len;
		uint8_t bytes[FILE_KEY_BYTES_MAX];
	} bad[] = {
		{ 0, { 0 } },       { 2, { 0 } },
		{ 4, { 0 } },       { 4, { 1, 0 } }, /* a zero above */
		{ 5, { 2, 0, 1 } },                  /* a zero above */
		{ 12, { 9, 1 } },   /* more than an inode number has */
		{ 8, { 0x80, 0 } }, /* device 0 */
		{ 4, { 0x80, 1 } }, /* cut */
		{ 5, { 0x80, 1 } }, /* cut */
		{ 8, { 0x81, 1 } }, /* no such byte */
	};
	struct file_key have;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		MDB_val v = { bad[i].len, (void *)(uintptr_t)bad[i].bytes };

		assert_int_equal(file_key_decode(&v, &have), -EUCLEAN);
	}
}

/* Behind the back of the functions that write a record with its sum. */
static int spoil_first(struct fixture *f, int db, size_t offset)
{
	struct catalog_txn *txn = begin_write(f);
	MDB_dbi dbi = txn->catalog->dbs[db];
	MDB_val key, value;
	uint8_t bytes[4096];
	MDB_cursor *cursor;
	int err;

	assert_int_equal(mdb_cursor_open(txn->mdb, dbi, &cursor), 0);
	assert_int_equal(mdb_cursor_get(cursor, &key, &value, MDB_FIRST), 0);
	assert_true(value.mv_size <= sizeof(bytes));
	if (offset >= value.mv_size) {
		catalog_abort(txn);
		return -ERANGE;
	}
	memcpy(bytes, value.mv_data, value.mv_size);
	bytes[offset] ^= 1;
	value.mv_data = bytes;
	assert_int_equal(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT), 0);
	err = txn_first(txn, db, ANY_KEY, &key, &value);
	mdb_cursor_close(cursor);
	catalog_abort(txn);
	return err;
}

WITH_CATALOG(test_every_bit_of_a_record_counts)
{
	static const int tables[] = { DB_FILES,    DB_NAMES,   DB_LINKS,
				      DB_CONTENTS, DB_COPIES,  DB_IDENTITIES,
				      DB_PENDING,  DB_DIGESTS, DB_SKETCHES };
	struct file_identity id = identity_of(9);
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	struct file_key file = key_of(9);
	size_t i, offset;
	int err;

	assert_int_equal(set_fresh(txn, 2, 2), 0);
	assert_int_equal(catalog_file_set_pending(txn, &file, &id), 0);
	assert_int_equal(catalog_name_set(txn, &ROOT, name_of("name"), &file),
			 0);
	commit(txn);
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (offset = 0;
		     (err = spoil_first(f, tables[i], offset)) != -ERANGE;
		     offset++)
			assert_int_equal(err, -EUCLEAN);
		assert_true(offset >= RECORD_SUM_BYTES);
	}
	check_clean(f);
}

/* With a sum that is right. */
WITH_CATALOG(test_a_change_that_nothing_writes_is_unclean)
{
	static const struct {
		struct catalog_change change;
		int err;
	} cases[] = {
		{ { 1, 0, 0 }, 0 },          { { 1, -1, 1 }, 0 },
		{ { 1, 100, 1 }, 0 },        { { 1, -2, 0 }, -EUCLEAN },
		{ { 1, 101, 0 }, -EUCLEAN }, { { 1, 0, 2 }, -EUCLEAN },
		{ { 1, 0, -1 }, -EUCLEAN },
	};
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	struct file_key file = key_of(9);
	struct catalog_change have;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(txn_put(txn, DB_CHANGES, key_of_file(&file),
					 &cases[i].change, sizeof(have)),
				 0);
		assert_int_equal(catalog_change_get(txn, &file, &have),
				 cases[i].err);
	}
	catalog_abort(txn);
}
