/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine_fixture.h"

#include <stdatomic.h>

#include "core/check/check.h"

/*
 * A tree that an engine has hashed, and its catalog as it is afterwards,
 * changed through its own interface into what no engine would have written.
 */
enum { LEN = 40000 };

struct checked_tree {
	struct fixture f;
	struct catalog *catalog;
	struct buf told; /* "kind path text", a line each */
};

static int setup(void **state)
{
	struct checked_tree *p = calloc(1, sizeof(*p));
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
	struct checked_tree *p = *state;

	catalog_free(p->catalog);
	fixture_remove(&p->f);
	buf_release(&p->told);
	free(p);
	return 0;
}

/* The engine ends, its catalog is ours. */
static void take_over(struct checked_tree *p)
{
	struct catalog_options options = { .directory = p->f.catalog,
					   .existing = true };

	fixture_close(&p->f);
	assert_int_equal(catalog_open(&options, &p->catalog), 0);
}

static void found(void *arg, const struct check_finding *f)
{
	struct checked_tree *p = arg;

	assert_int_equal(buf_append_format(&p->told, "%s %s %s\n",
					   check_kind_names[f->kind],
					   f->path ? f->path : "-", f->text),
			 0);
}

static struct check_options options_of(struct checked_tree *p)
{
	return (struct check_options){
		.catalog = p->catalog,
		.source_fd = p->f.source_fd,
		.read = true,
		.found = found,
		.arg = p,
	};
}

static void check(struct checked_tree *p, struct check_counts *out)
{
	struct check_options options = options_of(p);

	buf_clear(&p->told);
	assert_int_equal(check_run(&options, out), 0);
}

static void assert_told(struct checked_tree *p, const char *want)
{
	if (!p->told.data || !strstr(p->told.data, want))
		fail_msg("want \"%s\", have \"%s\"", want,
			 p->told.data ? p->told.data : "");
}

static void assert_in_order(struct checked_tree *p)
{
	struct check_counts n;

	check(p, &n);
	if (check_count_findings(&n))
		fail_msg("found: %s", p->told.data);
}

/* What the manual says: remove the data file, and mount.  Everything is in
 * order then. */
static void begin_anew(struct checked_tree *p)
{
	struct check_counts n;
	char path[512];

	catalog_free(p->catalog);
	p->catalog = NULL;
	(void)snprintf(path, sizeof(path), "%s/data.mdb", p->f.catalog);
	assert_int_equal(unlink(path), 0);
	fixture_open(&p->f);
	wait_idle(&p->f);
	take_over(p);
	assert_in_order(p);
	check(p, &n);
	assert_int_equal(n.fresh, 4);
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

static void find_a(struct checked_tree *p, const struct file_key *root,
		   struct file_key *key_out, struct file_record *out)
{
	struct catalog_txn *txn;

	assert_int_equal(catalog_read(p->catalog, &txn), 0);
	assert_int_equal(catalog_directory_each(txn, root, first_key, key_out),
			 1);
	assert_int_equal(catalog_file_get(txn, key_out, out), 0);
	catalog_abort(txn);
}

static enum file_state state_of(struct checked_tree *p,
				const struct file_key *key)
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
	struct checked_tree *p = *state;
	struct check_counts n;

	take_over(p);
	check(p, &n);
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
	struct checked_tree *p = *state;
	struct check_counts n;
	char path[512];

	take_over(p);
	write_file(&p->f, "new", "new", 3);
	write_file(&p->f, "a", "changed", 7);
	(void)snprintf(path, sizeof(path), "%s/d/b", p->f.source);
	assert_int_equal(unlink(path), 0);
	check(p, &n);
	assert_int_equal(check_count_findings(&n), 0);
	assert_int_equal(n.unknown, 1);
	assert_int_equal(n.stale, 1);
	assert_int_equal(n.gone, 1);
	assert_int_equal(n.read, 2);
}

/* ---- digests ---- */

