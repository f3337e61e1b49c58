/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/compare.h"

/* Random programs against the model. */
enum {
	PROGRAMS = 24,
	BATCHES = 30,
	OPS_MAX = 60,
};

static int any(struct program *p, int n)
{
	return (int)random_below(&p->random, (uint64_t)n);
}

/* ---- operations on both ---- */

static void op_fresh(struct program *p, struct catalog_txn *txn)
{
	int key = any(p, KEYS);
	int content = any(p, CONTENTS);
	struct file_key k = key_at(key);
	char text[128];
	struct digests d = content_at(content, text, sizeof(text));
	struct file_record r = { .state = FILE_FRESH };

	r.identity = identity_of((uint64_t)content * 7);
	r.identity.ctime_ns = any(p, 3);
	want(p, catalog_file_set_fresh(txn, &k, &r.identity, &d) == 0);
	r.content = model_intern(&p->m, content);
	model_put(&p->m, key, r, content);
}

static void op_pending(struct program *p, struct catalog_txn *txn)
{
	int key = any(p, KEYS);
	struct file_key k = key_at(key);
	struct file_record r = { .state = FILE_PENDING };

	r.identity.size = (uint64_t)any(p, 4) << any(p, 40);
	want(p, catalog_file_set_pending(txn, &k, &r.identity) == 0);
	model_put(&p->m, key, r, -1);
}

static void op_touch(struct program *p, struct catalog_txn *txn)
{
	int key = any(p, KEYS);
	struct model_file *f = &p->m.files[key];
	struct file_key k = key_at(key);
	struct file_record r;

	if (!f->known || f->record.state == FILE_DIRECTORY)
		return;
	want(p, catalog_file_get(txn, &k, &r) == 0);
	r.identity.ctime_ns = any(p, 100);
	want(p, catalog_file_set(txn, &k, &r) == 0);
	f->record.identity = r.identity;
	r.identity.size++;
	if (r.state == FILE_FRESH)
		want(p, catalog_file_set(txn, &k, &r) == -EINVAL);
}

static void op_failed(struct program *p, struct catalog_txn *txn)
{
	int key = any(p, KEYS);
	struct file_key k = key_at(key);
	struct file_record r = { .state = FILE_FAILED, .error = EIO };

	r.identity.size = (uint64_t)any(p, 4);
	want(p, catalog_file_set_failed(txn, &k, &r.identity, EIO) == 0);
	model_put(&p->m, key, r, -1);
}

static void op_directory(struct program *p, struct catalog_txn *txn)
{
	int key = any(p, KEYS / 2);
	struct file_key k = key_at(key);

	want(p, catalog_directory_set(txn, &k) == 0);
	model_make_directory(&p->m, key);
}

static void op_remove(struct program *p, struct catalog_txn *txn)
{
	int key = any(p, KEYS);
	struct file_key k = key_at(key);

	want(p, catalog_file_remove(txn, &k) == 0);
	model_unname(&p->m, key, NULL);
	model_collect(&p->m, key);
}

static void op_name_set(struct program *p, struct catalog_txn *txn)
{
	int parent = any(p, KEYS / 4);
	int key = any(p, KEYS);
	int name = any(p, NAMES);
	struct file_key pk = key_at(parent);
	struct file_key k = key_at(key);
	const struct model_link *old = find_link(&p->m, parent, name);
	bool refused =
		model_is_above(&p->m, key, parent) && !(old && old->key == key);
	int err;

	if (p->tidy && !p->m.files[key].known)
		return;
	err = catalog_name_set(txn, &pk, name_at(name), &k);
	want(p, err == (refused ? -EINVAL : 0));
	if (!err)
		model_name_set(&p->m, parent, name, key);
}

static void op_name_remove(struct program *p, struct catalog_txn *txn)
{
	int parent = any(p, KEYS / 4);
	int name = any(p, NAMES);
	struct file_key pk = key_at(parent);
	int have = catalog_name_remove(txn, &pk, name_at(name));

	want(p, have == model_name_remove(&p->m, parent, name));
}

static void op_move(struct program *p, struct catalog_txn *txn)
{
	struct end from = { any(p, KEYS / 4), any(p, NAMES) };
	struct end to = { any(p, KEYS / 4), any(p, NAMES) };
	struct file_key a = key_at(from.parent);
	struct file_key b = key_at(to.parent);
	bool exchange = any(p, 3) == 0;
	int have;

	have = catalog_name_move(txn, &a, name_at(from.name), &b,
				 name_at(to.name), exchange);
	want(p, have == model_move(&p->m, from, to, exchange));
}

static void run_op(struct program *p, struct catalog_txn *txn)
{
	static void (*const ops[])(struct program * p,
				   struct catalog_txn * txn) = {
		op_fresh,    op_fresh,     op_fresh,    op_pending,
		op_failed,   op_directory, op_name_set, op_name_set,
		op_name_set, op_name_set,  op_name_set, op_name_remove,
		op_move,     op_move,      op_remove,   op_touch,
	};

	ops[any(p, sizeof(ops) / sizeof(ops[0]))](p, txn);
	model_drop_contents(&p->m);
}

/* ---- programs ---- */

static void run_batch(struct program *p)
{
	struct catalog_changes changes = { 0 };
	struct catalog_txn *txn = begin_write(&p->fixture);
	int ops = 1 + any(p, OPS_MAX);

	while (ops-- > 0)
		run_op(p, txn);
	/* Its own changes, before anybody else sees them. */
	if (any(p, 4) == 0)
		compare_all(p, txn);
	if (any(p, 4) == 0) {
		catalog_abort(txn);
		p->m = p->committed;
		return;
	}
	want(p, catalog_commit(txn, &changes) == 0);
	compare_changes(p, &changes);
	catalog_changes_release(&changes);
	p->committed = p->m;
}

static void run_program(uint64_t seed)
{
	struct program *p = calloc(1, sizeof(*p));
	struct catalog_txn *txn;
	int i;

	assert_non_null(p);
	p->seed = seed;
	p->random = seed;
	p->tidy = seed % 4 != 0;
	p->m.next_id = 1;
	p->committed = p->m;
	fixture_init(&p->fixture);
	fixture_open(&p->fixture);
	for (i = 0; i < BATCHES; i++) {
		run_batch(p);
		if (any(p, 5) == 0) {
			fixture_close(&p->fixture);
			fixture_open(&p->fixture);
		}
		txn = begin_read(&p->fixture);
		compare_all(p, txn);
		catalog_abort(txn);
	}
	fixture_release(&p->fixture);
	free(p);
}

TEST(test_random_programs_match_the_model)
{
	uint64_t seed;

	make_names();
	for (seed = 1; seed <= PROGRAMS; seed++)
		run_program(seed);
}
