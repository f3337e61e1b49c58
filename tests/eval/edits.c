/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/edits.h"

#include <stdbool.h>
#include <string.h>

#include "tests/eval/eval.h"

#define WHOLE 10000 /* of struct edit.amount */
#define BLOCK_AMOUNTS                                               \
	{                                                           \
		10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000 \
	}

const struct edit_info edit_infos[EDIT_KINDS] = {
	[EDIT_INSERT] = { "insert", BLOCK_AMOUNTS },
	[EDIT_DELETE] = { "delete", BLOCK_AMOUNTS },
	[EDIT_REPLACE] = { "replace", BLOCK_AMOUNTS },
	[EDIT_MOVE] = { "move", { 100, 500, 2000, 5000 } },
	[EDIT_PREPEND] = { "prepend", { 100, 1000, 5000, 10000 } },
	[EDIT_APPEND] = { "append", { 100, 1000, 5000, 10000 } },
	[EDIT_TRUNCATE] = { "truncate", { 500, 2000, 5000, 7000 } },
	[EDIT_BEHEAD] = { "behead", { 500, 2000, 5000, 7000 } },
	[EDIT_HUNKS] = { "hunks", { 50, 100, 200, 500, 1000, 2000, 4000 } },
	[EDIT_WORDS] = { "words", { 5, 10, 25, 50, 100, 200, 400 } },
	[EDIT_NOISE] = { "noise", { 1, 5, 10, 50, 100, 200, 500, 1000 } },
	[EDIT_PART] = { "part", { 0 } },
	[EDIT_LESS] = { "less than a part", { 0 } },
};

size_t edit_count(void)
{
	size_t count = 0, kind, i;

	for (kind = 0; kind < EDIT_KINDS; kind++)
		for (i = 0; edit_infos[kind].amounts[i]; i++)
			count++;
	return count;
}

struct edit edit_at(size_t at)
{
	size_t kind, i;

	for (kind = 0; kind < EDIT_KINDS; kind++)
		for (i = 0; edit_infos[kind].amounts[i]; i++)
			if (!at--)
				return (struct edit){
					.kind = (enum edit_kind)kind,
					.amount = edit_infos[kind].amounts[i],
				};
	fail("no such edit");
}

/* ---- one block ---- */

/* A result that is put together from its start. */
struct build {
	uint8_t *data;
	size_t len;
};

static void build_add(struct build *b, const uint8_t *data, size_t len)
{
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
}

/* From some place of the donor on, again from its start where it ends. */
static void build_donate(struct build *b, const struct bytes *donor, size_t len,
			 uint64_t *state)
{
	size_t at = draw_below(state, donor->len), part;

	for (; len; len -= part, at = 0) {
		part = donor->len - at < len ? donor->len - at : len;
		build_add(b, donor->data + at, part);
	}
}

static size_t amount_of(const struct edit *e, size_t len)
{
	size_t amount = (size_t)((double)len * e->amount / WHOLE);

	return amount ? amount : 1;
}

/* taken bytes at a place are replaced by put bytes. */
static void splice(struct build *b, const uint8_t *data, size_t len,
		   const struct bytes *donor, const size_t place[3],
		   uint64_t *state)
{
	size_t at = place[0], taken = place[1], put = place[2];

	build_add(b, data, at);
	build_donate(b, donor, put, state);
	build_add(b, data + at + taken, len - at - taken);
}

static void move_block(struct build *b, const uint8_t *data, size_t len,
		       size_t amount, uint64_t *state)
{
	size_t from = draw_below(state, len - amount + 1);
	size_t to = draw_below(state, len - amount + 1);
	size_t left = from < to ? from : to;
	size_t between = from < to ? to - from : from - to;

	build_add(b, data, left);
	if (from < to)
		build_add(b, data + from + amount, between);
	build_add(b, data + from, amount);
	if (from >= to)
		build_add(b, data + to, between);
	build_add(b, data + left + between + amount,
		  len - left - between - amount);
}

/* ---- many places ---- */

