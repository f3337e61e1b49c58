/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/kernel/md4/md4_impl.h"

/*
 * Which message is in which lane.  A lane takes the turns that are whole from
 * the message itself, then its end from a copy, padded.  Then it takes the
 * next message; when there is none it is idle.  When many are, the others move
 * together and fewer lanes go on.
 */
#define TURN ((size_t)MD4_TURN * MD4_BLOCK)

/* Messages whose order is changed. */
#define BATCH 224

const uint32_t md4_start[4] = { 0x67452301, 0xefcdab89, 0x98badcfe,
				0x10325476 };

static const uint8_t idle_turn[TURN];

struct schedule {
	const struct kernel_message *messages;
	size_t count, next;
	uint8_t (*hashes)[16];
	const struct md4_width *narrowest, *width;
	size_t busy; /* lanes */
	uint8_t order[BATCH];
	struct md4_lanes lanes;
	size_t message[MD4_MAX_LANES];
	size_t left[MD4_MAX_LANES]; /* bytes of it, those of the turn too */
	uint8_t ends[MD4_MAX_LANES][TURN];
};

/*
 * The longest come first, so that the lanes get ready at about the same time:
 * by the power of two that a message is in and the next two bits.
 */
static unsigned class_of(size_t len)
{
	unsigned bits;

	if (len < 4)
		return 255;
	bits = 63 - (unsigned)__builtin_clzll(len);
	return 255 - (bits * 4 + (unsigned)(len >> (bits - 2) & 3));
}

static void sort_messages(struct schedule *s)
{
	uint8_t starts[257] = { 0 };
	size_t i;

	if (s->count <= s->width->lanes) {
		for (i = 0; i < s->count; i++)
			s->order[i] = (uint8_t)i;
		return;
	}
	for (i = 0; i < s->count; i++)
		starts[class_of(s->messages[i].len) + 1]++;
	for (i = 1; i < 257; i++)
		starts[i] = (uint8_t)(starts[i] + starts[i - 1]);
	for (i = 0; i < s->count; i++)
		s->order[starts[class_of(s->messages[i].len)]++] = (uint8_t)i;
}

/* The end, the bit that says so and the length need a block more than there
 * are in a turn when the end is this long. */
static bool ends_in_turn(size_t left)
{
	return left < TURN - 8;
}

/* Less than a turn is left: all of it, if its end fits. */
static void begin_end(struct schedule *s, size_t lane,
		      const struct kernel_message *m)
{
	const size_t left = s->left[lane];
	uint8_t *end = s->ends[lane];
	size_t blocks = left / MD4_BLOCK;

	/* Blocks of a turn that do not count are read, too. */
	memset(end, 0, TURN);
	if (left)
		memcpy(end, m->data + (m->len - left), left);
	if (ends_in_turn(left)) {
		blocks = (left + 8) / MD4_BLOCK + 1;
		end[left] = 0x80;
		store_le64(end + blocks * MD4_BLOCK - 8,
			   (m->done + m->len) * 8);
	}
	s->lanes.at[lane] = end;
	s->lanes.blocks[lane] = (uint32_t)blocks;
}

static void begin_part(struct schedule *s, size_t lane)
{
	const struct kernel_message *m = &s->messages[s->message[lane]];

	if (s->left[lane] < TURN) {
		begin_end(s, lane, m);
		return;
	}
	s->lanes.at[lane] = m->data + (m->len - s->left[lane]);
	s->lanes.blocks[lane] = MD4_TURN;
}

static void begin_message(struct schedule *s, size_t lane)
{
	const struct kernel_message *m;
	const uint32_t *words;
	size_t i;

	if (s->next == s->count) {
		s->lanes.at[lane] = idle_turn;
		s->lanes.blocks[lane] = 0;
		s->left[lane] = 0;
		s->busy--;
		return;
	}
	s->message[lane] = s->order[s->next++];
	m = &s->messages[s->message[lane]];
	words = m->done > 0 ? m->words : md4_start;
	for (i = 0; i < 4; i++)
		s->lanes.words[i][lane] = words[i];
	s->left[lane] = m->len;
	begin_part(s, lane);
}

static void end_message(struct schedule *s, size_t lane)
{
	uint8_t *hash = s->hashes[s->message[lane]];
	size_t i;

	for (i = 0; i < 4; i++)
		store_le32(hash + 4 * i, s->lanes.words[i][lane]);
}

