/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/catalog/lmdb_format.h"

/*
 * LMDB believes its file.  A short file is a SIGBUS, a wrong offset in a page
 * a wild pointer, a page that is in use and also listed as free is silently
 * overwritten later.  So the file is walked once before LMDB gets it: both
 * meta pages, every page of every tree, and the list of free pages.  Only the
 * pages of texts that are too long for a leaf are counted and not read;
 * see verify_value().
 *
 * Pages at the end that were taken and given back in one transaction are
 * never written, so the file may rightly be shorter than its last page says:
 * all pages beyond its end must then be free.
 */
#define PAGES_BEYOND_MAX (UINT64_C(1) << 26)

enum tree_kind { TREE_FREE, TREE_MAIN, TREE_PLAIN, TREE_LONG };

struct file_map {
	const uint8_t *bytes;
	size_t len;
	uint64_t page_size;
	uint64_t pages; /* that the file has */
	uint64_t last_page;
	uint64_t beyond; /* free pages after the end of the file */
	uint8_t *seen;   /* a bit for each page up to the last */
	uint16_t sizes[LMDB_PAGE_SIZE_MAX / 2]; /* 0 between two pages */
};

struct walk {
	struct file_map *f;
	enum tree_kind kind;
	struct lmdb_tree counted; /* what was met so far */
	unsigned depth;
	const uint8_t *last_key; /* of the nodes passed */
	size_t last_len;
	bool may_equal; /* last_key is a separator: the next may equal it */
};

static const uint8_t *page_at(const struct file_map *f, uint64_t number)
{
	return f->bytes + number * f->page_size;
}

/* Marks pages as met.  A page that is met twice is damage. */
static int mark(struct file_map *f, uint64_t page, uint64_t count)
{
	uint64_t i;
	uint8_t bit;

	if (page < LMDB_META_PAGES || page > f->last_page ||
	    count > f->last_page - page + 1)
		return -EUCLEAN;
	for (i = page; i < page + count; i++) {
		bit = (uint8_t)(1u << (i % 8));
		if (f->seen[i / 8] & bit)
			return -EUCLEAN;
		f->seen[i / 8] |= bit;
	}
	return 0;
}

/* ---- nodes ---- */

struct node {
	const uint8_t *key;
	size_t key_len;
	uint16_t flags;
	uint64_t number;      /* size of the value, or page of the child */
	const uint8_t *value; /* of a leaf */
	size_t offset;
	size_t size; /* of all of it, in the page */
};

static size_t node_count(const uint8_t *page)
{
	return (size_t)(host16(page + 12) - LMDB_PAGE_HEADER_BYTES) / 2;
}

static int node_load(const struct file_map *f, const uint8_t *page, size_t i,
		     bool branch, struct node *out)
{
	size_t offset = host16(page + LMDB_PAGE_HEADER_BYTES + 2 * i);
	const uint8_t *p = page + offset;
	struct node n;
	uint64_t len;

	if (offset < host16(page + 14) || offset % 2 != 0 ||
	    offset + LMDB_NODE_HEADER_BYTES > f->page_size)
		return -EUCLEAN;
	n.flags = host16(p + 4);
	n.key_len = host16(p + 6);
	n.key = p + LMDB_NODE_HEADER_BYTES;
	n.value = n.key + n.key_len;
	n.number = host32(p);
	if (branch)
		n.number |= (uint64_t)n.flags << 32;
	len = branch ? 0 : n.flags & LMDB_NODE_BIG ? 8 : n.number;
	if (n.key_len > LMDB_KEY_BYTES_MAX ||
	    offset + LMDB_NODE_HEADER_BYTES + n.key_len + len > f->page_size)
		return -EUCLEAN;
	n.offset = offset;
	n.size = (LMDB_NODE_HEADER_BYTES + n.key_len + len + 1) & ~(size_t)1;
	if (offset + n.size > f->page_size)
		return -EUCLEAN;
	*out = n;
	return 0;
}

