/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/postings_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Loading: the entries of each part are appended to an array, which is sorted
 * and merged into the part at the end.  This is several times as fast as
 * looking for the place of each of them in turns.
 */
#define RUN_MIN 4096u /* 32 KiB; a page that is not written to costs nothing */

struct load_run {
	struct part_entry *entries; /* contents ascending */
	uint32_t count, capacity;
};

struct postings_load {
	struct load_run runs[POSTINGS_PARTS];
	uint32_t newest; /* greatest content */
};

int postings_load_begin(struct postings *p)
{
	if (p->load)
		return -EINVAL;
	p->load = calloc(1, sizeof(*p->load));
	return p->load ? 0 : -ENOMEM;
}

/* Shrinking cannot fail. */
static int run_resize(struct load_run *run, uint32_t capacity)
{
	size_t size = sizeof(run->entries[0]);
	void *at;
	int err = pages_resize(run->entries, run->capacity * size,
			       capacity * size, &at);

	if (err)
		return err;
	run->entries = at;
	run->capacity = capacity;
	return 0;
}

void postings_load_release(struct postings *p)
{
	unsigned i;

	if (!p->load)
		return;
	for (i = 0; i < POSTINGS_PARTS; i++)
		(void)run_resize(&p->load->runs[i], 0);
	free(p->load);
	p->load = NULL;
}

/* ---- adding ---- */

/* Grows by an eighth only: these arrays are most of the memory that loading
 * takes. */
static int run_reserve(struct load_run *run, uint32_t more)
{
	uint32_t capacity = run->capacity + run->capacity / 8 + RUN_MIN;

	if (run->capacity - run->count >= more)
		return 0;
	if (capacity - run->count < more)
		capacity = run->count + more;
	return run_resize(run, capacity);
}

static int load_reserve(struct postings_load *load, const uint32_t *keys,
			size_t count)
{
	uint16_t more[POSTINGS_PARTS] = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		unsigned part = part_of(keys[i]);

		err = run_reserve(&load->runs[part], ++more[part]);
	}
	return err;
}

static void load_put(struct postings *p, uint32_t content, uint32_t key,
		     bool anchor)
{
	struct load_run *run = &p->load->runs[part_of(key)];
	size_t *others = &p->others[significant_bits(key)];
	uint32_t tag = tag_of(key, anchor), i;

	/* The few other entries of the same content are at the end. */
	for (i = run->count; i && run->entries[i - 1].content == content; i--) {
		struct part_entry *e = &run->entries[i - 1];

		if (e->tag >> 1 != tag >> 1)
			continue;
		*others -= tag & ~e->tag & TAG_ANCHOR;
		e->tag |= tag & TAG_ANCHOR;
		return;
	}
	run->entries[run->count++] = (struct part_entry){ tag, content };
	p->count++;
	*others += !anchor;
}

static void run_trim(struct load_run *run, uint32_t tag)
{
	uint32_t i, kept = 0;

	for (i = 0; i < run->count; i++) {
		struct part_entry e = run->entries[i];

		run->entries[kept] = e;
		kept += (e.tag & TAG_ANCHOR) | (e.tag < tag);
	}
	run->count = kept;
}

static void trim(struct postings *p)
{
	unsigned part;

	for (part = 0; part < POSTINGS_PARTS; part++) {
		uint32_t tag = limit_tag(p, part);

		run_trim(&p->load->runs[part], tag);
		part_trim(&p->parts[part], tag, &p->scratch);
	}
}

/* The anchors, and of the others those that are below the limit, which are few
 * among many contents. */
static size_t choose(const struct postings *p, const uint32_t *keys,
		     size_t count, size_t anchors, uint32_t *out)
{
	size_t i, chosen = count < anchors ? count : anchors;

	memcpy(out, keys, chosen * sizeof(keys[0]));
	for (i = chosen; i < count; i++) {
		out[chosen] = keys[i];
		chosen += keys[i] < p->limit;
	}
	return chosen;
}

int postings_load_add(struct postings *p, uint32_t content,
		      const uint32_t *keys, size_t count, size_t anchors)
{
	struct postings_load *load = p->load;
	uint32_t chosen[POSTINGS_MAX_ADD];
	size_t i;
	int err;

	if (content < load->newest)
		return -EINVAL;
	count = choose(p, keys, count, anchors, chosen);
	err = load_reserve(load, chosen, count);
	if (err)
		return err;
	load->newest = content;
	for (i = 0; i < count; i++)
		load_put(p, content, chosen[i], i < anchors);
	if (postings_lower_limit(p))
		trim(p);
	return 0;
}

/* ---- the end ---- */

/* Entries that found no room count no longer. */
static void run_drop(struct postings *p, unsigned part)
{
	struct load_run *run = &p->load->runs[part];
	uint32_t i;

	for (i = 0; i < run->count; i++) {
		uint32_t tag = run->entries[i].tag;
		uint32_t key = (tag >> 1) * POSTINGS_PARTS + part;

		p->count--;
		p->others[significant_bits(key)] -= !(tag & TAG_ANCHOR);
	}
	run->count = 0;
}

static int run_merge(struct postings *p, unsigned part)
{
	struct load_run *run = &p->load->runs[part];
	struct part_entry *sorted = malloc(run->count * sizeof(*sorted));
	int err = -ENOMEM;

	if (sorted) {
		part_sort(run->entries, run->count, sorted);
		err = part_add(&p->parts[part], sorted, run->count);
	}
	if (!err)
		run->count = 0;
	free(sorted);
	return err;
}

int postings_load_end_part(struct postings *p, unsigned part)
{
	struct load_run *run = p->load ? &p->load->runs[part] : NULL;
	int err = 0;

	if (!run || !run->count)
		return 0;
	err = run_merge(p, part);
	if (err)
		run_drop(p, part);
	(void)run_resize(run, 0);
	return err;
}

int postings_load_end(struct postings *p)
{
	unsigned part;
	int err = 0, part_err;

	for (part = 0; part < POSTINGS_PARTS; part++) {
		part_err = postings_load_end_part(p, part);
		err = err ? err : part_err;
	}
	postings_load_release(p);
	return err;
}
