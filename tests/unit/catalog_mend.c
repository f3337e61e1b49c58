/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog_fixture.h"

#include "core/base/bytes.h"
#include "core/catalog/catalog_impl.h"

/*
 * Catalogs whose records contradict each other.  The promise of mending:
 * afterwards they do not, and what was not touched is as before.
 */
enum { FILES = 60, SEED = 5, ROUNDS = 300 };

static const struct file_key DIRECTORY = { .inode = 100000 };

static void name_file(char *name, size_t len, uint64_t i)
{
	(void)snprintf(name, len, "file %u", (unsigned)i);
}

/* FILES files in one directory, every third pending. */
static void fill(struct fixture *f)
{
	struct catalog_txn *txn = begin_write(f);
	char name[32];
	uint64_t i;

	assert_int_equal(
		catalog_name_set(txn, &ROOT, name_of("dir"), &DIRECTORY), 0);
	for (i = 1; i <= FILES; i++) {
		struct file_key key = key_of(i);
		struct file_identity id = identity_of(i);

		if (i % 3)
			assert_int_equal(set_fresh(txn, i, i), 0);
		else
			assert_int_equal(
				catalog_file_set_pending(txn, &key, &id), 0);
		name_file(name, sizeof(name), i);
		assert_int_equal(
			catalog_name_set(txn, &DIRECTORY, name_of(name), &key),
			0);
	}
	assert_int_equal(catalog_directory_set(txn, &DIRECTORY), 0);
	commit(txn);
	check_clean(f);
}

static int setup(void **state)
{
	(void)fixture_setup_open(state);
	fill(*state);
	return 0;
}

/* True when there was something to mend. */
static bool mend(struct fixture *f)
{
	struct catalog_txn *txn = begin_write(f);
	struct buf report = { 0 };
	bool found;

	assert_int_equal(catalog_mend(txn, &ROOT, &report), 0);
	commit(txn);
	found = report.len > 0;
	buf_release(&report);
	check_clean(f);
	return found;
}

static enum file_state state_of(struct fixture *f, uint64_t inode)
{
	struct catalog_txn *txn = begin_read(f);
	struct file_key key = key_of(inode);
	struct file_record r;

	assert_int_equal(catalog_file_get(txn, &key, &r), 0);
	assert_true(r.state == FILE_DIRECTORY ||
		    r.identity.size == inode % 100000);
	catalog_abort(txn);
	return r.state;
}

/* Those whose record, content or name is not what it was. */
static unsigned count_lost(struct fixture *f)
{
	struct catalog_txn *txn = begin_read(f);
	unsigned lost = 0;
	char name[32];
	uint64_t i;

	for (i = 1; i <= FILES; i++) {
		struct file_key key = key_of(i), found = { 0 };
		struct file_record r = { 0 };

		name_file(name, sizeof(name), i);
		if (catalog_name_get(txn, &DIRECTORY, name_of(name), &found) ||
		    !file_key_equal(&found, &key) ||
		    catalog_file_get(txn, &key, &r) ||
		    (r.state != FILE_PENDING) != (i % 3 != 0))
			lost++;
	}
	catalog_abort(txn);
	return lost;
}

static void break_record(struct fixture *f, enum catalog_db db, const void *key,
			 size_t len)
{
	struct catalog_txn *txn = begin_write(f);
	MDB_val value;

	if (txn_get(txn, db, key, len, &value) == 0)
		assert_int_equal(txn_delete(txn, db, key, len), 0);
	else
		assert_int_equal(txn_put(txn, db, key, len, "", 0), 0);
	commit(txn);
}

static uint32_t content_of(struct fixture *f, uint64_t inode)
{
	struct catalog_txn *txn = begin_read(f);
	struct file_key key = key_of(inode);
	struct file_record r;

	assert_int_equal(catalog_file_get(txn, &key, &r), 0);
	catalog_abort(txn);
	return r.content;
}

static int append_inode(void *arg, const struct file_key *key,
			const struct file_record *record)
{
	(void)record;
	return buf_append_format(arg, "%u ", (unsigned)key->inode);
}

