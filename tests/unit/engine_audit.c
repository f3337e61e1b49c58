/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine_fixture.h"

#include <stdatomic.h>

#include "core/check/check.h"

/*
 * A tree that an engine has hashed, and its catalog as it is afterwards,
 * changed through its own interface into what no engine would have written.
 */
enum { LEN = 40000 };

struct place {
	struct fixture f;
	struct catalog *catalog;
	struct buf told; /* "kind path text", a line each */
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	char text[LEN];
	char path[512];

	assert_non_null(p);
	fixture_make(&p->f);
	(void)snprintf(path, sizeof(path), "%s/d", p->f.source);
	assert_int_equal(mkdir(path, 0700), 0);
	make_text(text, LEN, 1);
	write_file(&p->f, "a", text, LEN);
	write_file(&p->f, "d/copy", text, LEN);
	make_text(text, LEN, 2);
	write_file(&p->f, "d/b", text, LEN);
	write_file(&p->f, "empty", "", 0);
	fixture_open(&p->f);
	wait_idle(&p->f);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	catalog_free(p->catalog);
	fixture_remove(&p->f);
	buf_release(&p->told);
	free(p);
	return 0;
}

/* The engine ends, its catalog is ours. */
static void take_over(struct place *p)
{
	struct catalog_options options = { .directory = p->f.catalog,
					   .existing = true };

	fixture_close(&p->f);
	assert_int_equal(catalog_open(&options, &p->catalog), 0);
}

static void found(void *arg, const struct audit_finding *f)
{
	struct place *p = arg;

	assert_int_equal(buf_append_format(&p->told, "%s %s %s\n",
					   audit_kind_names[f->kind],
					   f->path ? f->path : "-", f->text),
			 0);
}

static struct audit_options options_of(struct place *p)
{
	return (struct audit_options){
		.catalog = p->catalog,
		.source_fd = p->f.source_fd,
		.read = true,
		.found = found,
		.arg = p,
	};
}

static void audit(struct place *p, const struct audit_mender *mender,
		  struct audit_counts *out)
{
	struct audit_options options = options_of(p);

	options.mender = mender;
	buf_clear(&p->told);
	assert_int_equal(audit_run(&options, out), 0);
}

static void assert_told(struct place *p, const char *want)
{
	if (!p->told.data || !strstr(p->told.data, want))
		fail_msg("want \"%s\", have \"%s\"", want,
			 p->told.data ? p->told.data : "");
}

static void assert_in_order(struct place *p)
{
	struct audit_counts n;

	audit(p, NULL, &n);
	if (audit_findings(&n))
		fail_msg("found: %s", p->told.data);
}

/* Mends, and nothing is left. */
static void mend(struct place *p, struct audit_counts *out)
{
	struct audit_mender mender;
	struct audit_counts n;

	audit_mender_init(p->catalog, &mender);
	audit(p, &mender, out);
	assert_int_equal(out->mended, audit_findings(out));
	audit(p, NULL, &n);
	assert_int_equal(audit_findings(&n), 0);
}

/* ---- keys without an engine, by the engine's own record of the tree ---- */

static int first_key(void *arg, struct catalog_name name,
		     const struct file_key *key)
{
	struct file_key *out = arg;

	if (name.len != 1 || name.bytes[0] != 'a')
		return 0;
	*out = *key;
	return 1;
}

static void find_a(struct place *p, const struct file_key *root,
		   struct file_key *key_out, struct file_record *out)
{
	struct catalog_txn *txn;

	assert_int_equal(catalog_read(p->catalog, &txn), 0);
	assert_int_equal(catalog_directory_each(txn, root, first_key, key_out),
			 1);
	assert_int_equal(catalog_file_get(txn, key_out, out), 0);
	catalog_abort(txn);
}

static enum file_state state_of(struct place *p, const struct file_key *key)
{
	struct catalog_txn *txn;
	struct file_record r;

