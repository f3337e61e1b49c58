/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CATALOG_COMPARE_H
#define TESTS_UNIT_CATALOG_COMPARE_H

#include "tests/unit/catalog/model.h"
#include "tests/support/catalog_each.h"

/* Whether a catalog has what its model has, after a part of a program that
 * changes both. */

struct program {
	struct fixture fixture;
	uint64_t seed;
	uint64_t random;
	bool tidy; /* only files with a record are named */
	struct model m;
	struct model committed;
};

#define want(p, condition)                                                   \
	do {                                                                 \
		if (!(condition))                                            \
			fail_msg("seed %llu: want %s",                       \
				 (unsigned long long)(p)->seed, #condition); \
	} while (0)

static inline void compare_files(struct program *p, struct catalog_txn *txn)
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

static inline const struct model_link *find_entry(const struct listing *l,
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

static inline int compare_entry(void *arg, struct catalog_name name,
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

static inline void compare_names(struct program *p, struct catalog_txn *txn)
{
	struct listing l = { .p = p };
	struct file_key k, have;
	int i, n, count;

	for (i = 0; i < KEYS; i++) {
		l.parent = i;
		l.count = 0;
		k = key_at(i);
		want(p, catalog_entry_each(txn, &k, compare_entry, &l) == 0);
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
static inline bool model_path(struct program *p, const struct model_link *l,
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

static inline int paths_add(void *arg, const char *path)
{
	struct paths *list = arg;

	list->lines[list->count] = strdup(path);
	assert_non_null(list->lines[list->count]);
	list->count++;
	return 0;
}

static inline bool paths_take(struct paths *list, const char *path)
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

static inline void compare_paths(struct program *p, struct catalog_txn *txn)
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

static inline int content_number(const struct program *p, uint32_t id)
{
	int i;

	for (i = 0; i < CONTENTS; i++)
		if (p->m.ids[i] == id)
			return i;
	return -1;
}

static inline bool equal_values(struct digest_value a, struct digest_value b)
{
	return a.len == b.len &&
	       (!a.len || memcmp(a.bytes, b.bytes, a.len) == 0);
}

static inline void compare_digests(struct program *p,
				   const struct digests *have,
				   const struct digests *wanted, bool all)
{
	uint32_t set = wanted->set;
	int id;

	for (id = 0; id < DIGEST_COUNT; id++)
		if (!all && !digest_table[id]->offset)
			set &= ~DIGEST_BIT(id);
	want(p, have->set == set);
	want(p, have->size == wanted->size);
	for (id = 0; id < DIGEST_COUNT; id++)
		if (set & DIGEST_BIT(id))
			want(p, equal_values(digest_value_of(have, id),
					     digest_value_of(wanted, id)));
}

static inline int compare_content(void *arg, uint32_t content,
				  const struct digests *d)
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

static inline int key_order(const struct file_key *a, const struct file_key *b)
{
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	if (a->generation != b->generation)
		return a->generation < b->generation ? -1 : 1;
	return 0;
}

static inline int compare_copy(void *arg, uint32_t content,
			       const struct file_key *key)
{
	struct copy_list *l = arg;
	struct file_key k;
	int i;

	(void)content;
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

static inline void compare_copies(struct program *p, struct catalog_txn *txn,
				  int n)
{
	struct copy_list l = { .p = p, .content = n };
	int i, count = 0;

	want(p, catalog_copy_each(txn, p->m.ids[n], compare_copy, &l) == 0);
	for (i = 0; i < KEYS; i++)
		count += p->m.files[i].known &&
			 p->m.files[i].record.state == FILE_FRESH &&
			 p->m.files[i].content == n;
	want(p, l.count == count);
}

static inline void compare_contents(struct program *p, struct catalog_txn *txn)
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
		want(p, catalog_content_get(txn, p->m.ids[i], CONTENT_ALL,
					    &have) == 0);
		wanted = content_at(i, text, sizeof(text));
		compare_digests(p, &have, &wanted, true);
		digests_release(&have);
		compare_copies(p, txn, i);
	}
	want(p, l.count == count);
	want(p, catalog_content_get(txn, p->m.next_id, CONTENT_ALL, &have) ==
			-ENOENT);
}

static inline void compare_pending(struct program *p, struct catalog_txn *txn)
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

static inline struct catalog_counts recount(const struct model *m)
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

static inline void compare_counts(struct program *p, struct catalog_txn *txn)
{
	struct catalog_counts wanted = recount(&p->m);
	struct catalog_counts have;

	want(p, catalog_counts(txn, &have) == 0);
	want(p, memcmp(&have, &wanted, sizeof(have)) == 0);
}

static inline bool all_names_known(const struct model *m)
{
	int i;

	for (i = 0; i < LINKS; i++)
		if (m->links[i].used && !m->files[m->links[i].key].known)
			return false;
	return true;
}

static inline void compare_check(struct program *p, struct catalog_txn *txn)
{
	const struct model_file *root = &p->m.files[0];
	bool sound = all_names_known(&p->m) &&
		     (!root->known || root->record.state == FILE_DIRECTORY);
	const char *wrong = oracle_find(txn, &ROOT);

	if (!wrong != sound)
		fail_msg("seed %llu: the oracle says %s",
			 (unsigned long long)p->seed,
			 wrong ? wrong : "nothing");
}

static inline void compare_all(struct program *p, struct catalog_txn *txn)
{
	compare_counts(p, txn);
	compare_files(p, txn);
	compare_names(p, txn);
	compare_paths(p, txn);
	compare_contents(p, txn);
	compare_pending(p, txn);
	compare_check(p, txn);
}

static inline bool id_in(const uint32_t *ids, size_t count, uint32_t id)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static inline void compare_changes(struct program *p,
				   const struct catalog_changes *ch)
{
	size_t removed = 0, i;
	uint32_t before, now;

	for (i = 0; i < CONTENTS; i++) {
		before = p->committed.ids[i];
		now = p->m.ids[i];
		if (before == now)
			continue;
		if (now)
			want(p, now >= ch->added_begin && now < ch->added_end);
		if (before)
			want(p, id_in(ch->removed, ch->removed_count, before));
		removed += before != 0;
	}
	want(p, ch->removed_count == removed);
}

#endif
