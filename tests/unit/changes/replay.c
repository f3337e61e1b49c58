/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"

#include "core/base/text.h"
#include "core/changes/changes.h"

/*
 * Readers of the changes of random programs: each applies what it is told to a
 * list of paths, which is compared with the paths in the catalog.
 */
enum {
	PROGRAMS = 10,
	BATCHES = 40,
	OPS_MAX = 50,
	KEYS = 24, /* 0 is the root */
	NAMES = 5,
	PATHS_MAX = 4096,
};

struct paths {
	char *all[PATHS_MAX];
	size_t count;
};

struct reader {
	struct changes_watcher *watcher;
	const char *within; /* NULL: the whole tree */
	int patience;       /* it reads one in so many times */
	bool restarts;
	char cursor[CHANGES_CURSOR];
	struct paths paths;
};

struct program {
	struct fixture fixture;
	struct source source;
	struct changes changes;
	uint64_t seed, random;
	struct reader readers[5];
};

static int any(struct program *p, int n)
{
	return (int)random_below(&p->random, (uint64_t)n);
}

static struct file_key any_key(struct program *p, int n)
{
	int i = any(p, n);

	return i ? key_of((uint64_t)i) : ROOT;
}

static struct catalog_name any_name(struct program *p)
{
	static const char *const names[NAMES] = { "a", "b", "c", "aa", "a~" };

	return name_of(names[any(p, NAMES)]);
}

/* ---- lists of paths ---- */

static void paths_clear(struct paths *l)
{
	while (l->count)
		free(l->all[--l->count]);
}

static void paths_add(struct paths *l, const char *path)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		if (!strcmp(l->all[i], path))
			return;
	assert_true(l->count < PATHS_MAX);
	l->all[l->count++] = strdup(path);
}

static void paths_remove(struct paths *l, const char *path)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		if (!strcmp(l->all[i], path)) {
			free(l->all[i]);
			l->all[i] = l->all[--l->count];
			return;
		}
}