	assert_int_equal(catalog_read(p->catalog, &txn), 0);
	assert_int_equal(catalog_file_get(txn, key, &r), 0);
	catalog_abort(txn);
	return r.state;
}

/* ---- in order ---- */

static void test_what_an_engine_leaves_is_in_order(void **state)
{
	struct place *p = *state;
	struct audit_counts n;

	take_over(p);
	audit(p, NULL, &n);
	assert_in_order(p);
	assert_int_equal(n.directories, 2);
	assert_int_equal(n.files, 4);
	assert_int_equal(n.fresh, 4);
	assert_int_equal(n.read, 4);
	assert_int_equal(n.read_bytes, 3 * LEN);
	assert_int_equal(n.unknown + n.stale + n.gone + n.unread, 0);
}

static void test_news_are_counted(void **state)
{
	struct place *p = *state;
	struct audit_counts n;
	char path[512];

	take_over(p);
	write_file(&p->f, "new", "new", 3);
	write_file(&p->f, "a", "changed", 7);
	(void)snprintf(path, sizeof(path), "%s/d/b", p->f.source);
	assert_int_equal(unlink(path), 0);
	audit(p, NULL, &n);
	assert_int_equal(audit_findings(&n), 0);
	assert_int_equal(n.unknown, 1);
	assert_int_equal(n.stale, 1);
	assert_int_equal(n.gone, 1);
	assert_int_equal(n.read, 2);
}

/* ---- digests ---- */