static void assert_orphans(struct fixture *f, const char *want)
{
	struct catalog_txn *txn = begin_read(f);
	struct buf have = { 0 };

	assert_int_equal(catalog_orphans_each(txn, &ROOT, append_inode, &have),
			 0);
	assert_string_equal(have.data ? have.data : "", want);
	catalog_abort(txn);
	buf_release(&have);
}

/* ---- what follows from other records ---- */

static void test_a_whole_catalog_is_left_alone(void **state)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	struct buf report = { 0 };

	assert_int_equal(catalog_mend(txn, &ROOT, &report), 0);
	assert_int_equal(report.len, 0);
	catalog_abort(txn);
	assert_int_equal(count_lost(f), 0);
}

static void test_what_follows_is_made_again(void **state)
{
	struct fixture *f = *state;
	struct file_key file = key_of(2), pending = key_of(3);
	char text[64];
	struct digests d = digests_of(2, text, sizeof(text));
	uint8_t k[LINK_KEY_BYTES_MAX];
	size_t len;

	file_key_store(&pending, k);
	break_record(f, DB_PENDING, k, FILE_KEY_BYTES);
	len = link_key_store(&file, &DIRECTORY, name_of("file 2"), k);
	break_record(f, DB_LINKS, k, len);
	copy_key_store(content_of(f, 2), &file, k);
	break_record(f, DB_COPIES, k, COPY_KEY_BYTES);
	identity_key_store(&d, k);
	break_record(f, DB_IDENTITIES, k, IDENTITY_KEY_BYTES);
	file_key_store(&DIRECTORY, k);
	break_record(f, DB_FILES, k, FILE_KEY_BYTES);
	assert_true(mend(f));
	assert_int_equal(count_lost(f), 0);
	assert_int_equal(state_of(f, DIRECTORY.inode), FILE_DIRECTORY);
	assert_orphans(f, "");
}

/* A link that is wrong does not take the name from whose it is. */
static void test_a_false_second_name_goes_alone(void **state)
{
	struct fixture *f = *state;
	struct file_key file = key_of(2), found = { 0 };
	struct catalog_txn *txn = begin_write(f);
	uint8_t k[LINK_KEY_BYTES_MAX];
	size_t len;

	assert_int_equal(catalog_name_set(txn, &ROOT, name_of("z"), &file), 0);
	commit(txn);
	len = link_key_store(&DIRECTORY, &ROOT, name_of("z"), k);
	break_record(f, DB_LINKS, k, len);
	assert_true(mend(f));
	txn = begin_read(f);
	assert_int_equal(catalog_name_get(txn, &ROOT, name_of("z"), &found), 0);
	assert_true(file_key_equal(&found, &file));
	catalog_abort(txn);
	assert_int_equal(count_lost(f), 0);
	assert_orphans(f, "");
}

/* The records of file and content 4 say what those of 2 do. */
static void copy_records(struct fixture *f)
{
	struct file_key file = key_of(4);
	struct file_record r = { .identity = identity_of(2),
				 .state = FILE_FRESH,
				 .content = content_of(f, 4) };
	uint8_t from[CONTENT_KEY_BYTES], to[CONTENT_KEY_BYTES];
	uint8_t key[FILE_KEY_BYTES], record[FILE_RECORD_BYTES];
	uint8_t copy[CONTENT_BYTES];
	struct catalog_txn *txn;
	MDB_val value;

	store_be32(from, content_of(f, 2));
	store_be32(to, r.content);
	file_key_store(&file, key);
	file_record_store(&r, record);
	txn = begin_write(f);
	assert_int_equal(txn_get(txn, DB_CONTENTS, from, sizeof(from), &value),
			 0);
	assert_int_equal(value.mv_size, sizeof(copy));
	memcpy(copy, value.mv_data, sizeof(copy));
	assert_int_equal(
		txn_put(txn, DB_CONTENTS, to, sizeof(to), copy, sizeof(copy)),
		0);
	assert_int_equal(txn_put(txn, DB_FILES, key, sizeof(key), record,
				 sizeof(record)),
			 0);
	commit(txn);
}

