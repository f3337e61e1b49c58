/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CATALOG_MODEL_H
#define TESTS_UNIT_CATALOG_MODEL_H

#include "tests/unit/catalog/fixture.h"

/*
 * A catalog that keeps everything in small arrays and recounts it whenever it
 * is asked, of made-up keys, names and contents.
 */
enum {
	KEYS = 40, /* 0 is the root */
	CONTENTS = 24,
	NAMES = 14,
	LINKS = KEYS * NAMES,
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

static char names[NAMES][256];

static inline void make_names(void)
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

static inline struct file_key key_at(int i)
{
	struct file_key key = { .inode = 1000 - (uint64_t)(i / 2),
				.device = i % 3 == 0,
				.generation = (uint16_t)i };

	return i == 0 ? ROOT : key;
}

static inline struct catalog_name name_at(int i)
{
	return name_of(names[i]);
}

static inline struct digests content_at(int i, char *text, size_t len)
{
	struct digests d = digests_of((uint64_t)i * 7, text, len);

	/* Not every content has every digest. */
	if (i % 5 == 1)
		d.set &= ~DIGEST_BIT(DIGEST_SISE);
	if (i % 5 == 3)
		d.set &= ~(DIGEST_BIT(DIGEST_SISE) | DIGEST_BIT(DIGEST_SIF) |
			   DIGEST_BIT(DIGEST_SSDEEP));
	if (i % 5 == 4)
		d.set &= ~DIGEST_BIT(DIGEST_SIF);
	if (i % 5 == 2)
		d.set &= ~(DIGEST_BIT(DIGEST_RDC) | DIGEST_BIT(DIGEST_SIMHASH));
	return d;
}

/* ---- what the catalog does ---- */

static inline int count_names(const struct model *m, int key)
{
	int n = 0;
	int i;

	for (i = 0; i < LINKS; i++)
		n += m->links[i].used && m->links[i].key == key;
	return n;
}

static inline struct model_link *find_link(struct model *m, int parent,
					   int name)
{
	int i;

	for (i = 0; i < LINKS; i++)
		if (m->links[i].used && m->links[i].parent == parent &&
		    m->links[i].name == name)
			return &m->links[i];
	return NULL;
}

static inline bool is_directory(const struct model *m, int key)
{
	return m->files[key].known &&
	       m->files[key].record.state == FILE_DIRECTORY;
}

static inline void model_collect(struct model *m, int key);

static inline void model_empty(struct model *m, int directory)
{
	int i;

	for (i = 0; i < LINKS; i++) {
		if (!m->links[i].used || m->links[i].parent != directory)
			continue;
		m->links[i].used = false;
		model_collect(m, m->links[i].key);
	}
}

static inline void model_collect(struct model *m, int key)
{
	if (count_names(m, key) > 0)
		return;
	m->files[key].known = false;
	model_empty(m, key);
}

static inline void model_unname(struct model *m, int key,
				const struct model_link *but)
{
	int i;

	for (i = 0; i < LINKS; i++)
		if (m->links[i].key == key && &m->links[i] != but)
			m->links[i].used = false;
}

static inline void model_put(struct model *m, int key, struct file_record r,
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

static inline void model_make_directory(struct model *m, int key)
{
	struct file_record r = { .state = FILE_DIRECTORY };

	model_put(m, key, r, -1);
}

static inline void model_link(struct model *m, int parent, int name, int key)
{
	struct model_link *l = m->links;

	while (l->used)
		l++;
	*l = (struct model_link){ true, parent, name, key };
	if (is_directory(m, key))
		model_unname(m, key, l);
}

/* Whether key is the directory at or above it. */
static inline bool model_is_above(const struct model *m, int key, int at)
{
	int i;

	if (at == key)
		return true;
	for (i = 0; i < LINKS; i++)
		if (m->links[i].used && m->links[i].key == at &&
		    model_is_above(m, key, m->links[i].parent))
			return true;
	return false;
}

static inline void model_name_set(struct model *m, int parent, int name,
				  int key)
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

static inline int model_name_remove(struct model *m, int parent, int name)
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

static inline int model_move(struct model *m, struct end from, struct end to,
			     bool exchange)
{
	struct model_link *source = find_link(m, from.parent, from.name);
	struct model_link *target = find_link(m, to.parent, to.name);
	int a = source ? source->key : -1;
	int b = target ? target->key : -1;

	if (a >= 0 && a == b)
		return 0;
	if ((a >= 0 && model_is_above(m, a, to.parent)) ||
	    (b >= 0 && exchange && model_is_above(m, b, from.parent)))
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

static inline bool content_used(const struct model *m, int content)
{
	int i;

	for (i = 0; i < KEYS; i++)
		if (m->files[i].known &&
		    m->files[i].record.state == FILE_FRESH &&
		    m->files[i].content == content)
			return true;
	return false;
}

static inline void model_drop_contents(struct model *m)
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

#endif
