/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/sample.h"

/* Files that another program or version made. */

WITH_SAMPLE(test_an_lmdb_file_of_another_program_is_unclean)
{
	struct sample *s = *state;
	MDB_val key = { 1, (void *)(uintptr_t) "k" };
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	assert_int_equal(unlink(s->path), 0);
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_open(env, s->f.directory, 0, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
	assert_int_equal(mdb_put(txn, dbi, &key, &key, 0), 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
	assert_int_equal(try_unsealed(s), -EUCLEAN);
	assert_set_aside_and_opened(s);
}

WITH_SAMPLE(test_another_version_of_kinfs_is_told_apart)
{
	struct sample *s = *state;
	struct catalog_meta other;
	struct catalog_txn *txn;

	fixture_open(&s->f);
	txn = begin_write(&s->f);
	other = txn->meta;
	other.version++;
	assert_int_equal(meta_put(txn, &other), 0);
	commit(txn);
	fixture_close(&s->f);
	assert_int_equal(try_all(s), -EMEDIUMTYPE);
	assert_int_equal(try_unsealed(s), -EMEDIUMTYPE);
	assert_set_aside_and_opened(s);
}

/* LMDB's data version follows its magic number. */
WITH_SAMPLE(test_another_version_of_lmdb_is_told_apart)
{
	static const uint8_t magic[] = { 0xde, 0xc0, 0xef, 0xbe };
	struct sample *s = *state;
	uint8_t *at = s->bytes;
	int metas = 0;

	while ((at = memmem(at, s->len - (size_t)(at - s->bytes), magic,
			    sizeof(magic)))) {
		at += sizeof(magic);
		at[0]++;
		metas++;
	}
	assert_int_equal(metas, 2);
	restore(s);
	assert_int_equal(try_all(s), -EMEDIUMTYPE);
	assert_int_equal(try_unsealed(s), -EMEDIUMTYPE);
	assert_set_aside_and_opened(s);
}

WITH_SAMPLE(test_what_is_no_file_is_unclean)
{
	struct sample *s = *state;

	assert_int_equal(unlink(s->path), 0);
	assert_int_equal(mkdir(s->path, 0700), 0);
	assert_int_equal(try_all(s), -EUCLEAN);
	assert_int_equal(rmdir(s->path), 0);
	assert_int_equal(mkfifo(s->path, 0600), 0);
	assert_int_equal(try_all(s), -EUCLEAN);
	assert_set_aside_and_opened(s);
}

WITH_SAMPLE(test_files_set_aside_are_numbered)
{
	struct sample *s = *state;
	struct buf aside = { 0 };
	char want[160];
	int i;

	for (i = 1; i <= 3; i++) {
		write_whole(s->path, "x", 1);
		replace(s, &aside);
		(void)snprintf(want, sizeof(want), "%s.damaged-%d", s->path, i);
		assert_string_equal(aside.data, want);
	}
	buf_release(&aside);
}
