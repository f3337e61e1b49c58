/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog_fixture.h"

#include <sys/stat.h>

#include "core/catalog/catalog_impl.h"
#include "core/catalog/seal.h"

/*
 * Damaged files.  The promise: what differs from a sealed file is -EUCLEAN.
 * Without a seal, as after a kill, it is refused, or everything can be read and
 * written without a crash.  When it was refused and set aside, a new one opens.
 */
enum { FLIPS = 500, SEED = 20 };

struct sample {
	struct fixture f;
	char path[128];
	uint8_t *bytes;
	size_t len;
};

static void add_names(struct catalog_txn *txn, uint64_t i)
{
	struct file_key key = key_of(i);
	struct file_key parent = key_of(100000 + i / 50);
	char name[64];

	(void)snprintf(name, sizeof(name), "file number %d of many", (int)i);
	assert_int_equal(catalog_name_set(txn, &parent, name_of(name), &key),
			 0);
	(void)snprintf(name, sizeof(name), "dir %d", (int)(i / 50));
	assert_int_equal(catalog_name_set(txn, &ROOT, name_of(name), &parent),
			 0);
}

static void add_long_signature(struct catalog_txn *txn, uint64_t inode)
{
	struct file_key key = key_of(inode);
	struct file_identity id = identity_of(inode);
	char text[128];
	struct digests d = digests_of(inode, text, sizeof(text));
	char *signature = malloc(9000);

	assert_non_null(signature);
	memset(signature, 'S', 9000);
	signature[8999] = '\0';
	d.text[DIGEST_SISE] = signature;
	assert_int_equal(catalog_file_set_fresh(txn, &key, &id, &d), 0);
	free(signature);
}

static void fill_sample(struct fixture *f)
{
	struct file_identity id = identity_of(7);
	struct catalog_txn *txn;
	struct file_key key;
	uint64_t i, batch;

	for (batch = 0; batch < 6; batch++) {
		txn = begin_write(f);
		for (i = 100 * batch; i < 100 * batch + 100; i++) {
			key = key_of(i);
			if (i % 7 == 0)
				(void)catalog_file_set_pending(txn, &key, &id);
			else if (i % 30 == 1)
				add_long_signature(txn, i);
			else
				assert_int_equal(set_fresh(txn, i, i), 0);
			add_names(txn, i);
		}
		/* So that there are free pages. */
		key = key_of(100 * batch + 5);
		assert_int_equal(catalog_file_remove(txn, &key), 0);
		commit(txn);
	}
}

static int setup_sample(void **state)
{
	struct sample *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	fixture_init(&s->f);
	fixture_open(&s->f);
	fill_sample(&s->f);
	check_clean(&s->f);
	fixture_close(&s->f);
	fixture_data_path(&s->f, s->path, sizeof(s->path));
	s->bytes = read_whole(s->path, &s->len);
	*state = s;
	return 0;
}

static int teardown_sample(void **state)
{
	struct sample *s = *state;

	fixture_release(&s->f);
	free(s->bytes);
	free(s);
	return 0;
}

static int ignore_content(void *arg, uint32_t content, const struct digests *d)
{
	(void)arg;
	(void)content;
	(void)d;
	return 0;
}

static int ignore_sketch(void *arg, uint32_t content,
			 const struct sif_sketch *sketch)
{
	(void)arg;
	(void)content;
	(void)sketch;
	return 0;
}

static int ignore_key(void *arg, const struct file_key *key)
{
	(void)arg;
	(void)key;
	return 0;
}

static int ignore_name(void *arg, struct catalog_name name,
		       const struct file_key *key)
{
	(void)arg;
	(void)name;
	(void)key;
	return 0;
}

static int ignore_path(void *arg, const char *path)
{
	(void)arg;
	(void)path;
	return 0;
}

