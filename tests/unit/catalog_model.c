/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog_fixture.h"

/*
 * Random programs against a model that keeps everything in small arrays and
 * recounts it whenever it is asked.
 */
enum {
	KEYS = 40, /* 0 is the root */
	CONTENTS = 24,
	NAMES = 14,
	LINKS = KEYS * NAMES,
	PROGRAMS = 24,
	BATCHES = 30,
	OPS_MAX = 60,
};

struct model_file {
	bool known;
	struct file_record record;
	int content; /* number of the made-up content, FILE_FRESH only */
};

struct model_link {
	bool used;
	int parent;
	int name;
	int key;
};

struct model {
	struct model_file files[KEYS];
	struct model_link links[LINKS];
	uint32_t ids[CONTENTS]; /* 0: no file has it */
	uint32_t next_id;
};

struct program {
	struct fixture fixture;
	uint64_t seed;
	uint64_t random;
	bool tidy; /* only files with a record are named */
	struct model m;
	struct model committed;
};

static char names[NAMES][256];

#define want(p, condition)                                                   \
	do {                                                                 \
		if (!(condition))                                            \
			fail_msg("seed %llu: want %s",                       \
				 (unsigned long long)(p)->seed, #condition); \
	} while (0)

static void make_names(void)
{
	int i;

	for (i = 0; i < NAMES; i++)
		(void)snprintf(names[i], sizeof(names[i]), "name%d", i);
	memset(names[1], 'x', 255);
	names[1][255] = '\0';
	(void)snprintf(names[2], sizeof(names[2]), "a\nb");
	(void)snprintf(names[3], sizeof(names[3]), "\xff\xfe\x80");
	(void)snprintf(names[4], sizeof(names[4]), "a");
	(void)snprintf(names[5], sizeof(names[5]), "aa");
}

static struct file_key key_at(int i)
{
	struct file_key key = { .inode = 1000 - (uint64_t)(i / 2),
				.device = i % 3 == 0,
				.generation = (uint32_t)i };

	return i == 0 ? ROOT : key;
}

static struct catalog_name name_at(int i)
{
	return name_of(names[i]);
}

/* ---- the model ---- */

static int count_names(const struct model *m, int key)
{
	int n = 0;
	int i;

	for (i = 0; i < LINKS; i++)
		n += m->links[i].used && m->links[i].key == key;
	return n;
}

static struct model_link *find_link(struct model *m, int parent, int name)
{
	int i;

	for (i = 0; i < LINKS; i++)
		if (m->links[i].used && m->links[i].parent == parent &&
		    m->links[i].name == name)
			return &m->links[i];
	return NULL;
}

static bool is_directory(const struct model *m, int key)
{
	return m->files[key].known &&
	       m->files[key].record.state == FILE_DIRECTORY;
}

static void model_collect(struct model *m, int key);

static void model_empty(struct model *m, int directory)
{
	int i;

	for (i = 0; i < LINKS; i++) {
		if (!m->links[i].used || m->links[i].parent != directory)
			continue;
		m->links[i].used = false;
		model_collect(m, m->links[i].key);
	}
}

static void model_collect(struct model *m, int key)
{
	if (count_names(m, key) > 0)
		return;
	m->files[key].known = false;
	model_empty(m, key);
}

static void model_unname(struct model *m, int key, const struct model_link *but)
{
	int i;

	for (i = 0; i < LINKS; i++)
		if (m->links[i].key == key && &m->links[i] != but)
			m->links[i].used = false;
}

static void model_put(struct model *m, int key, struct file_record r,
		      int content)
{
	struct model_file *f = &m->files[key];
	bool was = is_directory(m, key);

	f->known = true;
	f->record = r;
	f->content = content;
	if (was && r.state != FILE_DIRECTORY)
		model_empty(m, key);
	if (!was && r.state == FILE_DIRECTORY && count_names(m, key) > 1)
		model_unname(m, key, NULL);
}

static void model_make_directory(struct model *m, int key)
{
	struct file_record r = { .state = FILE_DIRECTORY };

	model_put(m, key, r, -1);
}

static void model_link(struct model *m, int parent, int name, int key)
{
	struct model_link *l = m->links;

	while (l->used)
		l++;
	*l = (struct model_link){ true, parent, name, key };
	if (is_directory(m, key))
		model_unname(m, key, l);
}

static void model_name_set(struct model *m, int parent, int name, int key)
{
	struct model_link *old = find_link(m, parent, name);
	int loser = old ? old->key : -1;

	if (loser == key)
		return;
	model_make_directory(m, parent);
	if (old)
		old->used = false;
	model_link(m, parent, name, key);
	if (loser >= 0)
		model_collect(m, loser);
}

static int model_name_remove(struct model *m, int parent, int name)
{
	struct model_link *l = find_link(m, parent, name);

	if (!l)
		return -ENOENT;
	l->used = false;
	model_collect(m, l->key);
	return 0;
}

struct end {
	int parent;
	int name;
};

static int model_move(struct model *m, struct end from, struct end to,
		      bool exchange)
{
	struct model_link *source = find_link(m, from.parent, from.name);
	struct model_link *target = find_link(m, to.parent, to.name);
	int a = source ? source->key : -1;
	int b = target ? target->key : -1;

	if (a >= 0 && a == b)
		return 0;
	if (a == to.parent || (exchange && b == from.parent))
		return -EINVAL;
	if (source)
		source->used = false;
	if (target)
		target->used = false;
	if (a >= 0) {
		model_make_directory(m, to.parent);
		model_link(m, to.parent, to.name, a);
	}
	if (b >= 0 && exchange) {
		model_make_directory(m, from.parent);
		model_link(m, from.parent, from.name, b);
	} else if (b >= 0) {
		model_collect(m, b);
	}
	return a >= 0 && (b >= 0 || !exchange) ? 0 : -ENOENT;
}

static bool content_used(const struct model *m, int content)
{
	int i;

	for (i = 0; i < KEYS; i++)
		if (m->files[i].known &&
		    m->files[i].record.state == FILE_FRESH &&
		    m->files[i].content == content)
			return true;
	return false;
}

static void model_drop_contents(struct model *m)
{
	int i;

	for (i = 0; i < CONTENTS; i++)
		if (!content_used(m, i))
			m->ids[i] = 0;
}

static uint32_t model_intern(struct model *m, int content)
{
	if (!m->ids[content])
		m->ids[content] = m->next_id++;
	return m->ids[content];
}

/* ---- operations on both ---- */

static int any(struct program *p, int n)
{
	return (int)random_below(&p->random, (uint64_t)n);
}

static struct digests content_at(int i, char *text, size_t len)
{
	struct digests d = digests_of((uint64_t)i * 7, text, len);

	/* Not every content has every digest. */
	if (i % 5 == 1) {
		d.set &= ~DIGEST_BIT(DIGEST_SISE);
		d.text[DIGEST_SISE] = NULL;
	}
	if (i % 5 == 3) {
		d.set &= ~DIGEST_TEXTS;
		memset(d.text, 0, sizeof(d.text));
	}
	if (i % 5 == 4)
		d.set &= ~DIGEST_BIT(DIGEST_SIF);
	if (i % 5 == 2)
		d.set &= ~(DIGEST_BIT(DIGEST_RDC) | DIGEST_BIT(DIGEST_SIMHASH));
	return d;
}

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

/* Half of them with an identity that is not the stored one. */
static void op_touch(struct program *p, struct catalog_txn *txn)
{
	int key = any(p, KEYS);
	struct model_file *f = &p->m.files[key];
	struct file_key k = key_at(key);
	struct file_identity before = f->record.identity;
	struct file_identity after;
	bool known = f->known && f->record.state != FILE_DIRECTORY;

	if (any(p, 2) == 0)
		before.mtime_ns ^= 1;
	else if (!known)
		before.size = 0;
	after = before;
	after.ctime_ns = any(p, 100);
	want(p, catalog_file_touch(txn, &k, &before, &after) == 0);
	if (known && file_identity_equal(&before, &f->record.identity))
		f->record.identity = after;
	after.size++;
	want(p, catalog_file_touch(txn, &k, &before, &after) == -EINVAL);
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
	int err;

	if (p->tidy && !p->m.files[key].known)
		return;
	err = catalog_name_set(txn, &pk, name_at(name), &k);
	want(p, err == (parent == key ? -EINVAL : 0));
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

/* ---- comparing ---- */

static void compare_files(struct program *p, struct catalog_txn *txn)
{
	struct file_record r;
	int i, err;

	for (i = 0; i < KEYS; i++) {
		const struct model_file *f = &p->m.files[i];
		struct file_key k = key_at(i);

		err = catalog_file_get(txn, &k, &r);
		want(p, err == (f->known ? 0 : -ENOENT));
		if (err)
			continue;
		want(p, r.state == f->record.state);
		want(p, r.error == f->record.error);
		want(p, r.content == f->record.content);
		want(p, file_identity_equal(&r.identity, &f->record.identity));
	}
}

struct listing {
	struct program *p;
	int parent;
	int count;
	char last[256];
};

static const struct model_link *find_entry(const struct listing *l,
					   const char *text)
{
	const struct model_link *m = l->p->m.links;
	int i;

	for (i = 0; i < LINKS; i++)
		if (m[i].used && m[i].parent == l->parent &&
		    strcmp(names[m[i].name], text) == 0)
			return &m[i];
	return NULL;
}

static int compare_entry(void *arg, struct catalog_name name,
			 const struct file_key *key)
{
	struct listing *l = arg;
	const struct model_link *m;
	struct file_key k;
	char text[256];

	memcpy(text, name.bytes, name.len);
	text[name.len] = '\0';
	want(l->p, l->count == 0 || strcmp(l->last, text) < 0);
	memcpy(l->last, text, name.len + 1);
	l->count++;
	m = find_entry(l, text);
	want(l->p, m != NULL);
	k = key_at(m->key);
	want(l->p, file_key_equal(&k, key));
	return 0;
}

static void compare_names(struct program *p, struct catalog_txn *txn)
{
	struct listing l = { .p = p };
	struct file_key k, have;
	int i, n, count;

	for (i = 0; i < KEYS; i++) {
		l.parent = i;
		l.count = 0;
		k = key_at(i);
		want(p,
		     catalog_directory_each(txn, &k, compare_entry, &l) == 0);
		count = 0;
		for (n = 0; n < LINKS; n++)
			count +=
				p->m.links[n].used && p->m.links[n].parent == i;
		want(p, l.count == count);
		for (n = 0; n < NAMES; n++)
			want(p, catalog_name_get(txn, &k, name_at(n), &have) ==
					(find_link(&p->m, i, n) ? 0 : -ENOENT));
	}
}

/* Whether the link's path leads to the root, and which it is. */
static bool model_path(struct program *p, const struct model_link *l,
		       struct buf *out)
{
	struct buf longer = { 0 };
	int depth, i;

	buf_clear(out);
	assert_int_equal(buf_append_text(out, names[l->name]), 0);
	for (depth = 0; l->parent != 0; depth++) {
		for (i = 0; i < LINKS; i++)
			if (p->m.links[i].used &&
			    p->m.links[i].key == l->parent)
				break;
		if (i == LINKS || depth > KEYS)
			return false;
		l = &p->m.links[i];
		assert_int_equal(buf_append_format(&longer, "%s/%s",
						   names[l->name], out->data),
				 0);
		buf_release(out);
		*out = longer;
		longer = (struct buf){ 0 };
	}
	return true;
}

struct paths {
	char *lines[LINKS];
	size_t count;
};

static int paths_add(void *arg, const char *path)
{
	struct paths *list = arg;

	list->lines[list->count] = strdup(path);
	assert_non_null(list->lines[list->count]);
	list->count++;
	return 0;
}

static bool paths_take(struct paths *list, const char *path)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		if (strcmp(list->lines[i], path) != 0)
			continue;
		free(list->lines[i]);
		list->lines[i] = list->lines[--list->count];
		return true;
	}
	return false;
}

