/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/postings.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The entries are in buckets, by the low bits of their key, so that the limit
 * shrinks all buckets equally.  A bucket is sorted by key and content.  It has
 * the 15 other bits of the key and one bit for anchors, together the mark of
 * the entry: key 0x12345678 is mark 0x2468 in bucket 0x5678, or 0x2469.
 */
#define BUCKETS 65536u
#define ANCHOR 1u
#define ENTRY_BYTES (sizeof(uint32_t) + sizeof(uint16_t))

struct bucket {
	uint32_t *contents; /* owned; room for all, then for their marks */
	uint32_t count, room;
};

/* Entries that are loaded, of the keys of one part. */
struct load_entry {
	uint32_t key; /* and the highest bit for anchors */
	uint32_t content;
};

struct load_run {
	struct load_entry *entries; /* owned; contents ascending */
	uint32_t count, room;
};

#define LOAD_ANCHOR POSTINGS_KEYS

struct postings_load {
	struct load_run runs[POSTINGS_PARTS];
	uint32_t newest; /* greatest content */
};

struct postings {
	size_t budget, count;
	size_t others[32]; /* entries that are no anchors, by the number of
			    * significant bits of their key */
	uint32_t limit;
	struct postings_load *load; /* owned; NULL: not loading */
	struct bucket buckets[BUCKETS];
};

static unsigned significant_bits(uint32_t key)
{
	return key ? 32 - (unsigned)__builtin_clz(key) : 0;
}

/* Adds to the numbers of entries. */
static void count_entry(struct postings *p, uint32_t key, bool anchor,
			size_t change)
{
	p->count += change;
	if (!anchor)
		p->others[significant_bits(key)] += change;
}

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

static void load_release(struct postings *p)
{
	unsigned part;

	for (part = 0; part < POSTINGS_PARTS && p->load; part++)
		free(p->load->runs[part].entries);
	free(p->load);
	p->load = NULL;
}

void postings_free(struct postings *p)
{
	unsigned i;

	if (!p)
		return;
	load_release(p);
	for (i = 0; i < BUCKETS; i++)
		free(p->buckets[i].contents);
	free(p);
}

/* ---- a bucket ---- */

static uint16_t *marks_of(const struct bucket *b)
{
	return b->contents ? (uint16_t *)(b->contents + b->room) : NULL;
}

static uint32_t key_of(uint32_t bucket, uint16_t mark)
{
	return (uint32_t)(mark >> 1) * BUCKETS + bucket;
}

static int bucket_resize(struct bucket *b, uint32_t room)
{
	uint32_t *contents = malloc(room * ENTRY_BYTES);

	if (!contents)
		return -ENOMEM;
	if (b->count) {
		memcpy(contents, b->contents, b->count * sizeof(*contents));
		memcpy(contents + room, marks_of(b),
		       b->count * sizeof(uint16_t));
	}
	free(b->contents);
	b->contents = contents;
	b->room = room;
	return 0;
}

/* The first entry with such a mark or a higher one, from one on; without a
 * branch that could not be predicted. */
static uint32_t bucket_bound(const struct bucket *b, uint32_t from,
			     uint32_t mark)
{
	const uint16_t *marks = marks_of(b);
	uint32_t left = b->count - from, at = from, half;

	for (; left > 1; left -= half) {
		half = left / 2;
		at += marks[at + half - 1] < mark ? half : 0;
	}
	at += left && marks[at] < mark;
	return at;
}

/* The entries of a key (without the bits that choose its bucket). */
static uint32_t bucket_find(const struct bucket *b, uint32_t key,
			    uint32_t *from_out)
{
	uint32_t from = bucket_bound(b, 0, key << 1);

	*from_out = from;
	if (from == b->count || marks_of(b)[from] >> 1 != (int)key)
		return 0;
	return bucket_bound(b, from, (key + 1) << 1) - from;
}

/* Where the entry is, or where it would be. */
static uint32_t bucket_place(const struct bucket *b, uint32_t key,
			     uint32_t content, bool *found_out)
{
	uint32_t from, end, to, middle;

	*found_out = false;
	if (!b->count || marks_of(b)[b->count - 1] >> 1 < (int)key)
		return b->count;
	end = bucket_find(b, key, &from);
	end += from;
	/* Mostly it is the newest. */
	if (from < end && b->contents[end - 1] < content)
		from = end;
	for (to = end; from < to;) {
		middle = from + (to - from) / 2;
		if (b->contents[middle] < content)
			from = middle + 1;
		else
			to = middle;
	}
	*found_out = from < end && b->contents[from] == content;
	return from;
}

