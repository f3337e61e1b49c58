/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/kernel/md4_impl.h"

/*
 * Which message is in which lane.  A lane takes the whole blocks of a message
 * where they are, then its tail: what is left, padded.  Then it takes the next
 * message; when there is none it is idle and works on the same block over and
 * over.
 */
#define BLOCK 64

const uint32_t md4_start[4] = { 0x67452301, 0xefcdab89, 0x98badcfe,
				0x10325476 };

static const uint8_t idle_block[BLOCK];

struct schedule {
	const struct kernel_message *messages;
	size_t count;
	size_t next; /* the first that no lane has had */
	size_t busy; /* lanes with a message */
	uint8_t (*hashes)[16];
	struct md4_lanes lanes;
	size_t message[MD4_MAX_LANES];
	size_t blocks[MD4_MAX_LANES]; /* left of the body or of the tail */
	bool in_tail[MD4_MAX_LANES];
	uint8_t tails[MD4_MAX_LANES][2 * BLOCK];
};

static void begin_tail(struct schedule *s, size_t lane)
{
	const struct kernel_message *m = &s->messages[s->message[lane]];
	size_t rest = m->len % BLOCK,
	       end = rest < BLOCK - 8 ? BLOCK : 2 * BLOCK;
	uint8_t *tail = s->tails[lane];

	memset(tail, 0, end);
	if (rest)
		memcpy(tail, m->data + (m->len - rest), rest);
	tail[rest] = 0x80;
	store_le64(tail + end - 8, (uint64_t)m->len * 8);
	s->lanes.at[lane] = tail;
	s->blocks[lane] = end / BLOCK;
	s->in_tail[lane] = true;
}

static void begin_message(struct schedule *s, size_t lane)
{
	size_t i;

	if (s->next == s->count) {
		s->lanes.at[lane] = idle_block;
		s->lanes.step[lane] = 0;
		s->blocks[lane] = SIZE_MAX;
		s->busy--;
		return;
	}
	for (i = 0; i < 4; i++)
		s->lanes.words[i][lane] = md4_start[i];
	s->message[lane] = s->next++;
	s->lanes.at[lane] = s->messages[s->message[lane]].data;
	s->lanes.step[lane] = BLOCK;
	s->blocks[lane] = s->messages[s->message[lane]].len / BLOCK;
	s->in_tail[lane] = false;
	if (s->blocks[lane] == 0)
		begin_tail(s, lane);
}

static void end_message(struct schedule *s, size_t lane)
{
	uint8_t *hash = s->hashes[s->message[lane]];
	size_t i;

	for (i = 0; i < 4; i++)
		store_le32(hash + 4 * i, s->lanes.words[i][lane]);
}

static void advance(struct schedule *s, size_t lane, size_t blocks)
{
	s->lanes.at[lane] += s->lanes.step[lane] * blocks;
	s->blocks[lane] -= blocks;
	if (s->blocks[lane] > 0)
		return;
	if (s->in_tail[lane]) {
		end_message(s, lane);
		begin_message(s, lane);
	} else {
		begin_tail(s, lane);
	}
}

void md4_many_lanes(const struct kernel_message *messages, size_t count,
		    uint8_t (*hashes_out)[16], size_t lane_count,
		    md4_run_fn *run)
{
	struct schedule s;
	size_t lane, blocks;

	s.messages = messages;
	s.count = count;
	s.next = 0;
	s.busy = lane_count;
	s.hashes = hashes_out;
	memset(&s.lanes, 0, sizeof(s.lanes));
	for (lane = 0; lane < lane_count; lane++)
		begin_message(&s, lane);
	while (s.busy > 0) {
		blocks = SIZE_MAX;
		for (lane = 0; lane < lane_count; lane++)
			if (s.blocks[lane] < blocks)
				blocks = s.blocks[lane];
		run(&s.lanes, blocks);
		for (lane = 0; lane < lane_count; lane++)
			if (s.lanes.step[lane])
				advance(&s, lane, blocks);
	}
}
