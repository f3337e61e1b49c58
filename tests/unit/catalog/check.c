/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"

#include "core/base/bytes.h"
#include "core/catalog/catalog_impl.h"

/*
 * Catalogs whose records contradict each other.  The promise: the check finds
 * every contradiction, and a catalog without findings can be read and written
 * to the end.
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

static void break_record(struct catalog_txn *txn, enum catalog_db db,
			 const void *key, size_t len)
{
	MDB_val value;

	if (txn_get(txn, db, key, len, &value) == 0)
		assert_int_equal(txn_delete(txn, db, key, len), 0);
	else
		assert_int_equal(txn_put(txn, db, key, len, "", 0), 0);
}

/* The findings, one a line; "" when there are none. */
static void check(struct catalog_txn *txn, struct buf *report)
{
	int err;

	buf_clear(report);
	err = catalog_check(txn, &ROOT, report);
	assert_int_equal(err, report->len ? -EUCLEAN : 0);
	if (!report->len)
		assert_int_equal(buf_append_text(report, ""), 0);
}

static void assert_finding(struct catalog_txn *txn, const char *want)
{
	struct buf report = { 0 };

	check(txn, &report);
	if (!strstr(report.data ? report.data : "", want))
		fail_msg("want \"%s\", have \"%s\"", want,
			 report.data ? report.data : "");
	buf_release(&report);
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

/* ---- one contradiction ---- */

static void test_a_whole_catalog_has_no_findings(void **state)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_read(f);
	struct buf report = { 0 };

	assert_int_equal(catalog_check(txn, &ROOT, &report), 0);
	assert_int_equal(report.len, 0);
	catalog_abort(txn);
	buf_release(&report);
	assert_int_equal(count_lost(f), 0);
}

static const char *const found_of_missing[DB_COUNT] = {
	[DB_FILES] = "the counts are wrong",
	[DB_NAMES] = "claims a name that is not its own",
	[DB_LINKS] = "a name that it does not know of",
	[DB_CONTENTS] = "its content is missing",
	[DB_DIGESTS + DIGEST_SISE] = "digest set and digests disagree",
	[DB_DIGESTS + DIGEST_SIF] = "digest set and digests disagree",
	[DB_DIGESTS + DIGEST_SSDEEP] = "digest set and digests disagree",
	[DB_IDENTITIES] = "not found by its identity",
	[DB_COPIES] = "not among the copies of its content",
	[DB_PENDING] = "not on the pending list",
};

/* The nth record, from 0; false when there are not so many. */
static bool drop_nth(struct catalog_txn *txn, enum catalog_db db, size_t n)
{
	uint8_t key[LINK_KEY_BYTES_MAX];
	struct record_scan s;
	size_t len = 0;
	int found;

	assert_int_equal(record_scan_open(txn, db, NULL, 0, &s), 0);
	do
		found = record_scan_next(&s);
	while (found == 1 && n--);
	if (found == 1) {
		len = s.key.mv_size;
		memcpy(key, s.key.mv_data, len);
	}
	record_scan_close(&s);
	if (found == 1)
		assert_int_equal(txn_delete(txn, db, key, len), 0);
	return found == 1;
}

static void test_any_missing_record_is_found(void **state)
{
	struct fixture *f = *state;
	struct catalog_txn *txn;
	size_t n, tried = 0;
	bool dropped;
	int db;

	for (db = DB_FILES; db < DB_COUNT; db++) {
		/* The dirty set says nothing about the files (dirty.c), and
		 * some digests have no records. */
		if (!found_of_missing[db])
			continue;
		for (n = 0, dropped = true; dropped; n++) {
			txn = begin_write(f);
			dropped = drop_nth(txn, db, n);
			if (dropped)
				assert_finding(txn, found_of_missing[db]);
			tried += dropped;
			catalog_abort(txn);
		}
		assert_true(n > 1);
	}
	assert_true(tried > (size_t)5 * FILES);
}

static void break_and_find(struct fixture *f, enum catalog_db db,
			   const void *key, size_t len, const char *want)
{
	struct catalog_txn *txn = begin_write(f);

	break_record(txn, db, key, len);
	assert_finding(txn, want);
	catalog_abort(txn);
}

static void test_any_superfluous_record_is_found(void **state)
{
	struct fixture *f = *state;
	struct file_key file = key_of(2), none = key_of(99);
	uint8_t k[LINK_KEY_BYTES_MAX];
	size_t len;

	len = file_key_store(&file, k);
	break_and_find(f, DB_PENDING, k, len, "but not pending");
	len = file_key_store(&none, k);
	break_and_find(f, DB_FILES, k, len, "unreadable record");
	len = link_key_store(&DIRECTORY, &ROOT, name_of("other"), k);
	break_and_find(f, DB_LINKS, k, len, "claims a name");
	break_and_find(f, DB_LINKS, k, len, "a directory with two names");
	len = name_key_store(&ROOT, name_of("other"), k);
	break_and_find(f, DB_NAMES, k, len, "a malformed name");
	len = copy_key_store(content_of(f, 2), &none, k);
	break_and_find(f, DB_COPIES, k, len, "a wrong content");
	break_and_find(f, DB_CONTENTS, "long", 4, "unreadable record");
	break_and_find(f, DB_DIGESTS + DIGEST_SISE, "odd", 3,
		       "a digest with a wrong key");
	break_and_find(f, DB_DIGESTS + DIGEST_XXH128, "odd", 3,
		       "a digest with a wrong key");
	break_and_find(f, DB_IDENTITIES, "odd", 3, "a malformed identity");
}