static int put(struct postings *p, uint32_t content, uint32_t key, bool anchor)
{
	struct bucket *b = &p->buckets[key % BUCKETS];
	bool found;
	uint32_t at = bucket_place(b, key / BUCKETS, content, &found);
	uint16_t *marks = marks_of(b);

	if (found) {
		if (anchor && !(marks[at] & ANCHOR)) {
			marks[at] |= ANCHOR;
			p->others[significant_bits(key)]--;
		}
		return 0;
	}
	if (b->count == b->room && bucket_resize(b, b->room + b->room / 8 + 4))
		return -ENOMEM;
	marks = marks_of(b);
	memmove(b->contents + at + 1, b->contents + at,
		(b->count - at) * sizeof(*b->contents));
	memmove(marks + at + 1, marks + at, (b->count - at) * sizeof(*marks));
	b->contents[at] = content;
	marks[at] = (uint16_t)(key / BUCKETS << 1 | anchor);
	b->count++;
	count_entry(p, key, anchor, 1);
	return 0;
}

/* Drops the entries of contents that are not alive; without is_alive those that
 * the limit forbids, which are counted no longer. */
static void bucket_filter(struct postings *p, uint32_t bucket,
			  bool (*is_alive)(void *arg, uint32_t), void *arg)
{
	struct bucket *b = &p->buckets[bucket];
	uint32_t read, kept = 0, key;
	uint16_t *marks = marks_of(b);
	bool keep;

	for (read = 0; read < b->count; read++) {
		key = key_of(bucket, marks[read]);
		if (is_alive)
			keep = is_alive(arg, b->contents[read]);
		else
			keep = (marks[read] & ANCHOR) | (key < p->limit);
		if (is_alive && !keep)
			count_entry(p, key, marks[read] & ANCHOR, (size_t)-1);
		b->contents[kept] = b->contents[read];
		marks[kept] = marks[read];
		kept += keep;
	}
	b->count = kept;
	if (kept < b->room / 2)
		(void)bucket_resize(b, kept + 1);
}

/* ---- the budget ---- */

/* Halves the limit until the budget is kept, and drops what is above. */
static void keep_budget(struct postings *p)
{
	uint32_t limit = p->limit, i, k, kept;
	struct load_run *run;
	size_t *others;

	while (p->count > p->budget && p->limit) {
		p->limit /= 2;
		others = &p->others[significant_bits(p->limit)];
		p->count -= *others;
		*others = 0;
	}
	if (p->limit == limit)
		return;
	for (i = 0; i < BUCKETS; i++)
		bucket_filter(p, i, NULL, NULL);
	for (i = 0; i < POSTINGS_PARTS && p->load; i++) {
		run = &p->load->runs[i];
		for (k = kept = 0; k < run->count; k++) {
			run->entries[kept] = run->entries[k];
			kept += run->entries[k].key < p->limit ||
				run->entries[k].key & LOAD_ANCHOR;
		}
		run->count = kept;
	}
}

/* ---- loading ---- */

/*
 * The entries of each part are appended to an array, which is sorted at the end:
 * several times as fast as looking for the place of each of them in turns.
 */
int postings_load_begin(struct postings *p)
{
	if (p->load)
		return -EINVAL;
	p->load = calloc(1, sizeof(*p->load));
	return p->load ? 0 : -ENOMEM;
}

static int load_put(struct postings *p, uint32_t content, uint32_t key,
		    bool anchor)
{
	struct load_run *run = &p->load->runs[key % POSTINGS_PARTS];
	struct load_entry *entries = run->entries;
	uint32_t room = run->room + run->room / 8 + 64;

	if (run->count == run->room) {
		entries = realloc(entries, room * sizeof(*entries));
		if (!entries)
			return -ENOMEM;
		run->entries = entries;
		run->room = room;
	}
	entries[run->count].key = key | (anchor ? LOAD_ANCHOR : 0);
	entries[run->count++].content = content;
	count_entry(p, key, anchor, 1);
	return 0;
}

/* One pass of a radix sort, by 8 bits of the key. */
static void sort_digit(const struct load_entry *in, uint32_t count,
		       unsigned shift, uint32_t mask, struct load_entry *out)
{
	uint32_t places[256] = { 0 }, place = 0, n, i;

	for (i = 0; i < count; i++)
		places[in[i].key >> shift & mask]++;
	for (i = 0; i < 256; i++) {
		n = places[i];
		places[i] = place;
		place += n;
	}
	for (i = 0; i < count; i++)
		out[places[in[i].key >> shift & mask]++] = in[i];
}