/* Nodes fill the page from their start to its end, each beginning where one
 * ends: LMDB moves them about as one block. */
static bool nodes_are_adjacent(struct file_map *f, const uint8_t *page)
{
	size_t at = host16(page + 14);
	size_t left = node_count(page);
	size_t size;

	while (at < f->page_size && left > 0) {
		size = f->sizes[at / 2];
		if (size == 0)
			return false;
		at += size;
		left--;
	}
	return at == f->page_size && left == 0;
}

static int check_nodes(struct file_map *f, const uint8_t *page, bool branch)
{
	struct node n;
	bool adjacent;
	size_t i;
	int err;

	for (i = 0; i < node_count(page); i++) {
		err = node_load(f, page, i, branch, &n);
		if (err)
			return err;
		f->sizes[n.offset / 2] = (uint16_t)n.size;
	}
	adjacent = nodes_are_adjacent(f, page);
	while (i-- > 0)
		f->sizes[host16(page + LMDB_PAGE_HEADER_BYTES + 2 * i) / 2] = 0;
	return adjacent ? 0 : -EUCLEAN;
}

static int key_compare(const struct walk *w, const struct node *n)
{
	size_t len = n->key_len < w->last_len ? n->key_len : w->last_len;
	int diff;

	if (w->kind == TREE_FREE)
		return (host64(w->last_key) > host64(n->key)) -
		       (host64(w->last_key) < host64(n->key));
	diff = memcmp(w->last_key, n->key, len);
	return diff ? diff :
		      (w->last_len > n->key_len) - (w->last_len < n->key_len);
}

/* Keys ascend through the whole tree.  The first key of a branch page is not
 * used and may be empty. */
static int pass_key(struct walk *w, const struct node *n, bool separator)
{
	int diff;

	if (w->kind == TREE_FREE && n->key_len != sizeof(uint64_t))
		return -EUCLEAN;
	if (w->last_key) {
		diff = key_compare(w, n);
		if (diff > 0 || (diff == 0 && !w->may_equal))
			return -EUCLEAN;
	}
	w->last_key = n->key;
	w->last_len = n->key_len;
	w->may_equal = separator;
	return 0;
}

/* ---- values ---- */

static int walk_tree(struct file_map *f, enum tree_kind kind,
		     const struct lmdb_tree *t);

/* A list of free pages: how many, then their numbers, descending. */
static int free_list(struct file_map *f, const uint8_t *value, uint64_t len)
{
	uint64_t count, page, i;
	uint64_t above = LMDB_NO_PAGE;
	int err;

	if (len < 8)
		return -EUCLEAN;
	count = host64(value);
	if (count > len / 8 - 1)
		return -EUCLEAN;
	for (i = 1; i <= count; i++) {
		page = host64(value + 8 * i);
		if (page >= above)
			return -EUCLEAN;
		err = mark(f, page, 1);
		if (err)
			return err;
		f->beyond += page >= f->pages;
		above = page;
	}
	return 0;
}

static int big_value(struct walk *w, struct node *n)
{
	struct file_map *f = w->f;
	uint64_t number = host64(n->value);
	uint64_t count = lmdb_run_pages(n->number, f->page_size);
	const uint8_t *page;
	int err;

	err = mark(f, number, count);
	if (err)
		return err;
	if (number + count > f->pages)
		return -EUCLEAN;
	w->counted.overflow_pages += count;
	page = page_at(f, number);
	n->value = page + LMDB_PAGE_HEADER_BYTES;
	if (w->kind != TREE_LONG && !lmdb_is_run(page, number, count))
		return -EUCLEAN;
	return 0;
}

static bool has_name(const struct node *n, enum catalog_db db)
{
	const char *name = catalog_db_names[db];

	return n->key_len == strlen(name) &&
	       memcmp(n->key, name, n->key_len) == 0;
}

