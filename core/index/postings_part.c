/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/postings_part.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRESH_MIN 16u

/* Fresh entries are merged when they are 1/32 to 1/16 of the base, but not
 * fewer than FRESH_SMALL. */
#define FRESH_SHARE 32u
#define FRESH_SMALL 256u

#define BASE_SPARE 8192u /* entries for which a small base has room */

static uint32_t key_of(uint32_t tag)
{
	return tag >> 1;
}

static uint32_t bucket_of(uint32_t tag)
{
	return tag >> LOW_BITS;
}

/* ---- fresh entries ---- */

/* The slot of a key, or the free slot where it belongs. */
static uint16_t *fresh_slot(const struct part_fresh *f, uint32_t tag)
{
	uint32_t mask = 2 * f->capacity - 1;
	uint32_t i = key_of(tag) * UINT32_C(0x9e3779b1) >> f->shift;

	while (f->slots[i] &&
	       key_of(f->entries[f->slots[i] - 1].tag) != key_of(tag))
		i = (i + 1) & mask;
	return &f->slots[i];
}

static enum part_put fresh_put(struct part_fresh *f, uint32_t tag,
			       uint32_t content)
{
	uint16_t *first = fresh_slot(f, tag), *at = first;
	uint16_t count = *first ? f->entries[*first - 1].count : 0;
	struct fresh_entry *e;

	while (*at && f->entries[*at - 1].content > content)
		at = &f->entries[*at - 1].next;
	if (*at && f->entries[*at - 1].content == content) {
		e = &f->entries[*at - 1];
		if (!(tag & ~e->tag & TAG_ANCHOR))
			return PART_SAME;
		e->tag |= TAG_ANCHOR;
		return PART_RAISED;
	}
	e = &f->entries[f->count++];
	*e = (struct fresh_entry){ tag, content, *at, 0 };
	*at = (uint16_t)f->count;
	f->entries[*first - 1].count = (uint16_t)(count + 1);
	return PART_NEW;
}

/* All entries: keys in no order, the contents of a key ascending. */
static uint32_t fresh_gather(const struct part_fresh *f, struct part_entry *out)
{
	uint32_t left = f->count, i;
	const struct fresh_entry *e;
	uint16_t at;

	for (i = 0; left && i < 2 * f->capacity; i++)
		for (at = f->slots[i]; at; at = e->next) {
			e = &f->entries[at - 1];
			out[--left] = (struct part_entry){ e->tag, e->content };
		}
	return f->count;
}

static void fresh_clear(struct part_fresh *f)
{
	memset(f->slots, 0, 2 * f->capacity * sizeof(f->slots[0]));
	f->count = 0;
}

static int fresh_grow(struct part_fresh *f, struct part_scratch *s)
{
	uint32_t capacity = f->capacity ? 2 * f->capacity : FRESH_MIN;
	uint32_t i, count = fresh_gather(f, s->gathered);
	struct fresh_entry *entries = malloc(capacity * sizeof(*entries));
	uint16_t *slots = malloc(2 * capacity * sizeof(*slots));

	if (!entries || !slots) {
		free(entries);
		free(slots);
		return -ENOMEM;
	}
	free(f->entries);
	free(f->slots);
	f->entries = entries;
	f->slots = slots;
	f->capacity = capacity;
	f->shift = (unsigned)__builtin_clz(capacity);
	fresh_clear(f);
	for (i = 0; i < count; i++)
		(void)fresh_put(f, s->gathered[i].tag, s->gathered[i].content);
	return 0;
}

/* ---- the base ---- */

static uint32_t base_count(const struct postings_part *part)
{
	return part->first[BUCKETS];
}

/*
 * The first entry in from..to whose key is not below low.  The search gallops
 * from a guess in that range and then bisects: keys are uniform, so the guess
 * is good unless a key has very many entries.
 */
