/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/sample.h"

/* Files that another program or version made, and records that contradict
 * one another. */

static void test_an_lmdb_file_of_another_program_is_unclean(void **state)
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

static void test_another_version_of_kinfs_is_told_apart(void **state)
{
	struct sample *s = *state;
	uint8_t record[META_BYTES];
	struct catalog_txn *txn;

	fixture_open(&s->f);
	txn = begin_write(&s->f);
	meta_store(&txn->meta, record);
	record[8]++;
	assert_int_equal(txn_put(txn, DB_META, META_KEY, strlen(META_KEY),
				 record, sizeof(record)),
			 0);
	commit(txn);
	fixture_close(&s->f);
	assert_int_equal(try_all(s), -EMEDIUMTYPE);
	assert_int_equal(try_unsealed(s), -EMEDIUMTYPE);
	assert_set_aside_and_opened(s);
}

/* LMDB's data version follows its magic number. */
static void test_another_version_of_lmdb_is_told_apart(void **state)
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

static void test_what_is_no_file_is_unclean(void **state)
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

static void test_files_set_aside_are_numbered(void **state)
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

/* Each contradiction that a program could leave is found by the check. */
static void assert_found(struct sample *s, enum catalog_db db, const void *key,
			 size_t key_len, const char *want)
{
	struct catalog_txn *txn = begin_write(&s->f);
	struct buf report = { 0 };
	MDB_val value;

	if (txn_get(txn, db, key, key_len, &value) == 0)
		assert_int_equal(txn_delete(txn, db, key, key_len), 0);
	else
		assert_int_equal(txn_put(txn, db, key, key_len, "", 0), 0);
	assert_int_equal(catalog_check(txn, &ROOT, &report), -EUCLEAN);
	if (!strstr(report.data, want))
		fail_msg("want \"%s\", have \"%s\"", want, report.data);
	catalog_abort(txn);
	buf_release(&report);
}

static void test_the_check_finds_what_contradicts_itself(void **state)
{
	struct sample *s = *state;
	char text[128];
	struct digests d = digests_of(2, text, sizeof(text));
	struct file_key file = key_of(2), pending = key_of(7), none = key_of(5);
	struct file_key parent = key_of(100000);
	struct catalog_name name = name_of("file number 2 of many");
	struct file_record r = { 0 };
	struct catalog_txn *txn;
	uint8_t k[LINK_KEY_BYTES_MAX];
	size_t len;

	fixture_open(&s->f);
	txn = begin_read(&s->f);
	assert_int_equal(catalog_file_get(txn, &file, &r), 0);
	catalog_abort(txn);
	len = file_key_store(&file, k);
	assert_found(s, DB_FILES, k, len, "has a name and no record");
	assert_found(s, DB_FILES, k, len, "copy of a wrong content");
	assert_found(s, DB_FILES, k, len, "the counts are wrong");
	assert_found(s, DB_PENDING, k, len, "but not pending");
	len = file_key_store(&pending, k);
	assert_found(s, DB_PENDING, k, len, "not on the pending list");
	len = file_key_store(&parent, k);
	assert_found(s, DB_FILES, k, len, "has entries, is no directory");
	len = file_key_store(&none, k);
	assert_found(s, DB_FILES, k, len, "unreadable record");
	len = name_key_store(&parent, name, k);
	assert_found(s, DB_NAMES, k, len, "claims a name that is not its own");
	len = link_key_store(&file, &parent, name, k);
	assert_found(s, DB_LINKS, k, len, "a name that it does not know of");
	len = link_key_store(&parent, &ROOT, name, k);
	assert_found(s, DB_LINKS, k, len, "a directory with two names");
	len = copy_key_store(r.content, &file, k);
	assert_found(s, DB_COPIES, k, len, "not among the copies");
	assert_found(s, DB_COPIES, k, len, "no file has it");
	assert_found(s, DB_CONTENTS, k, 4, "its content is missing");
	assert_found(s, DB_CONTENTS, k, 4, "a digest and no record");
	assert_found(s, DB_CONTENTS, k, 4, "found by a wrong identity");
	assert_found(s, DB_DIGESTS + DIGEST_SISE, k, 4,
		     "digest set and digests disagree");
	identity_key_store(&d, k);
	assert_found(s, DB_IDENTITIES, k, IDENTITY_KEY_BYTES,
		     "not found by its identity");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sample_test(test_an_lmdb_file_of_another_program_is_unclean),
		sample_test(test_another_version_of_kinfs_is_told_apart),
		sample_test(test_another_version_of_lmdb_is_told_apart),
		sample_test(test_what_is_no_file_is_unclean),
		sample_test(test_files_set_aside_are_numbered),
		sample_test(test_the_check_finds_what_contradicts_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