static void compare_paths(struct program *p, struct catalog_txn *txn)
{
	struct paths have = { .count = 0 };
	struct buf path = { 0 };
	struct file_key k;
	int i, n;

	for (i = 1; i < KEYS; i++) {
		k = key_at(i);
		want(p,
		     catalog_path_each(txn, &ROOT, &k, paths_add, &have) == 0);
		for (n = 0; n < LINKS; n++)
			if (p->m.links[n].used && p->m.links[n].key == i &&
			    model_path(p, &p->m.links[n], &path))
				want(p, paths_take(&have, path.data));
		want(p, have.count == 0);
	}
	buf_release(&path);
}

struct content_list {
	struct program *p;
	uint32_t last;
	int count;
};

static int content_number(const struct program *p, uint32_t id)
{
	int i;

	for (i = 0; i < CONTENTS; i++)
		if (p->m.ids[i] == id)
			return i;
	return -1;
}

static void compare_digests(struct program *p, const struct digests *have,
			    const struct digests *wanted, bool with_texts)
{
	uint32_t set = wanted->set;
	int id;

	if (!with_texts)
		set &= ~DIGEST_TEXTS;
	want(p, have->set == set);
	want(p, have->size == wanted->size);
	want(p, memcmp(have->xxh128, wanted->xxh128, 16) == 0);
	if (set & DIGEST_BIT(DIGEST_SIMHASH))
		want(p, have->simhash == wanted->simhash);
	if (set & DIGEST_BIT(DIGEST_RDC))
		want(p, memcmp(have->traits, wanted->traits, 16) == 0);
	for (id = 0; id < DIGEST_COUNT; id++) {
		if (set & DIGEST_TEXTS & DIGEST_BIT(id))
			want(p, strcmp(have->text[id], wanted->text[id]) == 0);
		else
			want(p, have->text[id] == NULL);
	}
}

