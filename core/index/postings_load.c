/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/postings_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Loading: the entries of each part are appended to an array and sorted once at
 * the end.  This is several times as fast as merging them little by little.
 */
#define RUN_MIN 512u /* a page */

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
	if (p->count || p->load)
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

/* A key that one content has twice, which is rare, is put twice for now. */
static void load_put(struct postings *p, uint32_t content, uint32_t key,
		     bool anchor)
{
	struct load_run *run = &p->load->runs[part_of(key)];

	run->entries[run->count++] =
		(struct part_entry){ tag_of(key, anchor), content };
	p->count++;
	p->others[significant_bits(key)] += !anchor;
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
	unsigned part;
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
		for (part = 0; part < POSTINGS_PARTS; part++)
			run_trim(&load->runs[part], limit_tag(p, part));
	return 0;
}

/* ---- the end ---- */

static uint32_t key_of(unsigned part, const struct part_entry *e)
{
	return (e->tag >> 1) * POSTINGS_PARTS + part;
}

/* Of entries of one content with one key the first is left, which is an anchor
 * if any of them is.  Returns how many are left. */
static uint32_t drop_repeats(struct postings *p, unsigned part,
			     struct part_entry *sorted, uint32_t count)
{
	uint32_t i, kept = 0;

	for (i = 0; i < count; i++) {
		const struct part_entry *e = &sorted[i];

		if (kept && sorted[kept - 1].content == e->content &&
		    sorted[kept - 1].tag >> 1 == e->tag >> 1) {
			p->count--;
			p->others[significant_bits(key_of(part, e))]--;
		} else {
			sorted[kept++] = *e;
		}
	}
	return kept;
}

static int run_finish(struct postings *p, unsigned part)
{
	struct load_run *run = &p->load->runs[part];
	struct part_entry *sorted = malloc((run->count + 1) * sizeof(*sorted));
	int err = -ENOMEM;

	if (sorted) {
		part_sort(run->entries, run->count, sorted);
		err = part_fill(&p->parts[part], sorted,
				drop_repeats(p, part, sorted, run->count));
	}
	free(sorted);
	return err ? err : run_resize(run, 0);
}

int postings_load_end(struct postings *p)
{
	unsigned part;
	int err = 0;

	for (part = 0; p->load && part < POSTINGS_PARTS && !err; part++)
		if (p->load->runs[part].count)
			err = run_finish(p, part);
	if (!err)
		postings_load_release(p);
	return err;
}