static uint32_t base_bound(const struct postings_part *part, uint32_t from,
			   uint32_t to, uint32_t guess, uint32_t low)
{
	const uint16_t *lows = part->lows;
	uint32_t step = 8, middle;

	if (guess < to && key_of(lows[guess]) < low) {
		from = guess + 1;
		for (; to - from > step; step *= 2) {
			if (key_of(lows[from + step]) >= low)
				to = from + step;
			else
				from += step + 1;
		}
	} else {
		to = guess;
		for (; to - from > step; step *= 2) {
			if (key_of(lows[to - step]) < low)
				from = to - step + 1;
			else
				to -= step;
		}
	}
	while (from < to) {
		middle = from + (to - from) / 2;
		if (key_of(lows[middle]) < low)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* The number of entries of a key, and the first of them. */
static uint32_t base_find(const struct postings_part *part, uint32_t tag,
			  uint32_t *from_out)
{
	uint32_t from = part->first[bucket_of(tag)];
	uint32_t to = part->first[bucket_of(tag) + 1];
	uint32_t low = key_of(tag & ((1u << LOW_BITS) - 1));
	uint32_t guess = from + (uint32_t)((uint64_t)(to - from) * low >>
					   (LOW_BITS - 1));

	from = base_bound(part, from, to, guess, low);
	*from_out = from;
	if (from == to || key_of(part->lows[from]) != low)
		return 0;
	return base_bound(part, from, to, from, low + 1) - from;
}

/* PART_NEW if the base lacks the entry; else makes it an anchor if the tag is
 * one. */
static enum part_put base_raise(struct postings_part *part, uint32_t tag,
				uint32_t content)
{
	uint32_t from, to, middle;

	if (content > part->newest)
		return PART_NEW;
	to = base_find(part, tag, &from);
	to += from;
	while (from < to) {
		middle = from + (to - from) / 2;
		if (part->contents[middle] < content) {
			from = middle + 1;
		} else if (part->contents[middle] > content) {
			to = middle;
		} else {
			if (!(tag & ~part->lows[middle] & TAG_ANCHOR))
				return PART_SAME;
			part->lows[middle] |= TAG_ANCHOR;
			return PART_RAISED;
		}
	}
	return PART_NEW;
}

int pages_resize(void *pages, size_t from, size_t to, void **out)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = NULL;

	from = (from + page - 1) / page * page;
	to = (to + page - 1) / page * page;
	if (from == to)
		at = pages;
	else if (!from)
		at = mmap(NULL, to, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else if (to)
		at = mremap(pages, from, to, MREMAP_MAYMOVE);
	else
		(void)munmap(pages, from);
	if (at == MAP_FAILED)
		return -ENOMEM;
	*out = at;
	return 0;
}

static int contents_resize(struct postings_part *part, uint32_t from,
			   uint32_t to)
{
	size_t size = sizeof(part->contents[0]);
	void *at;
	int err = pages_resize(part->contents, from * size, to * size, &at);

	if (!err)
		part->contents = at;
	return err;
}

static int lows_resize(struct postings_part *part, uint32_t from, uint32_t to)
{
	size_t size = sizeof(part->lows[0]);
	void *at;
	int err = pages_resize(part->lows, from * size, to * size, &at);

	if (!err)
		part->lows = at;
	return err;
}

/* Shrinking cannot fail. */
static int base_resize(struct postings_part *part, uint32_t room)
{
	int err = contents_resize(part, part->room, room);

	if (err)
		return err;
	err = lows_resize(part, part->room, room);
	if (err) {
		(void)contents_resize(part, room, part->room);
		return err;
	}
	part->room = room;
	return 0;
}

static void base_move(struct postings_part *part, uint32_t from, uint32_t to,
		      uint32_t count)
{
	if (!count || from == to)
		return;
	memmove(part->contents + to, part->contents + from,
		count * sizeof(part->contents[0]));
	memmove(part->lows + to, part->lows + from,
		count * sizeof(part->lows[0]));
}

void part_release(struct postings_part *part)
{
	(void)base_resize(part, 0);
	free(part->fresh.entries);
	free(part->fresh.slots);
	*part = (struct postings_part){ 0 };
}

/* ---- merging ---- */

/* One pass of a radix sort, by 8 bits of the tag. */
static void sort_digit(const struct part_entry *in, uint32_t count,
		       unsigned shift, struct part_entry *out)
{
	uint32_t places[256] = { 0 }, place = 0, n, i;

	for (i = 0; i < count; i++)
		places[in[i].tag >> shift & 255]++;
	for (i = 0; i < 256; i++) {
		n = places[i];
		places[i] = place;
		place += n;
	}
	for (i = 0; i < count; i++)
		out[places[in[i].tag >> shift & 255]++] = in[i];
}

void part_sort(struct part_entry *entries, uint32_t count,
	       struct part_entry *sorted_out)
{
	sort_digit(entries, count, 1, sorted_out);
	sort_digit(sorted_out, count, 9, entries);
	sort_digit(entries, count, 17, sorted_out);
}

static bool base_is_after(const struct postings_part *part, uint32_t i,
			  const struct part_entry *e)
{
	uint32_t key = key_of(part->lows[i]), low = key_of((uint16_t)e->tag);

	return key > low || (key == low && part->contents[i] > e->content);
}

/*
 * Merges in place, from the end: behind the entries that were not read yet
 * there is always room for those that are left to be merged.
 */
static void base_merge(struct postings_part *part,
		       const struct part_entry *sorted, uint32_t left)
{
	uint32_t read = base_count(part), bucket = BUCKETS, start;

	assert(part->contents && part->lows);
	while (left && bucket--) {
		start = part->first[bucket];
		part->first[bucket + 1] = read + left;
		while (left && bucket_of(sorted[left - 1].tag) == bucket) {
			const struct part_entry *e = &sorted[left - 1];

			for (; read > start && base_is_after(part, read - 1, e);
			     read--) {
				part->lows[read + left - 1] =
					part->lows[read - 1];
				part->contents[read + left - 1] =
					part->contents[read - 1];
			}
			left--;
			part->lows[read + left] = (uint16_t)e->tag;
			part->contents[read + left] = e->content;
			if (e->content > part->newest)
				part->newest = e->content;
		}
		base_move(part, start, start + left, read - start);
		read = start;
	}
}

/* Grows by an eighth, which takes address space but no memory: each move of a
 * mapping interrupts the other processors. */
static int base_reserve(struct postings_part *part, uint32_t count)
{
	if (count <= part->room)
		return 0;
	return base_resize(part, count + count / 8 + BASE_SPARE);
}

int part_add(struct postings_part *part, const struct part_entry *sorted,
	     uint32_t count)
{
	int err = base_reserve(part, base_count(part) + count);

	if (!err)
		base_merge(part, sorted, count);
	return err;
}

static int part_merge(struct postings_part *part, struct part_scratch *s)
{
	uint32_t count = fresh_gather(&part->fresh, s->gathered);
	int err;

	part_sort(s->gathered, count, s->sorted);
	err = part_add(part, s->sorted, count);
	if (!err)
		fresh_clear(&part->fresh);
	return err;
}

int part_reserve(struct postings_part *part, uint32_t more,
		 struct part_scratch *s)
{
	struct part_fresh *f = &part->fresh;
	uint32_t share = base_count(part) / FRESH_SHARE;
	uint32_t least = share > FRESH_SMALL ? share : FRESH_SMALL;
	int err = 0;

	assert(more <= FRESH_MAX);
	if (least > FRESH_MAX)
		least = FRESH_MAX;
	while (!err && f->capacity - f->count < more) {
		if (f->capacity < least || f->capacity < more)
			err = fresh_grow(f, s);
		else
			err = part_merge(part, s);
	}
	return err;
}

enum part_put part_put(struct postings_part *part, uint32_t tag,
		       uint32_t content)
{
	enum part_put put = base_raise(part, tag, content);

	assert(part->fresh.count < part->fresh.capacity);
	return put == PART_NEW ? fresh_put(&part->fresh, tag, content) : put;
}

/* ---- reading ---- */

size_t part_find(const struct postings_part *part, uint32_t tag, uint32_t *out,
		 size_t capacity)
{
	const struct part_fresh *f = &part->fresh;
	uint32_t from, count = base_find(part, tag, &from);
	size_t n = count < capacity ? count : capacity;
	uint16_t at = 0;

	if (n)
		memcpy(out, part->contents + from, n * sizeof(*out));
	if (f->count)
		at = *fresh_slot(f, tag);
	if (at)
		count += f->entries[at - 1].count;
	for (; at && n < capacity; at = f->entries[at - 1].next)
		out[n++] = f->entries[at - 1].content;
	return count;
}

size_t part_bytes(const struct postings_part *part)
{
	const struct part_fresh *f = &part->fresh;

	return base_count(part) *
		       (sizeof(part->contents[0]) + sizeof(part->lows[0])) +
	       f->capacity * (sizeof(f->entries[0]) + 2 * sizeof(f->slots[0]));
}

/* ---- dropping ---- */

static void fresh_filter(struct part_fresh *f, part_keep_fn *keep, void *arg,
			 struct part_scratch *s)
{
	uint32_t i, count = fresh_gather(f, s->gathered);

	if (!count)
		return;
	fresh_clear(f);
	for (i = 0; i < count; i++)
		if (keep(arg, s->gathered[i].tag, s->gathered[i].content))
			(void)fresh_put(f, s->gathered[i].tag,
					s->gathered[i].content);
}

/* Without a branch on the result of keep(), which could not be predicted. */
static inline void base_filter(struct postings_part *part, uint32_t bucket,
			       part_keep_fn *keep, void *arg)
{
	uint32_t read = part->first[bucket], write = read, end;

	for (; bucket < BUCKETS; bucket++) {
		end = part->first[bucket + 1];
		for (; read < end; read++) {
			uint32_t content = part->contents[read];
			uint16_t low = part->lows[read];

			part->contents[write] = content;
			part->lows[write] = low;
			write += keep(arg, bucket << LOW_BITS | low, content);
		}
		part->first[bucket + 1] = write;
	}
	(void)base_resize(part, write);
}

static bool is_kept(void *arg, uint32_t tag, uint32_t content)
{
	(void)content;
	return (tag & TAG_ANCHOR) | (tag < *(uint32_t *)arg);
}

void part_trim(struct postings_part *part, uint32_t tag, struct part_scratch *s)
{
	fresh_filter(&part->fresh, is_kept, &tag, s);
	base_filter(part, bucket_of(tag), is_kept, &tag);
}

void part_filter(struct postings_part *part, part_keep_fn *keep, void *arg,
		 struct part_scratch *s)
{
	fresh_filter(&part->fresh, keep, arg, s);
	base_filter(part, 0, keep, arg);
}