static int compare_content(void *arg, uint32_t content, const struct digests *d)
{
	struct content_list *l = arg;
	int n = content_number(l->p, content);
	struct digests wanted;
	char text[128];

	want(l->p, content > l->last);
	want(l->p, n >= 0);
	l->last = content;
	l->count++;
	wanted = content_at(n, text, sizeof(text));
	compare_digests(l->p, d, &wanted, false);
	return 0;
}

struct copy_list {
	struct program *p;
	int content;
	int count;
	struct file_key last;
};

static int key_order(const struct file_key *a, const struct file_key *b)
{
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	if (a->generation != b->generation)
		return a->generation < b->generation ? -1 : 1;
	return 0;
}

static int compare_copy(void *arg, const struct file_key *key)
{
	struct copy_list *l = arg;
	struct file_key k;
	int i;

	want(l->p, l->count == 0 || key_order(&l->last, key) < 0);
	l->last = *key;
	l->count++;
	for (i = 0; i < KEYS; i++) {
		k = key_at(i);
		if (file_key_equal(&k, key))
			break;
	}
	want(l->p, i < KEYS && l->p->m.files[i].known);
	want(l->p, l->p->m.files[i].content == l->content);
	return 0;
}

static void compare_copies(struct program *p, struct catalog_txn *txn, int n)
{
	struct copy_list l = { .p = p, .content = n };
	int i, count = 0;

	want(p, catalog_copies_each(txn, p->m.ids[n], compare_copy, &l) == 0);
	for (i = 0; i < KEYS; i++)
		count += p->m.files[i].known &&
			 p->m.files[i].record.state == FILE_FRESH &&
			 p->m.files[i].content == n;
	want(p, l.count == count);
}