/* A tree below the main one: a database. */
static int sub_tree(struct walk *w, const struct node *n)
{
	bool is_long = has_name(n, DB_TEXTS) || has_name(n, DB_SKETCHES);
	struct lmdb_tree sub;

	if (w->kind != TREE_MAIN || n->flags != LMDB_NODE_TREE ||
	    n->number != LMDB_TREE_BYTES)
		return -EUCLEAN;
	lmdb_tree_load(n->value, &sub);
	return walk_tree(w->f, is_long ? TREE_LONG : TREE_PLAIN, &sub);
}

static int walk_value(struct walk *w, struct node *n)
{
	int err = 0;

	if (n->flags & LMDB_NODE_TREE)
		return sub_tree(w, n);
	if (n->flags & ~LMDB_NODE_BIG)
		return -EUCLEAN;
	if (n->flags & LMDB_NODE_BIG)
		err = big_value(w, n);
	if (!err && w->kind == TREE_FREE)
		err = free_list(w->f, n->value, n->number);
	return err;
}

/* ---- pages ---- */

static int walk_page(struct walk *w, uint64_t number, unsigned level);

static int walk_leaf(struct walk *w, const uint8_t *page)
{
	struct node n;
	size_t i;
	int err = 0;

	w->counted.leaf_pages++;
	w->counted.entries += node_count(page);
	for (i = 0; !err && i < node_count(page); i++) {
		err = node_load(w->f, page, i, false, &n);
		if (!err)
			err = pass_key(w, &n, false);
		if (!err)
			err = walk_value(w, &n);
	}
	return err;
}

/* Leaf pages lie scattered: ask for all of a branch at once. */
static void read_ahead(const struct file_map *f, const uint8_t *page)
{
	struct node n;
	size_t i;

	for (i = 0; i < node_count(page); i++)
		if (node_load(f, page, i, true, &n) == 0 && n.number < f->pages)
			(void)madvise((void *)(uintptr_t)page_at(f, n.number),
				      f->page_size, MADV_WILLNEED);
}

static int walk_branch(struct walk *w, const uint8_t *page, unsigned level)
{
	struct node n;
	size_t i;
	int err = 0;

	w->counted.branch_pages++;
	if (level + 1 == w->depth)
		read_ahead(w->f, page);
	for (i = 0; !err && i < node_count(page); i++) {
		err = node_load(w->f, page, i, true, &n);
		if (!err && i > 0)
			err = pass_key(w, &n, true);
		if (!err)
			err = walk_page(w, n.number, level + 1);
	}
	return err;
}

static int walk_page(struct walk *w, uint64_t number, unsigned level)
{
	const struct file_map *f = w->f;
	bool leaf = level == w->depth;
	/* LMDB asserts that a branch has two children, but for the free
	 * tree, where it may leave one. */
	size_t least = leaf || w->kind == TREE_FREE ? 1 : 2;
	const uint8_t *page;
	int err;

	err = mark(w->f, number, 1);
	if (err)
		return err;
	if (number >= f->pages)
		return -EUCLEAN;
	page = page_at(f, number);
	if (host64(page) != number ||
	    host16(page + 10) != (leaf ? LMDB_LEAF : LMDB_BRANCH) ||
	    host16(page + 12) < LMDB_PAGE_HEADER_BYTES ||
	    host16(page + 12) % 2 != 0 ||
	    host16(page + 12) > host16(page + 14) ||
	    host16(page + 14) > f->page_size || node_count(page) < least)
		return -EUCLEAN;
	err = check_nodes(w->f, page, !leaf);
	if (err)
		return err;
	return leaf ? walk_leaf(w, page) : walk_branch(w, page, level);
}

/* Only plain trees are ours: no other flag is ever set. */
static bool flags_are_valid(const struct lmdb_tree *t, enum tree_kind kind)
{
	return t->flags == (kind == TREE_FREE ? MDB_INTEGERKEY : 0);
}

