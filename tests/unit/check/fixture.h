/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CHECK_FIXTURE_H
#define TESTS_UNIT_CHECK_FIXTURE_H

#include "tests/unit/engine/fixture.h"

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

static inline int setup(void **state)
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

static inline int teardown(void **state)
{
	struct checked_tree *p = *state;

	catalog_free(p->catalog);
	fixture_remove(&p->f);
	buf_release(&p->told);
	free(p);
	return 0;
}

/* The engine ends, its catalog is ours. */
static inline void take_over(struct checked_tree *p)
{
	struct catalog_options options = { .directory = p->f.catalog,
					   .existing = true };

	fixture_close(&p->f);
	assert_int_equal(catalog_open(&options, &p->catalog), 0);
}

static inline void found(void *arg, const struct check_finding *f)
{
	struct checked_tree *p = arg;

	assert_int_equal(buf_append_format(&p->told, "%s %s %s\n",
					   check_kind_names[f->kind],
					   f->path ? f->path : "-", f->text),
			 0);
}

static inline struct check_options options_of(struct checked_tree *p)
{
	return (struct check_options){
		.catalog = p->catalog,
		.source_fd = p->f.source_fd,
		.read = true,
		.found = found,
		.arg = p,
	};
}

static inline void check(struct checked_tree *p, struct check_counts *out)
{
	struct check_options options = options_of(p);

	buf_clear(&p->told);
	assert_int_equal(check_run(&options, out), 0);
}

static inline void assert_told(struct checked_tree *p, const char *want)
{
	if (!p->told.data || !strstr(p->told.data, want))
		fail_msg("want \"%s\", have \"%s\"", want,
			 p->told.data ? p->told.data : "");
}

static inline void assert_in_order(struct checked_tree *p)
{
	struct check_counts n;

	check(p, &n);
	if (check_count_findings(&n))
		fail_msg("found: %s", p->told.data);
}

/* What the manual says: remove the data file, and mount.  Everything is in
 * order then. */
static inline void begin_anew(struct checked_tree *p)
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

static inline int first_key(void *arg, struct catalog_name name,
			    const struct file_key *key)
{
	struct file_key *out = arg;

	if (name.len != 1 || name.bytes[0] != 'a')
		return 0;
	*out = *key;
	return 1;
}

static inline void find_a(struct checked_tree *p, const struct file_key *root,
			  struct file_key *key_out, struct file_record *out)
{
	struct catalog_txn *txn;

	assert_int_equal(catalog_read(p->catalog, &txn), 0);
	assert_int_equal(catalog_directory_each(txn, root, first_key, key_out),
			 1);
	assert_int_equal(catalog_file_get(txn, key_out, out), 0);
	catalog_abort(txn);
}

static inline enum file_state state_of(struct checked_tree *p,
				       const struct file_key *key)
{
	struct catalog_txn *txn;
	struct file_record r;

	assert_int_equal(catalog_read(p->catalog, &txn), 0);
	assert_int_equal(catalog_file_get(txn, key, &r), 0);
	catalog_abort(txn);
	return r.state;
}

struct keys {
	struct file_key keys[8];
	size_t count;
};

static inline int note_key(void *arg, uint32_t content,
			   const struct file_key *key)
{
	struct keys *k = arg;

	(void)content;
	assert_true(k->count < 8);
	k->keys[k->count++] = *key;
	return 0;
}

/* A content that is known keeps its digests, so all its files leave it and
 * come back with others. */
static inline void spoil_content(struct checked_tree *p,
				 const struct file_record *r)
{
	struct keys k = { 0 };
	struct catalog_txn *txn;
	struct digests d;
	size_t i;

	assert_int_equal(catalog_write(p->catalog, &txn), 0);
	assert_int_equal(catalog_content_get(txn, r->content, &d), 0);
	d.simhash[7] ^= 1;
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

static inline void add_orphan(struct checked_tree *p, uint64_t inode)
{
	struct file_key key = { .inode = inode };
	struct file_identity id = { .size = 5 };
	struct catalog_txn *txn;

	assert_int_equal(catalog_write(p->catalog, &txn), 0);
	/* A pending one an engine would look for, and forget. */
	assert_int_equal(catalog_file_set_failed(txn, &key, &id, EIO), 0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
}

#define tree_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