static void paths_move(struct paths *l, const char *from, const char *to)
{
	char moved[4096];
	size_t i, len = strlen(from);

	for (i = 0; i < l->count; i++) {
		if (!text_path_is_above(from, l->all[i]))
			continue;
		(void)snprintf(moved, sizeof(moved), "%s%s", to,
			       l->all[i] + len);
		free(l->all[i]);
		l->all[i] = strdup(moved);
	}
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void paths_print(struct paths *l, struct buf *out)
{
	size_t i;

	buf_clear(out);
	assert_int_equal(buf_append_text(out, "paths:"), 0);
	qsort(l->all, l->count, sizeof(*l->all), by_bytes);
	for (i = 0; i < l->count; i++)
		assert_int_equal(buf_append_format(out, " %s", l->all[i]), 0);
}

static void catalog_paths(struct program *p, const char *within,
			  struct paths *out)
{
	struct catalog_txn *txn = begin_read(&p->fixture);
	struct catalog_walk *walk;
	const char *path;
	int i, err;

	for (i = 1; i < KEYS; i++) {
		struct file_key key = key_of((uint64_t)i);

		if (catalog_content_was_known(txn, &key) != 1)
			continue;
		assert_int_equal(catalog_paths_begin(txn, &ROOT, &key, &walk),
				 0);
		while ((err = catalog_paths_next(walk, &path)) == 1)
			if (!within || text_path_is_above(within, path))
				paths_add(out, path);
		assert_int_equal(err, 0);
		catalog_walk_end(walk);
	}
	catalog_abort(txn);
}

/* ---- readers ---- */

static void reader_begin(struct program *p, struct reader *r)
{
	static const struct search_caller caller = { .trusted = true };
	struct search_paths within = { 0 };

	if (r->within)
		assert_int_equal(
			search_paths_add(&within, r->within, strlen(r->within)),
			0);
	assert_int_equal(changes_watch(&p->changes, &caller, &within,
				       r->cursor[0] ? r->cursor : NULL,
				       &r->watcher),
			 0);
	changes_cursor(r->watcher, r->cursor);
}

static void apply(struct reader *r, const struct content_change *c)
{
	if (c->kind == CHANGE_MOVED && c->directory) {
		paths_move(&r->paths, c->from, c->path);
	} else if (c->kind == CHANGE_MOVED) {
		paths_remove(&r->paths, c->from);
		paths_add(&r->paths, c->path);
	} else if (c->kind == CHANGE_REMOVED) {
		paths_remove(&r->paths, c->path);
	} else {
		paths_add(&r->paths, c->path);
	}
}

/* Reads that many changes, or all. */
static void reader_read(struct reader *r, int most)
{
	struct content_change change;

	while (most-- && changes_take(r->watcher, &change) == 1) {
		apply(r, &change);
		memcpy(r->cursor, change.cursor, sizeof(r->cursor));
		content_change_release(&change);
	}
}

/* Merges what was posted; stopped makes the wait end. */
static void reader_merge(struct program *p, struct reader *r)
{
	int err;

	p->changes.stopped = true;
	err = changes_wait(r->watcher);
	p->changes.stopped = false;
	assert_true(!err || err == -ECANCELED);
}

static void reader_check(struct program *p, struct reader *r)
{
	struct paths want = { 0 };
	struct buf want_text = { 0 }, have_text = { 0 };

	reader_merge(p, r);
	reader_read(r, -1);
	catalog_paths(p, r->within, &want);
	paths_print(&want, &want_text);
	paths_print(&r->paths, &have_text);
	if (strcmp(want_text.data, have_text.data) != 0)
		fail_msg("seed %llu, reader %d: want %s, have %s",
			 (unsigned long long)p->seed, (int)(r - p->readers),
			 want_text.data, have_text.data);
	buf_release(&want_text);
	buf_release(&have_text);
	paths_clear(&want);
}

static void reader_work(struct program *p, struct reader *r)
{
	if (r->restarts && !any(p, 3)) {
		changes_end(r->watcher);
		reader_begin(p, r);
	}
	reader_merge(p, r);
	if (!any(p, r->patience))
		reader_read(r, any(p, 2) ? 1 + any(p, 3) : -1);
}

/* ---- programs ---- */

static void set_content(struct program *p, struct catalog_txn *txn,
			const struct file_key *key)
{
	uint64_t n = (uint64_t)any(p, 6);
	struct file_identity id = identity_of(n);
	char text[128];
	struct digests d = digests_of(n, text, sizeof(text));

	(void)catalog_file_set_fresh(txn, key, &id, &d);
}

static void run_op(struct program *p, struct catalog_txn *txn)
{
	struct file_key key = any_key(p, KEYS), parent = any_key(p, KEYS / 4);
	struct file_key other = any_key(p, KEYS / 4);
	struct catalog_name name = any_name(p), new_name = any_name(p);
	struct file_identity id = identity_of(3);
	int op = any(p, 16);

	if (file_key_equal(&key, &ROOT))
		return;
	if (op < 5)
		(void)catalog_name_set(txn, &parent, name, &key);
	else if (op < 8)
		(void)catalog_name_move(txn, &parent, name, &other, new_name,
					!any(p, 3));
	else if (op < 11)
		set_content(p, txn, &key);
	else if (op == 11)
		(void)catalog_file_set_pending(txn, &key, &id);
	else if (op == 12)
		(void)catalog_file_set_failed(txn, &key, &id, EIO);
	else if (op == 13)
		(void)catalog_directory_set(txn, &key);
	else if (op == 14)
		(void)catalog_name_remove(txn, &parent, name);
	else if (!any(p, 4))
		(void)catalog_file_remove(txn, &key);
}

static void run_batch(struct program *p)
{
	struct catalog_changes changes = { 0 };
	struct catalog_txn *txn = begin_write(&p->fixture);
	int ops = 1 + any(p, any(p, 4) ? 4 : OPS_MAX);

	changes_begin(&p->changes, txn);
	while (ops-- > 0)
		run_op(p, txn);
	if (!any(p, 10)) {
		catalog_abort(txn);
		return;
	}
	assert_int_equal(catalog_commit(txn, &changes), 0);
	if (changes.event_count)
		changes_post(&p->changes, &changes);
	catalog_changes_release(&changes);
}

static void run_program(uint64_t seed)
{
	struct program *p = calloc(1, sizeof(*p));
	size_t i, k, readers = sizeof(p->readers) / sizeof(p->readers[0]);

	assert_non_null(p);
	p->seed = p->random = seed;
	p->source.root = ROOT;
	fixture_init(&p->fixture);
	fixture_open(&p->fixture);
	assert_int_equal(changes_init(&p->changes, &p->source), 0);
	for (i = 0; i < readers; i++) {
		p->readers[i].patience = i == 1 ? 20 : 2;
		p->readers[i].restarts = i >= 2;
		p->readers[i].within = i == 3 ? "a" : i == 4 ? "b/a" : NULL;
		reader_begin(p, &p->readers[i]);
	}
	for (i = 0; i < BATCHES; i++) {
		run_batch(p);
		for (k = 0; k < readers; k++)
			reader_work(p, &p->readers[k]);
		reader_check(p, &p->readers[0]);
		if (i % 20 == 19)
			for (k = 1; k < readers; k++)
				reader_check(p, &p->readers[k]);
	}
	for (i = 0; i < readers; i++) {
		changes_end(p->readers[i].watcher);
		paths_clear(&p->readers[i].paths);
	}
	changes_release(&p->changes);
	fixture_release(&p->fixture);
	free(p);
}

TEST(test_who_applies_the_changes_has_the_tree)
{
	const char *text = getenv("SEED");
	uint64_t seed = text ? strtoull(text, NULL, 10) : 1, end = seed;

	end += text ? 1 : PROGRAMS;
	for (; seed < end; seed++)
		run_program(seed);
}