static int walk_tree(struct file_map *f, enum tree_kind kind,
		     const struct lmdb_tree *t)
{
	struct walk w = { .f = f, .kind = kind, .depth = t->depth };
	int err;

	if (!flags_are_valid(t, kind) || t->depth > LMDB_DEPTH_MAX ||
	    (t->root == LMDB_NO_PAGE) != (t->depth == 0))
		return -EUCLEAN;
	if (t->depth > 0) {
		err = walk_page(&w, t->root, 1);
		if (err)
			return err;
	}
	if (w.counted.branch_pages != t->branch_pages ||
	    w.counted.leaf_pages != t->leaf_pages ||
	    w.counted.overflow_pages != t->overflow_pages ||
	    w.counted.entries != t->entries)
		return -EUCLEAN;
	return 0;
}

/* ---- the file ---- */

static bool meta_is_valid(const struct file_map *f, uint64_t number)
{
	const uint8_t *page = page_at(f, number);
	const uint8_t *meta = page + LMDB_PAGE_HEADER_BYTES;

	return host64(page) == number && host16(page + 10) == LMDB_META &&
	       host32(meta) == LMDB_MAGIC && host32(meta + 4) == LMDB_VERSION &&
	       host32(meta + 24) == f->page_size;
}

/* A file from a host with other pages is not worth the trouble. */
static int meta_find(struct file_map *f, const uint8_t **out)
{
	const uint8_t *metas[LMDB_META_PAGES];
	uint64_t i;

	f->page_size = lmdb_page_size();
	if (f->len < LMDB_META_PAGES * f->page_size)
		return -EUCLEAN;
	f->pages = f->len / f->page_size;
	for (i = 0; i < LMDB_META_PAGES; i++) {
		if (!meta_is_valid(f, i))
			return -EUCLEAN;
		metas[i] = page_at(f, i) + LMDB_PAGE_HEADER_BYTES;
	}
	/* As LMDB chooses. */
	*out = metas[host64(metas[0] + 128) < host64(metas[1] + 128)];
	return 0;
}

static int walk_file(struct file_map *f, const uint8_t *meta)
{
	struct lmdb_tree free_tree, main_tree;
	int err;

	lmdb_tree_load(meta + 24, &free_tree);
	lmdb_tree_load(meta + 24 + LMDB_TREE_BYTES, &main_tree);
	err = walk_tree(f, TREE_MAIN, &main_tree);
	if (!err)
		err = walk_tree(f, TREE_FREE, &free_tree);
	if (!err && f->last_page >= f->pages &&
	    f->beyond != f->last_page + 1 - f->pages)
		err = -EUCLEAN;
	return err;
}

static int verify_map(struct file_map *f, uint64_t *used_out)
{
	const uint8_t *meta;
	int err;

	err = meta_find(f, &meta);
	if (err)
		return err;
	f->last_page = host64(meta + 120);
	if (f->last_page < LMDB_META_PAGES - 1 ||
	    f->last_page > f->pages + PAGES_BEYOND_MAX)
		return -EUCLEAN;
	f->seen = calloc(f->last_page / 8 + 1, 1);
	if (!f->seen)
		return -ENOMEM;
	err = walk_file(f, meta);
	free(f->seen);
	if (!err)
		*used_out = (f->last_page + 1) * f->page_size;
	return err;
}

static int verify_fd(int fd, uint64_t *used_out)
{
	struct file_map *f;
	struct stat st;
	void *map;
	int err;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EUCLEAN;
	if (st.st_size == 0) {
		*used_out = 0;
		return 0;
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	f = calloc(1, sizeof(*f));
	err = f ? 0 : -ENOMEM;
	if (f) {
		f->bytes = map;
		f->len = (size_t)st.st_size;
		err = verify_map(f, used_out);
	}
	free(f);
	(void)munmap(map, (size_t)st.st_size);
	return err;
}

int verify_file(const char *path, uint64_t *used_out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int err;

	if (fd < 0 && errno != ENOENT)
		return -errno;
	if (fd < 0) {
		*used_out = 0;
		return 0;
	}
	err = verify_fd(fd, used_out);
	(void)close(fd);
	return err;
}