/* Of another content, though size and times are what they were. */
static void test_another_content_is_found(void **state)
{
	struct checked_tree *p = *state;
	struct file_key root, key;
	struct file_record r;
	struct catalog_txn *txn;
	struct digests d;
	struct check_counts n;
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
	check(p, &n);
	assert_int_equal(n.found[CHECK_DIGEST], 1);
	assert_told(p, "digest a not the content that was hashed");
	assert_told(p, "sise simhash rdc sif ssdeep xxh128");
	assert_int_equal(state_of(p, &key), FILE_FRESH);
	begin_anew(p);
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
static void spoil_content(struct checked_tree *p, const struct file_record *r)
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
	struct checked_tree *p = *state;
	struct file_key root, key;
	struct file_record r;
	struct check_counts n;

	key_of(&p->f, ".", &root);
	take_over(p);
	find_a(p, &root, &key, &r);
	spoil_content(p, &r);
	check(p, &n);
	assert_int_equal(n.found[CHECK_DIGEST], 2);
	assert_told(p, "digest a digests are not those of its content; "
		       "differing: simhash\n");
	assert_told(p, "digest d/copy digests are not");
	begin_anew(p);
}

static bool says_used(void *arg, const struct stat *st)
{
	(void)arg;
	(void)st;
	return true;
}

static void test_a_file_in_use_is_not_judged(void **state)
{
	struct checked_tree *p = *state;
	struct check_options options;
	struct file_key root, key;
	struct file_record r;
	struct check_counts n;

	key_of(&p->f, ".", &root);
	take_over(p);
	find_a(p, &root, &key, &r);
	spoil_content(p, &r);
	options = options_of(p);
	options.in_use = says_used;
	assert_int_equal(check_run(&options, &n), 0);
	assert_int_equal(check_count_findings(&n), 0);
	assert_int_equal(n.read, 0);
	assert_int_equal(n.stale, 4);
}

/* ---- orphans ---- */