/* After a turn that was not followed by a whole one. */
static void advance_lane(struct schedule *s, size_t lane)
{
	if (s->lanes.blocks[lane] == 0)
		return;
	if (ends_in_turn(s->left[lane])) {
		end_message(s, lane);
		begin_message(s, lane);
		return;
	}
	s->left[lane] -= (size_t)s->lanes.blocks[lane] * MD4_BLOCK;
	begin_part(s, lane);
}

static void advance(struct schedule *s)
{
	size_t lane;

	for (lane = 0; lane < s->width->lanes; lane++) {
		if (s->left[lane] >= 2 * TURN) {
			s->left[lane] -= TURN;
			s->lanes.at[lane] += TURN;
		} else {
			advance_lane(s, lane);
		}
	}
}

/* A turn need not be whole when there is not enough to do. */
static size_t blocks_of_turn(const struct schedule *s)
{
	size_t lane, blocks = 0;

	if (s->busy == s->width->lanes)
		return MD4_TURN;
	for (lane = 0; lane < s->width->lanes; lane++)
		if (s->lanes.blocks[lane] > blocks)
			blocks = s->lanes.blocks[lane];
	return blocks;
}

/* Whether lanes are idle and the others may stop where they are. */
static bool may_leave(const struct schedule *s, size_t leave)
{
	size_t lane, bytes = 0;

	if (leave == 0 || s->busy == s->width->lanes)
		return false;
	for (lane = 0; lane < s->width->lanes; lane++)
		bytes += s->left[lane];
	return bytes <= leave;
}

/* The copy of its end stays where it is. */
static void move_lane(struct schedule *s, size_t from, size_t to)
{
	size_t i;

	for (i = 0; i < 4; i++)
		s->lanes.words[i][to] = s->lanes.words[i][from];
	s->lanes.blocks[to] = s->lanes.blocks[from];
	s->lanes.at[to] = s->lanes.at[from];
	s->message[to] = s->message[from];
	s->left[to] = s->left[from];
}

static void narrow(struct schedule *s)
{
	const size_t lanes = s->width->lanes;
	size_t from, to = 0;

	while (s->width > s->narrowest && s->busy <= s->width[-1].lanes)
		s->width--;
	for (from = s->width->lanes; from < lanes; from++) {
		if (s->lanes.blocks[from] == 0)
			continue;
		while (s->lanes.blocks[to] > 0)
			to++;
		move_lane(s, from, to);
	}
}

static void hash_messages(struct schedule *s, size_t leave)
{
	size_t lane;

	s->next = 0;
	s->busy = s->width->lanes;
	sort_messages(s);
	for (lane = 0; lane < s->width->lanes; lane++)
		begin_message(s, lane);
	while (s->busy > 0 && !may_leave(s, leave)) {
		s->width->turn(&s->lanes, blocks_of_turn(s));
		advance(s);
		narrow(s);
	}
}

static void leave_message(const struct schedule *s, size_t lane,
			  struct kernel_message *m)
{
	const size_t done = m->len - s->left[lane];
	size_t i;

	m->data += done;
	m->len -= done;
	m->done += done;
	for (i = 0; i < 4; i++)
		m->words[i] = s->lanes.words[i][lane];
}

/* Moves what is left of messages to out, and the hashes of the others
 * together. */
static size_t take_left(const struct schedule *s,
			struct kernel_message *messages,
			struct kernel_message *out)
{
	bool is_left[BATCH] = { false };
	size_t lane, i, left = 0;

	if (s->busy == 0)
		return 0;
	for (lane = 0; lane < s->width->lanes; lane++) {
		if (s->lanes.blocks[lane] == 0)
			continue;
		leave_message(s, lane, &messages[s->message[lane]]);
		is_left[s->message[lane]] = true;
	}
	for (i = 0; i < s->count; i++) {
		if (is_left[i])
			out[left++] = messages[i];
		else
			memmove(s->hashes[i - left], s->hashes[i], 16);
	}
	return left;
}

size_t md4_many_lanes(struct kernel_message *messages, size_t count,
		      size_t leave, uint8_t (*hashes_out)[16],
		      const struct md4_width *widths, size_t width_count)
{
	struct kernel_message *first = messages;
	struct schedule s;
	size_t left = 0;

	memset(&s.lanes, 0, sizeof(s.lanes));
	s.narrowest = widths;
	for (; count > 0; count -= s.count) {
		s.messages = messages;
		s.hashes = hashes_out;
		s.count = count < BATCH ? count : BATCH;
		s.width = widths;
		while (s.width->lanes < s.count &&
		       s.width < widths + width_count - 1)
			s.width++;
		hash_messages(&s, s.count < count ? 0 : leave);
		left = take_left(&s, messages, first);
		messages += s.count;
		hashes_out += s.count;
	}
	return left;
}