static void compare_contents(struct program *p, struct catalog_txn *txn)
{
	struct content_list l = { .p = p };
	struct digests have, wanted;
	char text[128];
	int i, count = 0;

	want(p, catalog_content_each(txn, compare_content, &l) == 0);
	for (i = 0; i < CONTENTS; i++) {
		if (!p->m.ids[i])
			continue;
		count++;
		want(p, catalog_content_get(txn, p->m.ids[i], &have) == 0);
		wanted = content_at(i, text, sizeof(text));
		compare_digests(p, &have, &wanted, true);
		digests_release(&have);
		compare_copies(p, txn, i);
	}
	want(p, l.count == count);
	want(p, catalog_content_get(txn, p->m.next_id, &have) == -ENOENT);
}

static void compare_pending(struct program *p, struct catalog_txn *txn)
{
	struct file_key key, after;
	struct file_record r;
	int i, err, count = 0;

	err = catalog_pending_next(txn, NULL, &key, &r);
	while (!err) {
		want(p, r.state == FILE_PENDING);
		count++;
		after = key;
		err = catalog_pending_next(txn, &after, &key, &r);
		want(p, err || key_order(&after, &key) < 0);
	}
	want(p, err == -ENOENT);
	for (i = 0; i < KEYS; i++)
		count -= p->m.files[i].known &&
			 p->m.files[i].record.state == FILE_PENDING;
	want(p, count == 0);
}