/* By bucket, then by the other bits of the key; contents stay ascending. */
static int sort_run(struct load_run *run)
{
	struct load_entry *sorted = malloc(run->count * sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	sort_digit(run->entries, run->count, 16, 255, sorted);
	sort_digit(sorted, run->count, 24, 127, run->entries);
	sort_digit(run->entries, run->count, 8, 255, sorted);
	free(run->entries);
	run->entries = sorted;
	run->room = run->count;
	return 0;
}

/* Puts the entries that the run has of one bucket, from one on; those that find
 * no room are missing.  Returns the next one. */
static uint32_t load_bucket(struct postings *p, const struct load_run *run,
			    uint32_t from, int *err)
{
	const uint32_t bucket = run->entries[from].key % BUCKETS;
	struct bucket *b = &p->buckets[bucket];
	uint32_t end = from, key, i;

	while (end < run->count && run->entries[end].key % BUCKETS == bucket)
		end++;
	if (b->room < b->count + end - from)
		(void)bucket_resize(b, b->count + end - from);
	for (i = from; i < end; i++) {
		bool anchor = run->entries[i].key & LOAD_ANCHOR;

		key = run->entries[i].key & ~LOAD_ANCHOR;
		count_entry(p, key, anchor, (size_t)-1);
		if (put(p, run->entries[i].content, key, anchor))
			*err = -ENOMEM;
	}
	return end;
}

int postings_load_end(struct postings *p, unsigned part)
{
	struct load_run *run = p->load ? &p->load->runs[part] : NULL;
	uint32_t at = 0;
	int err = 0;

	if (!run)
		return 0;
	/* Without memory the entries are put as they come. */
	if (run->count)
		(void)sort_run(run);
	while (at < run->count)
		at = load_bucket(p, run, at, &err);
	free(run->entries);
	*run = (struct load_run){ 0 };
	if (part == POSTINGS_PARTS - 1)
		load_release(p);
	return err;
}

/* ---- entries ---- */

int postings_add(struct postings *p, uint32_t content, const uint32_t *keys,
		 size_t count, size_t anchors)
{
	size_t i;
	int err = 0;

	if (p->load && content < p->load->newest)
		return -EINVAL;
	/* Where the entries go is cold: 33 in place of 48 microseconds for 100
	 * keys among 10 million entries. */
	for (i = 0; i < count && !p->load; i++)
		__builtin_prefetch(&p->buckets[keys[i] % BUCKETS]);
	for (i = 0; i < count && !p->load; i++) {
		const struct bucket *b = &p->buckets[keys[i] % BUCKETS];

		if (!b->contents)
			continue;
		__builtin_prefetch(b->contents + b->room);
		__builtin_prefetch(b->contents + b->room + b->count / 4);
		__builtin_prefetch(b->contents + b->room / 2);
	}
	for (i = 0; i < count && !err; i++) {
		assert(keys[i] < POSTINGS_KEYS);
		if (i >= anchors && keys[i] >= p->limit)
			continue;
		if (p->load)
			err = load_put(p, content, keys[i], i < anchors);
		else
			err = put(p, content, keys[i], i < anchors);
	}
	if (p->load)
		p->load->newest = content;
	keep_budget(p);
	return err;
}

size_t postings_find(const struct postings *p, uint32_t key, uint32_t *out,
		     size_t capacity)
{
	const struct bucket *b = &p->buckets[key % BUCKETS];
	uint32_t from, count;

	assert(key < POSTINGS_KEYS);
	count = bucket_find(b, key / BUCKETS, &from);
	capacity = count < capacity ? count : capacity;
	if (capacity)
		memcpy(out, b->contents + from, capacity * sizeof(*out));
	return count;
}

uint32_t postings_limit(const struct postings *p)
{
	return p->limit;
}

size_t postings_count(const struct postings *p)
{
	return p->count;
}

void postings_sweep_part(struct postings *p, unsigned part,
			 bool (*is_alive)(void *arg, uint32_t), void *arg)
{
	uint32_t i;

	for (i = part; i < BUCKETS; i += POSTINGS_PARTS)
		bucket_filter(p, i, is_alive, arg);
}

size_t postings_bytes(const struct postings *p)
{
	size_t bytes = sizeof(*p);
	uint32_t i;

	for (i = 0; i < BUCKETS; i++)
		bytes += p->buckets[i].room * ENTRY_BYTES;
	return bytes;
}