/* Reads all there is, whatever the results. */
static void read_all(struct catalog *c)
{
	struct catalog_txn *txn;
	struct buf report = { 0 };
	struct file_record r;
	struct file_key key;
	struct sif_sketch sketch;
	struct digests d;
	uint32_t i;

	if (catalog_read(c, &txn))
		return;
	(void)catalog_check(txn, &ROOT, &report);
	buf_release(&report);
	(void)catalog_content_each(txn, ignore_content, NULL);
	(void)catalog_sketch_each(txn, ignore_sketch, NULL);
	for (i = 0; i < 700; i++) {
		key = key_of(i < 600 ? i : 100000 + i - 600);
		(void)catalog_file_get(txn, &key, &r);
		(void)catalog_path_each(txn, &ROOT, &key, ignore_path, NULL);
		(void)catalog_directory_each(txn, &key, ignore_name, NULL);
		(void)catalog_copies_each(txn, i, ignore_key, NULL);
		if (catalog_content_get(txn, i, &d) == 0)
			digests_release(&d);
		(void)catalog_sketch_get(txn, i, &sketch);
		(void)catalog_pending_next(txn, &key, &key, &r);
	}
	catalog_abort(txn);
}

/* Commits, or does not; a growing map would hide what is asked here. */
static void end_write(struct catalog_txn *txn)
{
	(void)catalog_commit(txn, NULL);
}

static void write_all(struct catalog *c)
{
	struct catalog_txn *txn;
	struct file_key key;
	uint64_t i;

	if (catalog_write(c, &txn) == 0) {
		for (i = 0; i < 600; i += 3)
			(void)set_fresh(txn, i, 5000 + i);
		end_write(txn);
	}
	if (catalog_write(c, &txn) == 0) {
		key = ROOT;
		(void)catalog_file_remove(txn, &key);
		end_write(txn);
	}
	(void)add_many(c, 0, 100);
}

static void break_seal(struct sample *s)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/sealed", s->f.directory);
	(void)unlink(path);
}

/* Opens what is there now; uses it if that works.  The result of opening. */
static int try_all(struct sample *s)
{
	int err = catalog_open(&s->f.options, &s->f.c);

	if (err) {
		assert_true(err == -EUCLEAN || err == -EMEDIUMTYPE);
		return err;
	}
	read_all(s->f.c);
	write_all(s->f.c);
	read_all(s->f.c);
	fixture_close(&s->f);
	return 0;
}

static int try_unsealed(struct sample *s)
{
	break_seal(s);
	return try_all(s);
}

/* As it was sealed; damage is done to that. */
static void restore(struct sample *s)
{
	write_whole(s->path, s->bytes, s->len);
	break_seal(s);
	assert_int_equal(seal_write(s->f.directory, s->path), 0);
}

static void replace(struct sample *s, struct buf *aside)
{
	int err;

	assert_int_equal(catalog_begin(&s->f.options, &s->f.c), 0);
	err = catalog_finish(s->f.c);
	assert_true(err == -EUCLEAN || err == -EMEDIUMTYPE);
	assert_false(catalog_is_open(s->f.c));
	assert_int_equal(catalog_replace(s->f.c, aside), 0);
	catalog_admit(s->f.c, 0);
	assert_true(catalog_is_open(s->f.c));
	assert_int_equal(count_files(&s->f), 0);
	fixture_close(&s->f);
}

static void assert_set_aside_and_opened(struct sample *s)
{
	struct buf aside = { 0 };

	replace(s, &aside);
	assert_int_equal(access(aside.data, F_OK), 0);
	fixture_open(&s->f);
	assert_int_equal(count_files(&s->f), 0);
	fixture_close(&s->f);
	assert_int_equal(unlink(aside.data), 0);
	buf_release(&aside);
}

static void test_the_sample_itself_opens(void **state)
{
	struct sample *s = *state;

	assert_int_equal(try_all(s), 0);
	restore(s);
	assert_int_equal(try_unsealed(s), 0);
}

static void test_a_truncated_file_is_unclean(void **state)
{
	struct sample *s = *state;
	size_t len, refused = 0, tried = 0;

	/* Every page, and a bit more than it. */
	for (len = 1; len < s->len; len += len % 4096 == 0 ? 1 : 4095) {
		restore(s);
		write_whole(s->path, s->bytes, len);
		assert_int_equal(try_all(s), -EUCLEAN);
		write_whole(s->path, s->bytes, len);
		refused += try_unsealed(s) != 0;
		tried++;
	}
	/* The last pages may be free. */
	assert_true(refused > tried - tried / 4);
	restore(s);
	write_whole(s->path, s->bytes, s->len / 2);
	assert_set_aside_and_opened(s);
}