/* Of another content, though size and times are what they were. */
static void test_another_content_is_found(void **state)
{
	struct place *p = *state;
	struct file_key root, key;
	struct file_record r;
	struct catalog_txn *txn;
	struct digests d;
	struct audit_counts n;
	char text[LEN];

	key_of(&p->f, ".", &root);
	take_over(p);
	find_a(p, &root, &key, &r);
	make_text(text, LEN, 3);
	digest_bytes(text, LEN, &d);
	assert_int_equal(catalog_write(p->catalog, &txn), 0);
	assert_int_equal(catalog_file_set_fresh(txn, &key, &r.identity, &d), 0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
	digests_release(&d);
	audit(p, NULL, &n);
	assert_int_equal(n.found[AUDIT_DIGEST], 1);
	assert_told(p, "digest a not the content that was hashed");
	assert_told(p, "sise simhash rdc sif ssdeep xxh128");
	assert_int_equal(state_of(p, &key), FILE_FRESH);
	mend(p, &n);
	assert_int_equal(state_of(p, &key), FILE_PENDING);
	audit(p, NULL, &n);
	assert_int_equal(n.pending, 1); /* the copy was right */
}

struct keys {
	struct file_key keys[8];
	size_t count;
};

static int note_key(void *arg, const struct file_key *key)
{
	struct keys *k = arg;

	assert_true(k->count < 8);
	k->keys[k->count++] = *key;
	return 0;
}

/* A content that is known keeps its digests, so all its files leave it and
 * come back with others. */
static void spoil_content(struct place *p, const struct file_record *r)
{
	struct keys k = { 0 };
	struct catalog_txn *txn;
	struct digests d;
	size_t i;

	assert_int_equal(catalog_write(p->catalog, &txn), 0);
	assert_int_equal(catalog_content_get(txn, r->content, &d), 0);
	d.simhash ^= 1;
	assert_int_equal(catalog_copies_each(txn, r->content, note_key, &k), 0);
	assert_int_equal(k.count, 2);
	for (i = 0; i < 4; i++) {
		const struct file_key *key = &k.keys[i % 2];
		struct file_record copy;

		assert_int_equal(catalog_file_get(txn, key, &copy), 0);
		assert_int_equal(i < 2 ? catalog_file_set_pending(
						 txn, key, &copy.identity) :
					 catalog_file_set_fresh(
						 txn, key, &copy.identity, &d),
				 0);
	}
	assert_int_equal(catalog_commit(txn, NULL), 0);
	digests_release(&d);
}

static void test_a_wrong_digest_is_found_at_all_copies(void **state)
{
	struct place *p = *state;
	struct file_key root, key;
	struct file_record r;
	struct audit_counts n;

	key_of(&p->f, ".", &root);
	take_over(p);
	find_a(p, &root, &key, &r);
	spoil_content(p, &r);
	audit(p, NULL, &n);
	assert_int_equal(n.found[AUDIT_DIGEST], 2);
	assert_told(p, "digest a digests are not those of its content; "
		       "differing: simhash\n");
	assert_told(p, "digest d/copy digests are not");
}

/* Mending one of two would bring the wrong digests back with its hashing. */
static void test_a_wrong_digest_is_mended_at_all_copies(void **state)
{
	struct place *p = *state;
	struct file_key root, key;
	struct file_record r;
	struct audit_counts n;

	key_of(&p->f, ".", &root);
	take_over(p);
	find_a(p, &root, &key, &r);
	spoil_content(p, &r);
	mend(p, &n);
	assert_int_equal(n.found[AUDIT_DIGEST], 1); /* the other is pending */
	audit(p, NULL, &n);
	assert_int_equal(n.pending, 2);
	catalog_free(p->catalog);
	p->catalog = NULL;
	fixture_open(&p->f);
	wait_idle(&p->f);
	take_over(p);
	audit(p, NULL, &n);
	assert_int_equal(audit_findings(&n), 0);
	assert_int_equal(n.read, 4);
}

static bool says_used(void *arg, const struct stat *st)
{
	(void)arg;
	(void)st;
	return true;
}

static void test_a_file_in_use_is_not_judged(void **state)
{
	struct place *p = *state;
	struct audit_options options;
	struct file_key root, key;
	struct file_record r;
	struct audit_counts n;

	key_of(&p->f, ".", &root);
	take_over(p);
	find_a(p, &root, &key, &r);
	spoil_content(p, &r);
	options = options_of(p);
	options.in_use = says_used;
	assert_int_equal(audit_run(&options, &n), 0);
	assert_int_equal(audit_findings(&n), 0);
	assert_int_equal(n.read, 0);
	assert_int_equal(n.stale, 4);
}

/* ---- orphans ---- */

static void add_orphan(struct place *p, uint64_t inode)
{
	struct file_key key = { .inode = inode };
	struct file_identity id = { .size = 5 };
	struct catalog_txn *txn;

	assert_int_equal(catalog_write(p->catalog, &txn), 0);
	/* A pending one an engine would look for, and forget. */
	assert_int_equal(catalog_file_set_failed(txn, &key, &id, EIO), 0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
}

static void test_orphans_are_found_and_removed(void **state)
{
	struct place *p = *state;
	struct audit_counts n;
	uint64_t i;

	take_over(p);
	for (i = 0; i < AUDIT_TOLD + 7; i++)
		add_orphan(p, UINT64_C(1) << 60 | i);
	audit(p, NULL, &n);
	assert_int_equal(n.found[AUDIT_ORPHAN], AUDIT_TOLD + 7);
	assert_told(p, "orphan - file 0:1152921504606846976:0: no name leads "
		       "to it\n");
	assert_null(strstr(p->told.data, ":1152921504606847976:"));
	mend(p, &n);
	assert_int_equal(n.mended, AUDIT_TOLD + 7);
}

/* settle gives it a name, as a record that is under way gets one. */
static int name_it(void *arg)
{
	struct place *p = arg;
	struct file_key root, key = { .inode = UINT64_C(1) << 60 };
	struct catalog_name name = { "b", 1 };
	struct catalog_txn *txn;

	root = *(struct file_key *)p->f.options.host.ctx;
	assert_int_equal(catalog_write(p->catalog, &txn), 0);
	assert_int_equal(catalog_name_set(txn, &root, name, &key), 0);
	return catalog_commit(txn, NULL);
}

static void test_a_name_that_comes_late_is_waited_for(void **state)
{
	struct place *p = *state;
	struct audit_options options;
	struct audit_counts n;
	struct file_key root;

	key_of(&p->f, ".", &root);
	take_over(p);
	add_orphan(p, UINT64_C(1) << 60);
	p->f.options.host.ctx = &root;
	options = options_of(p);
	options.settle = name_it;
	assert_int_equal(audit_run(&options, &n), 0);
	assert_int_equal(audit_findings(&n), 0);
	assert_int_equal(n.gone, 1);
}

/* ---- records ---- */

static void test_records_are_mended(void **state)
{
	struct place *p = *state;
	struct file_key none = { .inode = UINT64_C(1) << 60 };
	struct catalog_name name = { "none", 4 };
	struct catalog_txn *txn;
	struct file_key root;
	struct audit_counts n;

	key_of(&p->f, ".", &root);
	take_over(p);
	assert_int_equal(catalog_write(p->catalog, &txn), 0);
	assert_int_equal(catalog_name_set(txn, &root, name, &none), 0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
	audit(p, NULL, &n);
	assert_int_equal(n.found[AUDIT_RECORD], 1);
	assert_told(p, "record - file 0:1152921504606846976:0: has a name and "
		       "no record\n");
	mend(p, &n);
}

/* ---- another tree ---- */

static void test_another_directory_is_refused(void **state)
{
	struct place *p = *state;
	struct audit_options options;
	struct audit_mender mender;
	struct audit_counts n;
	char path[512];

	take_over(p);
	(void)snprintf(path, sizeof(path), "%s/new", p->f.source);
	assert_int_equal(mkdir(path, 0700), 0);
	options = options_of(p);
	audit_mender_init(p->catalog, &mender);
	options.mender = &mender;
	options.source_fd = open_file(&p->f, "new");
	assert_int_equal(audit_run(&options, &n), -EXDEV);
	close(options.source_fd);
	assert_in_order(p);
	audit(p, NULL, &n);
	assert_int_equal(n.fresh, 4);
}

/* ---- the index ---- */

static uint64_t three(void *arg)
{
	(void)arg;
	return 3;
}

static uint64_t two(void *arg)
{
	(void)arg;
	return 2;
}

static void test_the_index_has_what_the_catalog_has(void **state)
{
	struct place *p = *state;
	struct audit_options options;
	struct audit_counts n;

	take_over(p);
	options = options_of(p);
	options.indexed = two; /* of three contents one is empty */
	assert_int_equal(audit_run(&options, &n), 0);
	assert_int_equal(audit_findings(&n), 0);
	options.indexed = three;
	assert_int_equal(audit_run(&options, &n), 0);
	assert_int_equal(n.found[AUDIT_INDEX], 1);
	assert_told(p, "index - 3 contents, the catalog has 2");
}

/* A file is forgotten and the index hears of it, while it is asked. */
static uint64_t one_less(void *arg)
{
	struct place *p = arg;
	struct file_key root = *(struct file_key *)p->f.options.host.ctx;
	struct catalog_name name = { "d", 1 };
	struct catalog_txn *txn;
	int err;

	assert_int_equal(catalog_write(p->catalog, &txn), 0);
	err = catalog_name_remove(txn, &root, name);
	assert_true(!err || err == -ENOENT);
	assert_int_equal(catalog_commit(txn, NULL), 0);
	return 1;
}

static void test_an_index_that_follows_is_in_order(void **state)
{
	struct place *p = *state;
	struct audit_options options;
	struct audit_counts n;
	struct file_key root;

	key_of(&p->f, ".", &root);
	take_over(p);
	p->f.options.host.ctx = &root;
	options = options_of(p);
	options.indexed = one_less;
	assert_int_equal(audit_run(&options, &n), 0);
	assert_int_equal(n.found[AUDIT_INDEX], 0);
	assert_int_equal(n.unknown, 2);
}

/* ---- the end ---- */

static void test_it_can_be_stopped(void **state)
{
	struct place *p = *state;
	atomic_bool stopping = true;
	struct audit_options options;
	struct audit_counts n;

	take_over(p);
	options = options_of(p);
	options.stopping = &stopping;
	assert_int_equal(audit_run(&options, &n), -ECANCELED);
	assert_int_equal(n.files, 0);
}

/* ---- by the engine itself ---- */

static json_t *checked(struct fixture *f, json_int_t number)
{
	struct timespec pause = { 0, 2000000 };
	json_t *status, *check;
	int polls;

	for (polls = 0; polls < DEADLINE_S * 500; polls++) {
		assert_int_equal(engine_status(f->engine, &status), 0);
		check = json_object_get(status, "check");
		if (json_integer_value(json_object_get(check, "finished")) >=
		    number) {
			check = json_incref(json_object_get(check, "result"));
			json_decref(status);
			return check;
		}
		json_decref(status);
		nanosleep(&pause, NULL);
	}
	fail_msg("not checked after %d s", DEADLINE_S);
	return NULL;
}

static void test_an_engine_checks_itself(void **state)
{
	struct place *p = *state;
	struct audit_counts n;
	json_t *result;

	engine_check(p->f.engine, true, false);
	result = checked(&p->f, 1);
	audit_from_json(result, &n);
	assert_int_equal(audit_findings(&n), 0);
	assert_int_equal(n.read, 4);
	assert_true(json_is_null(json_object_get(result, "error")));
	json_decref(result);
	engine_check(p->f.engine, false, false);
	engine_check(p->f.engine, false, false);
	result = checked(&p->f, 3);
	audit_from_json(result, &n);
	assert_int_equal(n.read, 0);
	assert_int_equal(n.files, 4);
	json_decref(result);
}

static void test_an_engine_mends_itself(void **state)
{
	struct place *p = *state;
	struct file_key root, key;
	struct file_record r;
	struct audit_counts n;
	json_t *result;

	key_of(&p->f, ".", &root);
	take_over(p);
	find_a(p, &root, &key, &r);
	spoil_content(p, &r);
	add_orphan(p, UINT64_C(1) << 60);
	catalog_free(p->catalog);
	p->catalog = NULL;
	fixture_open(&p->f);
	wait_idle(&p->f);
	engine_check(p->f.engine, true, true);
	result = checked(&p->f, 1);
	audit_from_json(result, &n);
	assert_int_equal(n.found[AUDIT_ORPHAN], 1);
	assert_int_equal(n.mended, audit_findings(&n));
	assert_int_equal(json_array_size(json_object_get(result, "findings")),
			 audit_findings(&n));
	json_decref(result);
	wait_idle(&p->f);
	take_over(p);
	assert_in_order(p);
	assert_int_equal(state_of(p, &key), FILE_FRESH);
}

/* ---- JSON ---- */

static void test_counts_survive_json(void **state)
{
	struct audit_counts in, out;
	uint64_t *value = (uint64_t *)&in;
	json_t *o;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(in) / sizeof(*value); i++)
		value[i] = i + 1;
	o = audit_to_json(&in);
	audit_from_json(o, &out);
	json_decref(o);
	assert_memory_equal(&in, &out, sizeof(in));
	audit_from_json(NULL, &out);
	assert_int_equal(audit_findings(&out), 0);
}

#define place_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(test_what_an_engine_leaves_is_in_order),
		place_test(test_news_are_counted),
		place_test(test_another_content_is_found),
		place_test(test_a_wrong_digest_is_found_at_all_copies),
		place_test(test_a_wrong_digest_is_mended_at_all_copies),
		place_test(test_a_file_in_use_is_not_judged),
		place_test(test_orphans_are_found_and_removed),
		place_test(test_a_name_that_comes_late_is_waited_for),
		place_test(test_records_are_mended),
		place_test(test_another_directory_is_refused),
		place_test(test_the_index_has_what_the_catalog_has),
		place_test(test_an_index_that_follows_is_in_order),
		place_test(test_it_can_be_stopped),
		place_test(test_an_engine_checks_itself),
		place_test(test_an_engine_mends_itself),
		cmocka_unit_test(test_counts_survive_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
