/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_TEXT_TEXT_H
#define CORE_DIGEST_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/text/encoding.h"
#include "core/kernel/blanks/blanks.h"

/*
 * The normalised text of a content, so that two layouts of one text are the
 * same bytes.
 *
 * Whether a content is a text, and in which encoding, is found from its bytes
 * alone (encoding.h).  The normalised text is UTF-8 without the blanks of the
 * text (core/kernel/blanks/blanks.h).  So line ends, the width of lines,
 * indentation, and the separator of the fields of a table make no difference,
 * nor whether there is a space around an operator of a program, or a line break
 * between two Chinese characters.  Letters stay as they are.
 *
 * A content is no text if it has a NUL character, or more than one control in
 * TEXT_CONTROLS bytes of the text, or if it cannot be decoded.  This may turn
 * out late.  What was written until then is void.
 *
 * A stream is begun, updated any number of times and ended.  The result does
 * not depend on how the content is cut into updates.
 */
#define TEXT_CONTROLS 64

/* Gets the normalised text, in parts. */
typedef void text_sink_fn(void *arg, const uint8_t *bytes, size_t len);

enum {
	TEXT_OUT = 65536,    /* bytes of the text that are written at a time */
	TEXT_DECODED = 4096, /* bytes of UTF-8 that are made at a time */
	TEXT_SEAM = 2 * KERNEL_BLANKS_AHEAD,
};

struct text_stream {
	text_sink_fn *sink;
	void *arg;
	const struct kernel_blanks *kernel;
	enum encoding encoding;
	bool decided;    /* encoding is known */
	bool not_a_text; /* that is certain */
	uint64_t size;   /* bytes of the text so far */
	uint64_t read;   /* bytes of UTF-8 it was made from */
	struct kernel_blanks_state state;

	/* Until the encoding is known: the first bytes of the content. */
	size_t head_fill;
	/* Afterwards: the beginning of a character whose end is to come. */
	size_t part_fill;
	uint8_t part[4];
	/* The last bytes of UTF-8.  Those from seam[KERNEL_BLANKS_AHEAD] on are
	 * still to be looked at. */
	size_t pending;
	uint8_t seam[TEXT_SEAM];

	uint8_t head[ENCODING_HEAD];
	uint8_t decoded[TEXT_DECODED];
	size_t out_fill;
	uint8_t out[TEXT_OUT + KERNEL_BLANKS_SPARE];
};

void text_stream_begin(struct text_stream *s, text_sink_fn *sink, void *arg);

void text_stream_update(struct text_stream *s, const void *data, size_t len);

/* Adds zero bytes as if they were data; many take no longer than some. */
void text_stream_update_zeros(struct text_stream *s, uint64_t len);

/* Writes the rest.  Returns whether the content is a text, which is in that
 * case complete and has s->size bytes.  An empty content is none. */
bool text_stream_end(struct text_stream *s);

#endif
