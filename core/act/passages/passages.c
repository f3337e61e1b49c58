/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/passages/passages.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/kernel/sketch/sketch.h"

/* ---- a content and its places ---- */

enum { MARK_STEP = 256 }; /* bytes of a content */

/* Of the bytes before a step. */
struct folded_mark {
	size_t folded, lines;
};

int folded_init(struct folded_content *c, const void *bytes, size_t size)
{
	struct folded_mark at = { 0, 1 };
	uint8_t folded;
	size_t i;

	*c = (struct folded_content){ .bytes = bytes, .size = size };
	c->folded = malloc(size + 1);
	c->marks = calloc(size / MARK_STEP + 1, sizeof(*c->marks));
	if (!c->folded || !c->marks)
		return -ENOMEM;
	for (i = 0; i < size; i++) {
		if (i % MARK_STEP == 0)
			c->marks[i / MARK_STEP] = at;
		folded = sketch_fold_byte(c->bytes[i]);
		c->folded[at.folded] = folded;
		at.folded += folded != 0;
		at.lines += c->bytes[i] == '\n';
	}
	c->length = at.folded;
	return 0;
}

void folded_release(struct folded_content *c)
{
	free(c->folded);
	free(c->marks);
	*c = (struct folded_content){ 0 };
}

size_t folded_line(const struct folded_content *c, size_t place)
{
	size_t i = place / MARK_STEP * MARK_STEP;
	size_t line = c->marks[i / MARK_STEP].lines;

	for (; i < place; i++)
		line += c->bytes[i] == '\n';
	return line;
}

/* Where the byte is from which that folded one came. */
static size_t place_of(const struct folded_content *c, size_t folded)
{
	size_t low = 0, high = c->size / MARK_STEP + 1, middle, place, at;

	/* The last step that begins at it or before. */
	while (high - low > 1) {
		middle = (low + high) / 2;
		if (middle * MARK_STEP < c->size &&
		    c->marks[middle].folded <= folded)
			low = middle;
		else
			high = middle;
	}
	at = c->marks[low].folded;
	for (place = low * MARK_STEP; place < c->size; place++) {
		if (!sketch_fold_byte(c->bytes[place]))
			continue;
		if (at++ == folded)
			break;
	}
	return place;
}

/* ---- the blocks of the second content ---- */

/* As many equal blocks are looked at: a table may have very many. */
enum { BLOCKS_TRIED = 16 };

#define HASH_FACTOR UINT64_C(0x9fb21c651e98df25)

/* Of each block the next one with its slot; 0: none, else one more than its
 * number. */
struct block_table {
	uint32_t *slots, *next;
	unsigned bits;
};

static uint64_t hash_block(const uint8_t *p)
{
	uint64_t hash = 0;
	size_t i;

	for (i = 0; i < PASSAGE_BLOCK; i++)
		hash = hash * HASH_FACTOR + p[i];
	return hash;
}

static uint64_t roll(uint64_t hash, uint8_t leaves, uint8_t enters)
{
	uint64_t power = HASH_FACTOR;
	int doubled;

	for (doubled = 1; doubled < PASSAGE_BLOCK; doubled *= 2)
		power *= power;
	return hash * HASH_FACTOR - leaves * power + enters;
}

static size_t slot_of(const struct block_table *t, uint64_t hash)
{
	return (size_t)((hash ^ hash >> 32) * HASH_FACTOR >> (64 - t->bits));
}

static bool repeats_one_byte(const uint8_t *block)
{
	return !memcmp(block, block + 1, PASSAGE_BLOCK - 1);
}

static int table_init(struct block_table *t, const struct folded_content *c)
{
	const size_t count = c->length / PASSAGE_BLOCK;
	size_t i, slot;

	t->bits = 8;
	while (((size_t)1 << t->bits) < 2 * count)
		t->bits++;
	t->slots = calloc((size_t)1 << t->bits, sizeof(*t->slots));
	t->next = calloc(count + 1, sizeof(*t->next));
	if (!t->slots || !t->next)
		return -ENOMEM;
	/* From the end, so that the first of equal ones is the first. */
	for (i = count; i-- > 0;) {
		const uint8_t *block = c->folded + i * PASSAGE_BLOCK;

		if (repeats_one_byte(block))
			continue;
		slot = slot_of(t, hash_block(block));
		t->next[i] = t->slots[slot];
		t->slots[slot] = (uint32_t)i + 1;
	}
	return 0;
}

/* ---- what is equal ---- */

/* In folded bytes. */
struct run {
	size_t a, b, length;
};