static void test_two_names_of_a_directory_are_found(void **state)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);

	assert_int_equal(link_put(txn, &ROOT, name_of("other"), &DIRECTORY), 0);
	assert_finding(txn, "a directory with two names");
	catalog_abort(txn);
}

/* The record of file 4's content says what that of file 2 does. */
static void test_two_equal_contents_are_found(void **state)
{
	struct fixture *f = *state;
	uint8_t from[CONTENT_KEY_BYTES], to[CONTENT_KEY_BYTES];
	uint8_t copy[CONTENT_BYTES];
	struct catalog_txn *txn;
	MDB_val value;

	store_be32(from, content_of(f, 2));
	store_be32(to, content_of(f, 4));
	txn = begin_write(f);
	assert_int_equal(txn_get(txn, DB_CONTENTS, from, sizeof(from), &value),
			 0);
	assert_int_equal(value.mv_size, sizeof(copy));
	memcpy(copy, value.mv_data, sizeof(copy));
	assert_int_equal(
		txn_put(txn, DB_CONTENTS, to, sizeof(to), copy, sizeof(copy)),
		0);
	assert_finding(txn, "not found by its identity");
	catalog_abort(txn);
}

static void test_wrong_counts_are_found(void **state)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);

	txn->meta.counts.pending_bytes += 7;
	assert_finding(txn, "the counts are wrong");
	txn->meta.counts.pending_bytes -= 7;
	assert_finding(txn, "");
	txn->meta.counts.directories -= 1;
	assert_finding(txn, "the counts are wrong");
	catalog_abort(txn);
}

/* ---- anything ---- */

static size_t random_key(uint64_t *random, enum catalog_db db, uint8_t *k)
{
	struct file_key file = key_of(random_below(random, FILES + 3));
	struct catalog_name name =
		name_of(random_below(random, 2) ? "x" : "dir");

	if (db == DB_CONTENTS || db >= DB_DIGESTS) {
		store_be32(k, (uint32_t)random_below(random, FILES));
		return CONTENT_KEY_BYTES;
	}
	switch (db) {
	case DB_NAMES:
		return name_key_store(&file, name, k);
	case DB_LINKS:
		return link_key_store(&file, &DIRECTORY, name, k);
	case DB_COPIES:
		return copy_key_store((uint32_t)random_below(random, FILES),
				      &file, k);
	default:
		return file_key_store(&file, k);
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

static void break_anything(struct catalog_txn *txn, uint64_t *random)
{
	enum catalog_db db =
		DB_FILES + (int)random_below(random, DB_COUNT - DB_FILES);
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
}

static int ignore_content(void *arg, uint32_t content, const struct digests *d)
{
	(void)arg;
	(void)content;
	(void)d;
	return 0;
}

/* What was broken may happen to be whole again, or be a digest, which nothing
 * contradicts: then everything works. */
static void test_what_has_no_findings_works(void **state)
{
	struct fixture *f = *state;
	struct buf report = { 0 };
	uint64_t random = SEED;
	struct catalog_txn *txn;
	int round, i, found = 0;

	for (round = 0; round < ROUNDS; round++) {
		txn = begin_write(f);
		for (i = 0; i <= round % 3; i++)
			break_anything(txn, &random);
		check(txn, &report);
		found += report.len > 0;
		if (!report.len) {
			assert_int_equal(
				catalog_content_each(txn, ignore_content, NULL),
				0);
			assert_int_equal(catalog_file_remove(txn, &ROOT), 0);
			assert_finding(txn, "");
		}
		catalog_abort(txn);
	}
	buf_release(&report);
	assert_true(found > ROUNDS / 2);
	assert_true(found < ROUNDS);
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
	assert_int_equal(catalog_name_set(txn, &down, name_of("c"), &up),
			 -EINVAL); /* a circle */
	commit(txn);
	assert_orphans(f, "99 200 201 202 ");
	txn = begin_write(f);
	assert_int_equal(catalog_name_set(txn, &ROOT, name_of("d"), &down), 0);
	commit(txn);
	assert_orphans(f, "99 200 ");
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
		filled_test(test_a_whole_catalog_has_no_findings),
		filled_test(test_any_missing_record_is_found),
		filled_test(test_any_superfluous_record_is_found),
		filled_test(test_two_names_of_a_directory_are_found),
		filled_test(test_two_equal_contents_are_found),
		filled_test(test_wrong_counts_are_found),
		filled_test(test_what_has_no_findings_works),
		filled_test(test_orphans_are_those_without_a_path),
		filled_test(test_a_walk_can_be_stopped),
		cmocka_unit_test_setup_teardown(test_nothing_is_made_of_nothing,
						fixture_setup,
						fixture_teardown),
		filled_test(test_what_is_there_stays_what_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