static void test_of_two_equal_contents_one_goes(void **state)
{
	struct fixture *f = *state;

	copy_records(f);
	assert_true(mend(f));
	assert_int_equal(state_of(f, 2), FILE_FRESH);
	assert_int_equal(count_lost(f), 1); /* file 4 is pending */
}

static void test_what_nothing_needs_goes(void **state)
{
	struct fixture *f = *state;
	struct file_key file = key_of(2), none = key_of(99);
	uint8_t k[LINK_KEY_BYTES_MAX];
	struct catalog_txn *txn;
	size_t len;

	file_key_store(&file, k);
	break_record(f, DB_PENDING, k, FILE_KEY_BYTES);
	file_key_store(&none, k);
	break_record(f, DB_FILES, k, FILE_KEY_BYTES); /* of no bytes */
	len = link_key_store(&DIRECTORY, &ROOT, name_of("other"), k);
	break_record(f, DB_LINKS, k, len);
	copy_key_store(content_of(f, 2), &none, k);
	break_record(f, DB_COPIES, k, COPY_KEY_BYTES);
	break_record(f, DB_CONTENTS, "long", 4);
	break_record(f, DB_TEXTS, "odd", 3);
	assert_true(mend(f));
	assert_int_equal(count_lost(f), 0);
	txn = begin_read(f);
	assert_int_equal(
		catalog_file_get(txn, &none, &(struct file_record){ 0 }),
		-ENOENT);
	catalog_abort(txn);
}

static void test_lost_digests_make_a_file_pending(void **state)
{
	struct fixture *f = *state;
	uint8_t k[CONTENT_KEY_BYTES];

	store_be32(k, content_of(f, 2));
	break_record(f, DB_CONTENTS, k, sizeof(k));
	store_be32(k, content_of(f, 4));
	break_record(f, DB_TEXTS, k, sizeof(k));
	assert_true(mend(f));
	assert_int_equal(state_of(f, 2), FILE_PENDING);
	assert_int_equal(state_of(f, 4), FILE_PENDING);
	assert_int_equal(count_lost(f), 2);
}

static void test_a_name_without_a_record_goes(void **state)
{
	struct fixture *f = *state;
	struct file_key file = key_of(2);
	uint8_t k[FILE_KEY_BYTES];
	struct catalog_txn *txn;
	struct file_key found;

	file_key_store(&file, k);
	break_record(f, DB_FILES, k, sizeof(k));
	assert_true(mend(f));
	txn = begin_read(f);
	assert_int_equal(
		catalog_name_get(txn, &DIRECTORY, name_of("file 2"), &found),
		-ENOENT);
	catalog_abort(txn);
	assert_int_equal(count_lost(f), 1);
}

static void test_a_directory_keeps_one_of_two_names(void **state)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	struct file_key found = { 0 };

	assert_int_equal(link_put(txn, &ROOT, name_of("other"), &DIRECTORY), 0);
	commit(txn);
	assert_true(mend(f));
	txn = begin_read(f);
	assert_int_equal(catalog_name_get(txn, &ROOT, name_of("dir"), &found),
			 0);
	assert_int_equal(catalog_name_get(txn, &ROOT, name_of("other"), &found),
			 -ENOENT);
	catalog_abort(txn);
	assert_int_equal(count_lost(f), 0);
}

static void test_wrong_counts_are_counted_anew(void **state)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	struct catalog_counts n;

	txn->meta.counts.pending_bytes += 7;
	txn->meta.counts.directories -= 1;
	txn->meta_changed = true;
	commit(txn);
	assert_true(mend(f));
	txn = begin_read(f);
	assert_int_equal(catalog_counts(txn, &n), 0);
	assert_int_equal(n.files, FILES);
	assert_int_equal(n.directories, 2);
	catalog_abort(txn);
}