/* The run of equal bytes around two places, in the first content from begin on. */
static struct run extend(const struct folded_content *a,
			 const struct folded_content *b, size_t begin,
			 size_t at_a, size_t at_b)
{
	struct run run = { at_a, at_b, 0 };
	size_t end_a = at_a, end_b = at_b;

	while (end_a < a->length && end_b < b->length &&
	       a->folded[end_a] == b->folded[end_b]) {
		end_a++;
		end_b++;
	}
	while (run.a > begin && run.b > 0 &&
	       a->folded[run.a - 1] == b->folded[run.b - 1]) {
		run.a--;
		run.b--;
	}
	run.length = end_a - run.a;
	return run;
}

/* The longest run that has the block at a place of the first content; its length
 * is 0 if there is none. */
static struct run longest_at(const struct block_table *t,
			     const struct folded_content *a,
			     const struct folded_content *b, size_t begin,
			     size_t place, uint64_t hash)
{
	struct run best = { 0 }, run;
	uint32_t block = t->slots[slot_of(t, hash)];
	int tried;

	for (tried = 0; block && tried < BLOCKS_TRIED; tried++) {
		const size_t at = (size_t)(block - 1) * PASSAGE_BLOCK;

		run = extend(a, b, begin, place, at);
		if (place + PASSAGE_BLOCK <= run.a + run.length &&
		    run.length > best.length)
			best = run;
		block = t->next[block - 1];
	}
	return best;
}

static bool are_one(const struct run *before, const struct run *run)
{
	const size_t end_a = before->a + before->length,
		     end_b = before->b + before->length;

	return run->a - end_a <= PASSAGE_GAP && run->b >= end_b &&
	       run->b - end_b <= PASSAGE_GAP;
}

/* ---- passages ---- */

struct passage_list {
	struct passage *all;
	size_t count;
	struct run last; /* of the last passage */
};

/* A passage begins and ends with a word: letters of the words around it are equal
 * by chance.  What has no words stays. */
enum { WORD_MOST = 24 };

static bool is_in_word(const struct folded_content *c, size_t folded)
{
	return folded > 0 && folded < c->length &&
	       place_of(c, folded) == place_of(c, folded - 1) + 1;
}

static struct run trim(const struct folded_content *a, const struct run *run)
{
	size_t begin = 0, end = 0;

	while (begin < WORD_MOST && is_in_word(a, run->a + begin))
		begin++;
	while (end < WORD_MOST && is_in_word(a, run->a + run->length - end))
		end++;
	begin = begin < WORD_MOST ? begin : 0;
	end = end < WORD_MOST ? end : 0;
	if (begin + end >= run->length)
		return *run;
	return (struct run){ run->a + begin, run->b + begin,
			     run->length - begin - end };
}

static int add_run(struct passage_list *l, const struct folded_content *a,
		   const struct folded_content *b, const struct run *run)
{
	const struct run words = trim(a, run);
	const size_t a_end = place_of(a, words.a + words.length - 1) + 1,
		     b_end = place_of(b, words.b + words.length - 1) + 1;
	struct passage *all;

	if (l->count && are_one(&l->last, run)) {
		l->all[l->count - 1].a_end = a_end;
		l->all[l->count - 1].b_end = b_end;
		l->last = *run;
		return 0;
	}
	all = array_with_room(l->all, l->count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	l->all = all;
	all[l->count++] = (struct passage){ place_of(a, words.a), a_end,
					    place_of(b, words.b), b_end };
	l->last = *run;
	return 0;
}

static int find_all(const struct block_table *t, const struct folded_content *a,
		    const struct folded_content *b, struct passage_list *l)
{
	const uint8_t *bytes = a->folded;
	uint64_t hash = 0;
	size_t i = 0, begin = 0;
	bool known = false;
	struct run run;
	int err = 0;

	while (!err && i + PASSAGE_BLOCK <= a->length) {
		hash = known ? roll(hash, bytes[i - 1],
				    bytes[i + PASSAGE_BLOCK - 1]) :
			       hash_block(bytes + i);
		known = true;
		run = longest_at(t, a, b, begin, i, hash);
		i++;
		if (!run.length)
			continue;
		err = add_run(l, a, b, &run);
		i = begin = run.a + run.length;
		known = false;
	}
	return err;
}

int passages_find(const struct folded_content *a,
		  const struct folded_content *b, size_t least,
		  struct passage **out, size_t *count_out)
{
	struct passage_list l = { 0 };
	struct block_table table = { 0 };
	const struct passage *p;
	size_t kept = 0, i;
	int err = table_init(&table, b);

	if (!err)
		err = find_all(&table, a, b, &l);
	free(table.slots);
	free(table.next);
	if (err) {
		free(l.all);
		return err;
	}
	for (i = 0; i < l.count; i++) {
		p = &l.all[i];
		if (p->a_end - p->a >= least || p->b_end - p->b >= least)
			l.all[kept++] = *p;
	}
	*out = l.all;
	*count_out = kept;
	return 0;
}