static void test_an_empty_file_is_a_new_catalog(void **state)
{
	struct sample *s = *state;

	write_whole(s->path, "", 0);
	fixture_open(&s->f);
	assert_int_equal(count_files(&s->f), 0);
}

static void test_zeros_and_garbage_are_refused(void **state)
{
	struct sample *s = *state;
	uint64_t random = SEED;
	uint8_t *bytes = calloc(1, s->len);
	size_t i;

	assert_non_null(bytes);
	write_whole(s->path, bytes, s->len);
	assert_int_equal(try_all(s), -EUCLEAN);
	assert_int_equal(try_unsealed(s), -EMEDIUMTYPE);
	for (i = 0; i < s->len; i++)
		bytes[i] = (uint8_t)next_random(&random);
	restore(s);
	write_whole(s->path, bytes, s->len);
	assert_int_equal(try_all(s), -EUCLEAN);
	assert_int_equal(try_unsealed(s), -EMEDIUMTYPE);
	assert_set_aside_and_opened(s);
	free(bytes);
}

static void test_a_zeroed_page_is_unclean_or_unused(void **state)
{
	struct sample *s = *state;
	uint8_t *bytes = malloc(s->len);
	size_t page, refused = 0;

	assert_non_null(bytes);
	for (page = 0; page < s->len / 4096; page++) {
		memcpy(bytes, s->bytes, s->len);
		memset(bytes + 4096 * page, 0, 4096);
		restore(s);
		write_whole(s->path, bytes, s->len);
		assert_int_equal(try_all(s), -EUCLEAN);
		write_whole(s->path, bytes, s->len);
		refused += try_unsealed(s) != 0;
	}
	assert_true(refused > s->len / 4096 / 4);
	free(bytes);
}

/* Where damage hurts most: headers and offsets, or anywhere. */
static size_t flip_offset(const struct sample *s, uint64_t *random)
{
	size_t page = (size_t)random_below(random, s->len / 4096);

	switch (random_below(random, 4)) {
	case 0:
		return (size_t)random_below(random, 2 * 4096) % 160 +
		       4096 * (size_t)random_below(random, 2);
	case 1:
		return 4096 * page + (size_t)random_below(random, 16);
	case 2:
		return 4096 * page + (size_t)random_below(random, 120);
	default:
		return (size_t)random_below(random, s->len);
	}
}

static void flip_some(const struct sample *s, uint64_t *random, int flips,
		      uint8_t *bytes)
{
	do {
		int n = flips;

		memcpy(bytes, s->bytes, s->len);
		for (; n > 0; n--)
			bytes[flip_offset(s, random)] ^=
				(uint8_t)(1u << random_below(random, 8));
	} while (memcmp(bytes, s->bytes, s->len) == 0);
}

static void test_flipped_bits_break_the_seal(void **state)
{
	struct sample *s = *state;
	uint8_t *bytes = malloc(s->len);
	uint64_t random = SEED;
	int i;

	assert_non_null(bytes);
	for (i = 0; i < FLIPS; i++) {
		flip_some(s, &random, 1 + i % 3, bytes);
		write_whole(s->path, bytes, s->len);
		assert_int_equal(try_all(s), -EUCLEAN);
	}
	free(bytes);
}

static void test_flipped_bits_do_not_crash(void **state)
{
	struct sample *s = *state;
	uint8_t *bytes = malloc(s->len);
	uint64_t random = SEED;
	size_t refused = 0;
	int i;

	assert_non_null(bytes);
	for (i = 0; i < FLIPS; i++) {
		flip_some(s, &random, 1 + i % 3, bytes);
		write_whole(s->path, bytes, s->len);
		refused += try_unsealed(s) != 0;
	}
	/* Others are in what nobody reads, or in digests. */
	assert_true(refused > FLIPS / 8);
	free(bytes);
}