static void test_contents_that_went_are_told(void **state)
{
	struct fixture *f = *state;
	struct catalog_changes changes = { 0 };
	struct catalog_txn *txn;
	struct buf report = { 0 };
	uint32_t content = content_of(f, 2);
	uint8_t k[CONTENT_KEY_BYTES];

	store_be32(k, content);
	break_record(f, DB_TEXTS, k, sizeof(k));
	txn = begin_write(f);
	assert_int_equal(catalog_mend(txn, &ROOT, &report), 0);
	assert_int_equal(catalog_commit(txn, &changes), 0);
	assert_int_equal(changes.removed_count, 1);
	assert_int_equal(changes.removed[0], content);
	catalog_changes_release(&changes);
	buf_release(&report);
}

/* ---- anything ---- */

static size_t random_key(uint64_t *random, enum catalog_db db, uint8_t *k)
{
	struct file_key file = key_of(random_below(random, FILES + 3));
	struct catalog_name name =
		name_of(random_below(random, 2) ? "x" : "dir");

	switch (db) {
	case DB_NAMES:
		return name_key_store(&file, name, k);
	case DB_LINKS:
		return link_key_store(&file, &DIRECTORY, name, k);
	case DB_COPIES:
		copy_key_store((uint32_t)random_below(random, FILES), &file, k);
		return COPY_KEY_BYTES;
	case DB_CONTENTS:
	case DB_TEXTS:
	case DB_SKETCHES:
		store_be32(k, (uint32_t)random_below(random, FILES));
		return CONTENT_KEY_BYTES;
	default:
		file_key_store(&file, k);
		return FILE_KEY_BYTES;
	}
}

/* Takes out the nth record of a database; its value for use elsewhere. */
static size_t take_out(struct catalog_txn *txn, enum catalog_db db, uint64_t n,
		       uint8_t *value)
{
	uint8_t k[512];
	struct record_scan s;
	size_t key_len = 0, len = 0;

	assert_int_equal(record_scan_open(txn, db, NULL, 0, &s), 0);
	do {
		if (record_scan_next(&s) != 1)
			break;
		key_len = s.key.mv_size;
		memcpy(k, s.key.mv_data, key_len);
		len = s.value.mv_size < 256 ? s.value.mv_size : 256;
		memcpy(value, s.value.mv_data, len);
	} while (n--);
	record_scan_close(&s);
	if (n == UINT64_MAX)
		assert_int_equal(txn_delete(txn, db, k, key_len), 0);
	return len;
}

static void break_anything(struct fixture *f, uint64_t *random)
{
	enum catalog_db db =
		DB_FILES + (int)random_below(random, DB_COUNT - DB_FILES);
	struct catalog_txn *txn = begin_write(f);
	uint8_t k[LINK_KEY_BYTES_MAX];
	uint8_t value[256] = { 0 };
	size_t len, key_len;

	len = take_out(txn, db, random_below(random, FILES), value);
	if (random_below(random, 2)) {
		key_len = random_key(random, db, k);
		if (len && random_below(random, 4) == 0)
			value[random_below(random, len)] ^= 1;
		assert_int_equal(txn_put(txn, db, k, key_len, value, len), 0);
	}
	commit(txn);
}

static int ignore_content(void *arg, uint32_t content, const struct digests *d)
{
	(void)arg;
	(void)content;
	(void)d;
	return 0;
}

static void test_whatever_is_broken_is_mended(void **state)
{
	struct fixture *f = *state;
	uint64_t random = SEED;
	struct catalog_txn *txn;
	int round, i, found = 0;

	for (round = 0; round < ROUNDS; round++) {
		fill(f);
		for (i = 0; i <= round % 10; i++)
			break_anything(f, &random);
		found += mend(f);
		txn = begin_write(f);
		assert_int_equal(
			catalog_content_each(txn, ignore_content, NULL), 0);
		if (round % 3 == 0)
			assert_int_equal(catalog_file_remove(txn, &ROOT), 0);
		commit(txn);
		check_clean(f);
	}
	assert_true(found > ROUNDS / 2);
}

/* ---- orphans ---- */

