/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/postings_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int postings_new(size_t budget, struct postings **out)
{
	struct postings *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->budget = budget;
	p->limit = POSTINGS_KEYS;
	*out = p;
	return 0;
}

void postings_free(struct postings *p)
{
	unsigned i;

	if (!p)
		return;
	postings_load_release(p);
	for (i = 0; i < POSTINGS_PARTS; i++)
		part_release(&p->parts[i]);
	free(p);
}

bool postings_lower_limit(struct postings *p)
{
	size_t *others;

	if (p->count <= p->budget || !p->limit)
		return false;
	while (p->count > p->budget && p->limit) {
		p->limit /= 2;
		others = &p->others[significant_bits(p->limit)];
		p->count -= *others;
		*others = 0;
	}
	return true;
}

static void enforce_budget(struct postings *p)
{
	unsigned i;

	if (!postings_lower_limit(p))
		return;
	for (i = 0; i < POSTINGS_PARTS; i++)
		part_trim(&p->parts[i], limit_tag(p, i), &p->scratch);
}

static int reserve(struct postings *p, const uint32_t *keys, size_t count,
		   size_t anchors)
{
	uint16_t more[POSTINGS_PARTS] = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; i < count; i++) {
		assert(keys[i] < POSTINGS_KEYS);
		if (i < anchors || keys[i] < p->limit)
			more[part_of(keys[i])]++;
	}
	for (i = 0; i < POSTINGS_PARTS && !err; i++)
		if (more[i])
			err = part_reserve(&p->parts[i], more[i], &p->scratch);
	return err;
}

static void put(struct postings *p, uint32_t content, uint32_t key, bool anchor)
{
	size_t *others = &p->others[significant_bits(key)];

	switch (part_put(&p->parts[part_of(key)], tag_of(key, anchor),
			 content)) {
	case PART_NEW:
		p->count++;
		*others += !anchor;
		break;
	case PART_RAISED:
		--*others;
		break;
	case PART_SAME:
		break;
	}
}

int postings_add(struct postings *p, uint32_t content, const uint32_t *keys,
		 size_t count, size_t anchors)
{
	size_t i;
	int err;

	if (count > POSTINGS_MAX_ADD)
		return -EINVAL;
	if (p->load)
		return postings_load_add(p, content, keys, count, anchors);
	err = reserve(p, keys, count, anchors);
	if (err)
		return err;
	for (i = 0; i < count; i++)
		if (i < anchors || keys[i] < p->limit)
			put(p, content, keys[i], i < anchors);
	enforce_budget(p);
	return 0;
}

size_t postings_find(const struct postings *p, uint32_t key, uint32_t *out,
		     size_t capacity)
{
	assert(key < POSTINGS_KEYS);
	return part_find(&p->parts[part_of(key)], tag_of(key, false), out,
			 capacity);
}

uint32_t postings_limit(const struct postings *p)
{
	return p->limit;
}

/* ---- sweeping ---- */

struct postings_sweep {
	struct postings *p;
	unsigned part;
	bool (*is_alive)(void *arg, uint32_t content);
	void *arg;
};

static bool sweep_keeps(void *arg, uint32_t tag, uint32_t content)
{
	struct postings_sweep *s = arg;
	uint32_t key;

	if (s->is_alive(s->arg, content))
		return true;
	key = (tag >> 1) * POSTINGS_PARTS + s->part;
	s->p->count--;
	if (!(tag & TAG_ANCHOR))
		s->p->others[significant_bits(key)]--;
	return false;
}

void postings_sweep_part(struct postings *p, unsigned part,
			 bool (*is_alive)(void *arg, uint32_t), void *arg)
{
	struct postings_sweep s = { p, part, is_alive, arg };

	part_filter(&p->parts[part], sweep_keeps, &s, &p->scratch);
}

size_t postings_bytes(const struct postings *p)
{
	size_t bytes = sizeof(*p);
	unsigned i;

	for (i = 0; i < POSTINGS_PARTS; i++)
		bytes += part_bytes(&p->parts[i]);
	return bytes;
}