/* Gives each record with this key a value of 256 MiB more than it has: LMDB
 * keeps the size of the value in the eight bytes before the key. */
static void lengthen_values(const struct sample *s, const uint8_t *key,
			    size_t len, uint8_t *bytes)
{
	uint8_t *at = bytes;
	size_t found = 0;

	memcpy(bytes, s->bytes, s->len);
	while ((at = memmem(at, (size_t)(bytes + s->len - at), key, len))) {
		at[-5] ^= 0x10;
		at += len;
		found++;
	}
	assert_true(found > 0);
}

static void assert_length_is_checked(struct sample *s, const uint8_t *key,
				     size_t len)
{
	uint8_t *bytes = malloc(s->len);

	assert_non_null(bytes);
	lengthen_values(s, key, len, bytes);
	write_whole(s->path, bytes, s->len);
	assert_int_equal(try_unsealed(s), -EUCLEAN);
	free(bytes);
}

/* A writer that removes the record would move what lies behind the page. */
static void test_values_that_nobody_reads_have_their_size(void **state)
{
	struct catalog_name name = name_of("file number 1 of many");
	struct file_key file = key_of(1), parent = key_of(100000);
	struct sample *s = *state;
	uint8_t key[LINK_KEY_BYTES_MAX];
	size_t len;

	len = link_key_store(&file, &parent, name, key);
	assert_length_is_checked(s, key, len);
	len = name_key_store(&parent, name, key);
	assert_length_is_checked(s, key, len);
	len = copy_key_store(1, &file, key); /* the first one */
	assert_length_is_checked(s, key, len);
	file = key_of(7);
	len = file_key_store(&file, key);
	assert_length_is_checked(s, key, len);
	assert_length_is_checked(s, (const uint8_t *)SOURCE_KEY,
				 strlen(SOURCE_KEY));
}

/* The free space of pages is believed by writes alone: each of these bytes
 * takes every value that differs in one bit. */
static void test_page_headers_do_not_crash_a_writer(void **state)
{
	struct sample *s = *state;
	uint8_t *bytes = malloc(s->len);
	size_t page, offset;
	int bit;

	assert_non_null(bytes);
	for (page = 2; page < s->len / 4096; page += 11) {
		for (offset = 8; offset < 16; offset++) {
			bit = (int)((page + offset) % 8);
			memcpy(bytes, s->bytes, s->len);
			bytes[4096 * page + offset] ^= (uint8_t)(1u << bit);
			write_whole(s->path, bytes, s->len);
			(void)try_unsealed(s);
		}
	}
	free(bytes);
}

static void test_somebody_elses_lmdb_file_is_unclean(void **state)
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
	assert_found(s, DB_CONTENTS, k, 4, "texts and no record");
	assert_found(s, DB_CONTENTS, k, 4, "found by a wrong identity");
	assert_found(s, DB_TEXTS, k, 4, "texts and digest set");
	identity_key_store(&d, k);
	assert_found(s, DB_IDENTITIES, k, IDENTITY_KEY_BYTES,
		     "not found by its identity");
}

#define sample_test(name) \
	cmocka_unit_test_setup_teardown(name, setup_sample, teardown_sample)

int main(void)
{
	const struct CMUnitTest tests[] = {
		sample_test(test_the_sample_itself_opens),
		sample_test(test_a_truncated_file_is_unclean),
		sample_test(test_an_empty_file_is_a_new_catalog),
		sample_test(test_zeros_and_garbage_are_refused),
		sample_test(test_a_zeroed_page_is_unclean_or_unused),
		sample_test(test_flipped_bits_break_the_seal),
		sample_test(test_flipped_bits_do_not_crash),
		sample_test(test_values_that_nobody_reads_have_their_size),
		sample_test(test_page_headers_do_not_crash_a_writer),
		sample_test(test_somebody_elses_lmdb_file_is_unclean),
		sample_test(test_another_version_of_kinfs_is_told_apart),
		sample_test(test_another_version_of_lmdb_is_told_apart),
		sample_test(test_what_is_no_file_is_unclean),
		sample_test(test_files_set_aside_are_numbered),
		sample_test(test_the_check_finds_what_contradicts_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