static void replace_places(const struct edit *e, struct build *b,
			   const uint8_t *data, size_t len,
			   const struct bytes *donor)
{
	size_t least = e->kind == EDIT_HUNKS ? 20 : 1;
	size_t most = e->kind == EDIT_HUNKS ? 400 : 8;
	size_t places = amount_of(e, len) / ((least + most) / 2), size, i;
	uint64_t state = e->seed;

	build_add(b, data, len);
	for (i = 0; i < places + 1; i++) {
		struct build part = { 0 };

		size = least + draw_below(&state, most - least + 1);
		if (size > len)
			size = len;
		part.data = b->data + draw_below(&state, len - size + 1);
		build_donate(&part, donor, size, &state);
	}
}

/* Places change their length, too. */
static void replace_words(const struct edit *e, struct build *b,
			  const uint8_t *data, size_t len,
			  const struct bytes *donor)
{
	/* Every word replaced is 4.5 bytes on average. */
	size_t gap = (size_t)(4.5 * WHOLE / e->amount), next, taken, at = 0;
	uint64_t state = e->seed;

	while (at < len) {
		next = draw_below(&state, 2 * gap + 1);
		if (next > len - at)
			next = len - at;
		build_add(b, data + at, next);
		at += next;
		taken = 1 + draw_below(&state, 8);
		at += taken < len - at ? taken : len - at;
		build_donate(b, donor, 1 + draw_below(&state, 8), &state);
	}
}

static void add_noise(const struct edit *e, struct build *b,
		      const uint8_t *data, size_t len)
{
	size_t places = amount_of(e, len), i;
	uint64_t state = e->seed;

	build_add(b, data, len);
	for (i = 0; i < places; i++)
		b->data[draw_below(&state, len)] ^=
			(uint8_t)(1 + draw_below(&state, 255));
}

/* ---- parts ---- */

/* Of the block's bytes are left in EDIT_LESS, in 1/10000: at most so many of
 * its windows are of the content. */
#define LESS_LEFT 3500

static void cut_part(const struct edit *e, struct build *b, const uint8_t *data,
		     size_t len, const struct bytes *donor)
{
	uint64_t state = e->seed;
	size_t size = amount_of(e, len), left = size;
	size_t at = draw_below(&state, len - size + 1);

	if (e->kind == EDIT_LESS)
		left = size * LESS_LEFT / WHOLE;
	build_add(b, data + at, left);
	build_donate(b, donor, size - left, &state);
}

/* ---- all ---- */

/* Where, how much is taken out and how much is put in. */
static void block_place(const struct edit *e, size_t len, size_t place_out[3],
			uint64_t *state)
{
	size_t amount = amount_of(e, len);
	bool takes = e->kind == EDIT_DELETE || e->kind == EDIT_REPLACE ||
		     e->kind == EDIT_TRUNCATE || e->kind == EDIT_BEHEAD;
	bool puts = e->kind == EDIT_INSERT || e->kind == EDIT_REPLACE ||
		    e->kind == EDIT_PREPEND || e->kind == EDIT_APPEND;
	size_t taken = takes ? amount : 0;

	place_out[0] = draw_below(state, len - taken + 1);
	place_out[1] = taken;
	place_out[2] = puts ? amount : 0;
	if (e->kind == EDIT_PREPEND || e->kind == EDIT_BEHEAD)
		place_out[0] = 0;
	if (e->kind == EDIT_APPEND || e->kind == EDIT_TRUNCATE)
		place_out[0] = len - taken;
}

struct bytes edit_apply(const struct edit *e, const uint8_t *data, size_t len,
			const struct bytes *donor)
{
	/* Words grow by 8 for every byte that stays, at the very worst. */
	size_t room = e->kind == EDIT_WORDS ? 9 * len + 8 : 2 * len + 1;
	struct build b = { .data = allocate(room) };
	uint64_t state = e->seed;
	size_t place[3];

	switch (e->kind) {
	case EDIT_MOVE:
		move_block(&b, data, len, amount_of(e, len), &state);
		break;
	case EDIT_HUNKS:
		replace_places(e, &b, data, len, donor);
		break;
	case EDIT_WORDS:
		replace_words(e, &b, data, len, donor);
		break;
	case EDIT_NOISE:
		add_noise(e, &b, data, len);
		break;
	case EDIT_PART:
	case EDIT_LESS:
		cut_part(e, &b, data, len, donor);
		break;
	default:
		block_place(e, len, place, &state);
		splice(&b, data, len, donor, place, &state);
	}
	return (struct bytes){ b.data, b.len };
}
