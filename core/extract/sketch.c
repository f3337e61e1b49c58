/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract/sketch.h"

#include <stdlib.h>

enum { DEPTH = 4 }; /* of members that are open, with the file */

/* The text so far, and what it was before each member that is open: a member
 * that turns out to be damaged counts for nothing. */
struct extract_sketch {
	unsigned depth;
	uint64_t unread;
	struct sketch_stream streams[DEPTH + 1];
	struct sketch sketch;
};

struct extract_sketch *extract_sketch_new(void)
{
	return malloc(sizeof(struct extract_sketch));
}

void extract_sketch_free(struct extract_sketch *s)
{
	free(s);
}

static struct sketch_stream *stream_of(struct extract_sketch *s)
{
	return &s->streams[s->depth < DEPTH ? s->depth : DEPTH];
}

static void begin_member(struct extract_sketch *s)
{
	const struct sketch_stream *before = stream_of(s);

	s->depth++;
	if (stream_of(s) != before)
		*stream_of(s) = *before;
}

static void end_member(struct extract_sketch *s, bool counts)
{
	const struct sketch_stream *ended = stream_of(s);

	if (!s->depth)
		return;
	s->depth--;
	if (counts && stream_of(s) != ended)
		*stream_of(s) = *ended;
}

void extract_sketch_begin(struct extract_sketch *s)
{
	s->depth = 0;
	s->unread = 0;
	sketch_begin(&s->streams[0], UINT64_MAX);
}

void extract_sketch_add(struct extract_sketch *s,
			const struct extract_piece *piece)
{
	switch (piece->type) {
	case EXTRACT_PIECE_TEXT:
	case EXTRACT_PIECE_BYTES:
		sketch_update(stream_of(s), piece->data, piece->len);
		break;
	case EXTRACT_PIECE_MEMBER:
		begin_member(s);
		break;
	case EXTRACT_PIECE_MEMBER_END:
		end_member(s, piece->result.status == EXTRACT_OK);
		/* fall through */
	case EXTRACT_PIECE_END:
		s->unread += piece->result.unread;
	}
}

const struct sketch *extract_sketch_end(struct extract_sketch *s,
					struct extract_result *result)
{
	uint64_t simhash, distinct;

	result->unread = s->unread;
	/* A plain text is its own. */
	if (result->status != EXTRACT_OK || result->flags & EXTRACT_PLAIN)
		return NULL;
	sketch_final(&s->streams[0], &s->sketch, &simhash);
	distinct = sketch_distinct(&s->sketch);
	if (distinct < EXTRACT_CAPTION_WINDOWS &&
	    distinct < s->unread / EXTRACT_CAPTION_SHARE) {
		result->status = EXTRACT_NO_TEXT;
		result->flags |= EXTRACT_CAPTION;
		return NULL;
	}
	return s->sketch.folded < EXTRACT_TEXT_LEAST ? NULL : &s->sketch;
}

int extract_sketch_read(struct extract_sketch *s, struct extract_client *client,
			int fd, uint32_t owner, const struct sketch **out,
			struct extract_result *result_out)
{
	struct extract_piece piece = { 0 };
	int err = extract_begin(client, fd, owner, &extract_limits_default);

	*out = NULL;
	extract_sketch_begin(s);
	while (!err && piece.type != EXTRACT_PIECE_END) {
		err = extract_next(client, &piece);
		if (!err)
			extract_sketch_add(s, &piece);
	}
	if (err)
		return err;
	*result_out = piece.result;
	*out = extract_sketch_end(s, result_out);
	return 0;
}