static void add_orphan(struct checked_tree *p, uint64_t inode)
{
	struct file_key key = { .inode = inode };
	struct file_identity id = { .size = 5 };
	struct catalog_txn *txn;

	assert_int_equal(catalog_write(p->catalog, &txn), 0);
	/* A pending one an engine would look for, and forget. */
	assert_int_equal(catalog_file_set_failed(txn, &key, &id, EIO), 0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
}

static void test_orphans_are_found(void **state)
{
	struct checked_tree *p = *state;
	struct check_counts n;
	uint64_t i;

	take_over(p);
	for (i = 0; i < CHECK_TOLD + 7; i++)
		add_orphan(p, UINT64_C(1) << 60 | i);
	check(p, &n);
	assert_int_equal(n.found[CHECK_ORPHAN], CHECK_TOLD + 7);
	assert_told(p, "orphan - file 0:1152921504606846976:0: no name leads "
		       "to it\n");
	assert_null(strstr(p->told.data, ":1152921504606847976:"));
	begin_anew(p);
}

/* settle gives it a name, as a record that is under way gets one. */
static int name_it(void *arg)
{
	struct checked_tree *p = arg;
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
	struct checked_tree *p = *state;
	struct check_options options;
	struct check_counts n;
	struct file_key root;

	key_of(&p->f, ".", &root);
	take_over(p);
	add_orphan(p, UINT64_C(1) << 60);
	p->f.options.host.ctx = &root;
	options = options_of(p);
	options.settle = name_it;
	assert_int_equal(check_run(&options, &n), 0);
	assert_int_equal(check_count_findings(&n), 0);
	assert_int_equal(n.gone, 1);
}

/* ---- records ---- */

static void test_contradictions_are_found(void **state)
{
	struct checked_tree *p = *state;
	struct file_key none = { .inode = UINT64_C(1) << 60 };
	struct catalog_name name = { "none", 4 };
	struct catalog_txn *txn;
	struct file_key root;
	struct check_counts n;

	key_of(&p->f, ".", &root);
	take_over(p);
	assert_int_equal(catalog_write(p->catalog, &txn), 0);
	assert_int_equal(catalog_name_set(txn, &root, name, &none), 0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
	check(p, &n);
	assert_int_equal(n.found[CHECK_RECORD], 1);
	assert_told(p, "record - file 0:1152921504606846976:0: has a name and "
		       "no record\n");
	begin_anew(p);
}

/* ---- another tree ---- */

static void test_another_directory_is_refused(void **state)
{
	struct checked_tree *p = *state;
	struct check_options options;
	struct check_counts n;
	char path[512];

	take_over(p);
	(void)snprintf(path, sizeof(path), "%s/new", p->f.source);
	assert_int_equal(mkdir(path, 0700), 0);
	options = options_of(p);
	options.source_fd = open_file(&p->f, "new");
	assert_int_equal(check_run(&options, &n), -EXDEV);
	close(options.source_fd);
	assert_in_order(p);
	check(p, &n);
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
	struct checked_tree *p = *state;
	struct check_options options;
	struct check_counts n;

	take_over(p);
	options = options_of(p);
	options.indexed = two; /* of three contents one is empty */
	assert_int_equal(check_run(&options, &n), 0);
	assert_int_equal(check_count_findings(&n), 0);
	options.indexed = three;
	assert_int_equal(check_run(&options, &n), 0);
	assert_int_equal(n.found[CHECK_INDEX], 1);
	assert_told(p, "index - 3 contents, the catalog has 2");
}

/* A file is forgotten and the index hears of it, while it is asked. */
static uint64_t one_less(void *arg)
{
	struct checked_tree *p = arg;
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
	struct checked_tree *p = *state;
	struct check_options options;
	struct check_counts n;
	struct file_key root;

	key_of(&p->f, ".", &root);
	take_over(p);
	p->f.options.host.ctx = &root;
	options = options_of(p);
	options.indexed = one_less;
	assert_int_equal(check_run(&options, &n), 0);
	assert_int_equal(n.found[CHECK_INDEX], 0);
	assert_int_equal(n.unknown, 2);
}

/* ---- the end ---- */

static void test_it_can_be_stopped(void **state)
{
	struct checked_tree *p = *state;
	atomic_bool stopping = true;
	struct check_options options;
	struct check_counts n;

	take_over(p);
	options = options_of(p);
	options.stopping = &stopping;
	assert_int_equal(check_run(&options, &n), -ECANCELED);
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
	struct checked_tree *p = *state;
	struct check_counts n;
	json_t *result;

	engine_check(p->f.engine, true);
	result = checked(&p->f, 1);
	check_counts_from_json(result, &n);
	assert_int_equal(check_count_findings(&n), 0);
	assert_int_equal(n.read, 4);
	assert_true(json_is_null(json_object_get(result, "error")));
	json_decref(result);
	engine_check(p->f.engine, false);
	engine_check(p->f.engine, false);
	result = checked(&p->f, 3);
	check_counts_from_json(result, &n);
	assert_int_equal(n.read, 0);
	assert_int_equal(n.files, 4);
	json_decref(result);
}

static void test_an_engine_finds_what_is_wrong(void **state)
{
	struct checked_tree *p = *state;
	struct file_key root, key;
	struct file_record r;
	struct check_counts n;
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
	engine_check(p->f.engine, true);
	result = checked(&p->f, 1);
	check_counts_from_json(result, &n);
	assert_int_equal(n.found[CHECK_ORPHAN], 1);
	assert_int_equal(n.found[CHECK_DIGEST], 2);
	assert_int_equal(json_array_size(json_object_get(result, "findings")),
			 check_count_findings(&n));
	json_decref(result);
	take_over(p);
	begin_anew(p);
}

/* ---- JSON ---- */

static void test_counts_survive_json(void **state)
{
	struct check_counts in, out;
	uint64_t *value = (uint64_t *)&in;
	json_t *o;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(in) / sizeof(*value); i++)
		value[i] = i + 1;
	o = check_counts_to_json(&in);
	check_counts_from_json(o, &out);
	json_decref(o);
	assert_memory_equal(&in, &out, sizeof(in));
	check_counts_from_json(NULL, &out);
	assert_int_equal(check_count_findings(&out), 0);
}

#define tree_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree_test(test_what_an_engine_leaves_is_in_order),
		tree_test(test_news_are_counted),
		tree_test(test_another_content_is_found),
		tree_test(test_a_wrong_digest_is_found_at_all_copies),
		tree_test(test_a_file_in_use_is_not_judged),
		tree_test(test_orphans_are_found),
		tree_test(test_a_name_that_comes_late_is_waited_for),
		tree_test(test_contradictions_are_found),
		tree_test(test_another_directory_is_refused),
		tree_test(test_the_index_has_what_the_catalog_has),
		tree_test(test_an_index_that_follows_is_in_order),
		tree_test(test_it_can_be_stopped),
		tree_test(test_an_engine_checks_itself),
		tree_test(test_an_engine_finds_what_is_wrong),
		cmocka_unit_test(test_counts_survive_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
