/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/bytes.h"
#include "core/kernel/md4_impl.h"

/*
 * Which message is in which lane.  A lane takes the turns that are whole from
 * the message itself, then its end from a copy, padded.  Then it takes the
 * next message; when there is none it is idle.
 */
#define TURN ((size_t)MD4_TURN * MD4_BLOCK)

/* Messages whose order is changed. */
#define BATCH 128

const uint32_t md4_start[4] = { 0x67452301, 0xefcdab89, 0x98badcfe,
				0x10325476 };

static const uint8_t idle_turn[TURN];

struct schedule {
	const struct kernel_message *messages;
	size_t count, next, busy;
	uint8_t (*hashes)[16];
	uint8_t order[BATCH];
	struct md4_lanes lanes;
	size_t message[MD4_MAX_LANES];
	size_t turns[MD4_MAX_LANES]; /* left of the message itself */
	size_t rest[MD4_MAX_LANES];  /* blocks left of its end */
	uint8_t ends[MD4_MAX_LANES][2 * TURN];
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

static void sort_messages(struct schedule *s, size_t lane_count)
{
	uint8_t starts[257] = { 0 };
	size_t i;

	if (s->count <= lane_count) {
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

/* What is left of the message, the bit that ends it and its length; a turn or
 * two. */
static void begin_end(struct schedule *s, size_t lane)
{
	const struct kernel_message *m = &s->messages[s->message[lane]];
	size_t len = m->len % TURN, blocks = (len + 8) / MD4_BLOCK + 1;
	uint8_t *end = s->ends[lane];

	if (len)
		memcpy(end, m->data + (m->len - len), len);
	/* Blocks of a turn that do not count are read, too. */
	memset(end + len, 0, (blocks > MD4_TURN ? 2 * TURN : TURN) - len);
	end[len] = 0x80;
	store_le64(end + blocks * MD4_BLOCK - 8, (uint64_t)m->len * 8);
	s->lanes.at[lane] = end;
	s->lanes.blocks[lane] = blocks < MD4_TURN ? (uint32_t)blocks : MD4_TURN;
	s->rest[lane] = blocks;
}

static void begin_message(struct schedule *s, size_t lane)
{
	const struct kernel_message *m;
	size_t i;

	if (s->next == s->count) {
		s->lanes.at[lane] = idle_turn;
		s->lanes.blocks[lane] = 0;
		s->rest[lane] = 0;
		s->busy--;
		return;
	}
	s->message[lane] = s->order[s->next++];
	m = &s->messages[s->message[lane]];
	for (i = 0; i < 4; i++)
		s->lanes.words[i][lane] = md4_start[i];
	s->lanes.at[lane] = m->data;
	s->lanes.blocks[lane] = MD4_TURN;
	s->turns[lane] = m->len / TURN;
	if (s->turns[lane] == 0)
		begin_end(s, lane);
}

static void end_message(struct schedule *s, size_t lane)
{
	uint8_t *hash = s->hashes[s->message[lane]];
	size_t i;

	for (i = 0; i < 4; i++)
		store_le32(hash + 4 * i, s->lanes.words[i][lane]);
}

/* When no turn of the message itself is left. */
static void advance_end(struct schedule *s, size_t lane)
{
	if (s->rest[lane] > MD4_TURN) {
		s->rest[lane] -= MD4_TURN;
		s->lanes.at[lane] += TURN;
		s->lanes.blocks[lane] = (uint32_t)s->rest[lane];
	} else if (s->rest[lane] > 0) {
		end_message(s, lane);
		begin_message(s, lane);
	}
}

static void advance(struct schedule *s, size_t lane_count)
{
	size_t lane;

	for (lane = 0; lane < lane_count; lane++) {
		if (s->turns[lane] > 1) {
			s->turns[lane]--;
			s->lanes.at[lane] += TURN;
		} else if (s->turns[lane] == 1) {
			s->turns[lane] = 0;
			begin_end(s, lane);
		} else {
			advance_end(s, lane);
		}
	}
}

/* A turn need not be whole when there is not enough to do. */
static size_t blocks_of_turn(const struct schedule *s, size_t lane_count)
{
	size_t lane, blocks = 0;

	if (s->busy == lane_count)
		return MD4_TURN;
	for (lane = 0; lane < lane_count; lane++)
		if (s->lanes.blocks[lane] > blocks)
			blocks = s->lanes.blocks[lane];
	return blocks;
}

void md4_many_lanes(const struct kernel_message *messages, size_t count,
		    uint8_t (*hashes_out)[16], size_t lane_count,
		    md4_turn_fn *turn)
{
	struct schedule s;
	size_t lane;

	memset(&s.lanes, 0, sizeof(s.lanes));
	memset(s.turns, 0, sizeof(s.turns));
	for (; count > 0; count -= s.count) {
		s.messages = messages;
		s.hashes = hashes_out;
		s.count = count < BATCH ? count : BATCH;
		s.next = 0;
		s.busy = lane_count;
		sort_messages(&s, lane_count);
		for (lane = 0; lane < lane_count; lane++)
			begin_message(&s, lane);
		while (s.busy > 0) {
			turn(&s.lanes, blocks_of_turn(&s, lane_count));
			advance(&s, lane_count);
		}
		messages += s.count;
		hashes_out += s.count;
	}
}