static void test_orphans_are_those_without_a_path(void **state)
{
	struct fixture *f = *state;
	struct file_key up = key_of(200), down = key_of(201), in = key_of(202);
	struct catalog_txn *txn;

	assert_orphans(f, "");
	txn = begin_write(f);
	assert_int_equal(set_fresh(txn, 99, 99), 0);
	assert_int_equal(set_fresh(txn, 202, 202), 0);
	assert_int_equal(catalog_name_set(txn, &up, name_of("a"), &down), 0);
	assert_int_equal(catalog_name_set(txn, &down, name_of("b"), &in), 0);
	assert_int_equal(catalog_directory_set(txn, &down), 0);
	commit(txn);
	check_clean(f);
	assert_orphans(f, "99 200 201 202 ");
	txn = begin_write(f);
	assert_int_equal(catalog_name_set(txn, &down, name_of("c"), &up), 0);
	commit(txn);
	assert_orphans(f, "99 200 201 202 "); /* in a circle */
	txn = begin_write(f);
	assert_int_equal(catalog_name_set(txn, &ROOT, name_of("d"), &down), 0);
	commit(txn);
	assert_orphans(f, "99 ");
}

/* ---- stopping ---- */

static void test_a_walk_can_be_stopped(void **state)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_read(f);
	struct buf report = { 0 };
	atomic_bool stop = false;

	catalog_stop_when(txn, &stop);
	assert_int_equal(catalog_check(txn, &ROOT, &report), 0);
	stop = true;
	assert_int_equal(catalog_check(txn, &ROOT, &report), -ECANCELED);
	assert_int_equal(
		catalog_orphans_each(txn, &ROOT, append_inode, &report),
		-ECANCELED);
	assert_int_equal(report.len, 0);
	catalog_abort(txn);
}

/* ---- opening what is there ---- */

static void test_nothing_is_made_of_nothing(void **state)
{
	struct fixture *f = *state;
	char path[128];

	f->options.existing = true;
	assert_int_equal(catalog_open(&f->options, &f->c), -ENOENT);
	(void)snprintf(path, sizeof(path), "%s/lock", f->directory);
	assert_int_equal(access(path, F_OK), -1);
	fixture_data_path(f, path, sizeof(path));
	write_whole(path, "", 0);
	assert_int_equal(catalog_open(&f->options, &f->c), -ENOENT);
	assert_int_equal(access(path, F_OK), 0);
}

static void test_what_is_there_stays_what_it_is(void **state)
{
	struct fixture *f = *state;
	struct catalog_txn *txn;
	struct buf source = { 0 };
	uint64_t names = 0;

	fixture_close(f);
	f->options.existing = true;
	f->options.source = NULL;
	f->options.digest_set = 0;
	fixture_open(f);
	txn = begin_read(f);
	assert_int_equal(catalog_source(txn, &source), 0);
	assert_string_equal(source.data, "/made/up");
	assert_int_equal(catalog_digest_set(txn), DIGEST_DEFAULT);
	assert_int_equal(catalog_names_count(txn, &names), 0);
	assert_int_equal(names, FILES + 1);
	catalog_abort(txn);
	buf_release(&source);
	assert_int_equal(count_lost(f), 0);
}

#define filled_test(name) \
	cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		filled_test(test_a_whole_catalog_is_left_alone),
		filled_test(test_what_follows_is_made_again),
		filled_test(test_a_false_second_name_goes_alone),
		filled_test(test_of_two_equal_contents_one_goes),
		filled_test(test_what_nothing_needs_goes),
		filled_test(test_lost_digests_make_a_file_pending),
		filled_test(test_a_name_without_a_record_goes),
		filled_test(test_a_directory_keeps_one_of_two_names),
		filled_test(test_wrong_counts_are_counted_anew),
		filled_test(test_contents_that_went_are_told),
		filled_test(test_whatever_is_broken_is_mended),
		filled_test(test_orphans_are_those_without_a_path),
		filled_test(test_a_walk_can_be_stopped),
		cmocka_unit_test_setup_teardown(test_nothing_is_made_of_nothing,
						fixture_setup,
						fixture_teardown),
		filled_test(test_what_is_there_stays_what_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