static struct catalog_counts recount(const struct model *m)
{
	struct catalog_counts n = { 0 };
	char text[128];
	int i;

	for (i = 0; i < KEYS; i++) {
		const struct file_record *r = &m->files[i].record;

		if (!m->files[i].known)
			continue;
		n.directories += r->state == FILE_DIRECTORY;
		n.files += r->state != FILE_DIRECTORY;
		n.fresh += r->state == FILE_FRESH;
		n.failed += r->state == FILE_FAILED;
		n.pending += r->state == FILE_PENDING;
		if (r->state == FILE_PENDING)
			n.pending_bytes += r->identity.size;
	}
	for (i = 0; i < CONTENTS; i++) {
		if (!m->ids[i])
			continue;
		n.contents++;
		n.content_bytes += content_at(i, text, sizeof(text)).size;
	}
	return n;
}

static void compare_counts(struct program *p, struct catalog_txn *txn)
{
	struct catalog_counts wanted = recount(&p->m);
	struct catalog_counts have;

	want(p, catalog_counts(txn, &have) == 0);
	want(p, memcmp(&have, &wanted, sizeof(have)) == 0);
}

static bool all_names_known(const struct model *m)
{
	int i;

	for (i = 0; i < LINKS; i++)
		if (m->links[i].used && !m->files[m->links[i].key].known)
			return false;
	return true;
}

static void compare_check(struct program *p, struct catalog_txn *txn)
{
	const struct model_file *root = &p->m.files[0];
	bool sound = all_names_known(&p->m) &&
		     (!root->known || root->record.state == FILE_DIRECTORY);
	struct buf report = { 0 };
	int err = catalog_check(txn, &ROOT, &report);

	if (err != (sound ? 0 : -EUCLEAN))
		fail_msg("seed %llu: catalog_check: %d %s",
			 (unsigned long long)p->seed, err,
			 report.data ? report.data : "");
	buf_release(&report);
}

static void compare_all(struct program *p, struct catalog_txn *txn)
{
	compare_counts(p, txn);
	compare_files(p, txn);
	compare_names(p, txn);
	compare_paths(p, txn);
	compare_contents(p, txn);
	compare_pending(p, txn);
	compare_check(p, txn);
}

static bool id_in(const uint32_t *ids, size_t count, uint32_t id)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static void compare_changes(struct program *p, const struct catalog_changes *ch)
{
	size_t added = 0, removed = 0;
	uint32_t before, now;
	size_t i;

	for (i = 1; i < ch->added_count; i++)
		want(p, ch->added[i - 1] < ch->added[i]);
	for (i = 0; i < CONTENTS; i++) {
		before = p->committed.ids[i];
		now = p->m.ids[i];
		if (before == now)
			continue;
		if (now)
			want(p, id_in(ch->added, ch->added_count, now));
		if (before)
			want(p, id_in(ch->removed, ch->removed_count, before));
		added += now != 0;
		removed += before != 0;
	}
	want(p, ch->added_count == added);
	want(p, ch->removed_count == removed);
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

static void test_random_programs_match_the_model(void **state)
{
	uint64_t seed;

	(void)state;
	make_names();
	for (seed = 1; seed <= PROGRAMS; seed++)
		run_program(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_programs_match_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
