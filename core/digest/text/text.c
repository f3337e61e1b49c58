/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/text/text.h"

#include <string.h>

#include "core/base/utf8.h"
#include "core/kernel/kernel.h"

#define AHEAD KERNEL_BLANKS_AHEAD

void text_stream_begin(struct text_stream *s, text_sink_fn *sink, void *arg)
{
	s->sink = sink;
	s->arg = arg;
	s->kernel = kernel_best()->blanks;
	s->encoding = ENCODING_NONE;
	s->decided = false;
	s->not_a_text = false;
	s->size = 0;
	s->read = 0;
	s->state = (struct kernel_blanks_state){ 0 };
	s->head_fill = 0;
	s->part_fill = 0;
	s->pending = 0;
	memset(s->seam, 0, sizeof(s->seam));
	s->out_fill = 0;
}

/* ---- UTF-8 ---- */

static void flush(struct text_stream *s)
{
	if (s->out_fill)
		s->sink(s->arg, s->out, s->out_fill);
	s->size += s->out_fill;
	s->out_fill = 0;
}

/* Writes the bytes, around which others are known, but the blanks. */
static void write_kept(struct text_stream *s, const uint8_t *bytes,
		       size_t count)
{
	size_t part;

	s->read += count;
	while (count) {
		part = TEXT_OUT - s->out_fill;
		part = part < count ? part : count;
		s->out_fill += s->kernel->drop(bytes, part, &s->state,
					       s->out + s->out_fill);
		if (s->out_fill == TEXT_OUT)
			flush(s);
		bytes += part;
		count -= part;
	}
	s->not_a_text |= s->state.has_nul;
}

/* Writes the bytes behind which others are known, and keeps the last ones. */
static void add_seam(struct text_stream *s, const uint8_t *bytes, size_t len)
{
	uint8_t seam[2 * TEXT_SEAM];
	size_t fill = AHEAD + s->pending, ready;

	memcpy(seam, s->seam, fill);
	memcpy(seam + fill, bytes, len);
	fill += len;
	ready = fill > TEXT_SEAM ? fill - TEXT_SEAM : 0;
	write_kept(s, seam + AHEAD, ready);
	s->pending = fill - AHEAD - ready;
	memcpy(s->seam, seam + ready, fill - ready);
}

static void add_utf8(struct text_stream *s, const uint8_t *bytes, size_t len)
{
	if (len <= TEXT_SEAM) {
		add_seam(s, bytes, len);
		return;
	}
	add_seam(s, bytes, TEXT_SEAM);
	/* The last AHEAD of these are pending. */
	write_kept(s, bytes + AHEAD, len - TEXT_SEAM);
	memcpy(s->seam, bytes + len - TEXT_SEAM, TEXT_SEAM);
	s->pending = AHEAD;
}

/* ---- other encodings ---- */

static size_t decode(struct text_stream *s, const uint8_t *bytes, size_t len)
{
	struct encoding_progress progress;

	encoding_decode(s->encoding, bytes, len, s->decoded, sizeof(s->decoded),
			&progress);
	s->not_a_text |= progress.is_bad;
	add_utf8(s, s->decoded, progress.written);
	return progress.used;
}

/* Completes the character whose beginning is in s->part; returns how many
 * bytes that took. */
static size_t decode_part(struct text_stream *s, const uint8_t *bytes,
			  size_t len)
{
	size_t used = 0;

	while (s->part_fill && used < len && !s->not_a_text) {
		s->part[s->part_fill++] = bytes[used++];
		if (decode(s, s->part, s->part_fill))
			s->part_fill = 0;
	}
	return used;
}

static void add_encoded(struct text_stream *s, const uint8_t *bytes, size_t len)
{
	size_t used = decode_part(s, bytes, len), step = 1;

	for (; step && !s->not_a_text; used += step)
		step = decode(s, bytes + used, len - used);
	if (used < len && !s->not_a_text) {
		s->part_fill = len - used;
		memcpy(s->part, bytes + used, s->part_fill);
	}
}

/* ---- the first byte that is not of ASCII ---- */

static size_t ascii_length(const uint8_t *bytes, size_t len)
{
	const uint64_t high = UINT64_C(0x8080808080808080);
	uint64_t words[8];
	size_t i = 0;

	for (; i + sizeof(words) <= len; i += sizeof(words)) {
		memcpy(words, bytes + i, sizeof(words));
		if ((words[0] | words[1] | words[2] | words[3] | words[4] |
		     words[5] | words[6] | words[7]) &
		    high)
			break;
	}
	while (i < len && bytes[i] < 0x80)
		i++;
	return i;
}

static void add_decided(struct text_stream *s, const uint8_t *bytes, size_t len)
{
	if (s->encoding == ENCODING_UTF8)
		add_utf8(s, bytes, len);
	else
		add_encoded(s, bytes, len);
}

/* The bytes so far are in s->part; complete: no more will come. */
static void decide_eight_bits(struct text_stream *s, bool complete)
{
	int len = utf8_check(s->part, s->part_fill);
	uint8_t part[sizeof(s->part)];
	size_t fill = s->part_fill;

	if (len < 0 && !complete)
		return;
	s->encoding = len > 0 ? ENCODING_UTF8 : ENCODING_LATIN1;
	memcpy(part, s->part, fill);
	s->part_fill = 0;
	add_decided(s, part, fill);
}

static void add_ascii(struct text_stream *s, const uint8_t *bytes, size_t len)
{
	size_t used = 0;

	if (!s->part_fill) {
		used = ascii_length(bytes, len);
		add_utf8(s, bytes, used);
	}
	while (used < len && s->encoding == ENCODING_ASCII) {
		s->part[s->part_fill++] = bytes[used++];
		decide_eight_bits(s, false);
	}
	if (used < len)
		add_decided(s, bytes + used, len - used);
}

/* ---- the content ---- */

static void add(struct text_stream *s, const uint8_t *bytes, size_t len)
{
	if (s->not_a_text || !len)
		return;
	if (s->encoding == ENCODING_ASCII)
		add_ascii(s, bytes, len);
	else
		add_decided(s, bytes, len);
}

static void decide(struct text_stream *s, const uint8_t *head, size_t len)
{
	s->encoding = encoding_detect(head, len);
	s->decided = true;
	s->not_a_text = s->encoding == ENCODING_NONE;
}

void text_stream_update(struct text_stream *s, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	size_t part = sizeof(s->head) - s->head_fill;

	if (s->not_a_text || !len)
		return;
	if (s->decided) {
		add(s, bytes, len);
		return;
	}
	if (!s->head_fill && len >= sizeof(s->head)) {
		decide(s, bytes, sizeof(s->head));
		add(s, bytes, len);
		return;
	}
	part = part < len ? part : len;
	memcpy(s->head + s->head_fill, bytes, part);
	s->head_fill += part;
	if (s->head_fill < sizeof(s->head))
		return;
	decide(s, s->head, s->head_fill);
	add(s, s->head, s->head_fill);
	add(s, bytes + part, len - part);
}

void text_stream_update_zeros(struct text_stream *s, uint64_t len)
{
	static const uint8_t zeros[ENCODING_HEAD + 2 * ENCODING_CHARACTER];

	/* After so many, the content is no text. */
	text_stream_update(s, zeros,
			   len < sizeof(zeros) ? (size_t)len : sizeof(zeros));
}

bool text_stream_end(struct text_stream *s)
{
	static const uint8_t nothing[AHEAD];

	if (!s->decided && s->head_fill) {
		decide(s, s->head, s->head_fill);
		add(s, s->head, s->head_fill);
	}
	if (s->encoding == ENCODING_ASCII && s->part_fill)
		decide_eight_bits(s, true);
	if (s->not_a_text)
		return false;
	/* Bytes behind the end are neither written nor counted. */
	add_seam(s, nothing, sizeof(nothing));
	flush(s);
	return !s->not_a_text && s->size &&
	       s->state.controls * TEXT_CONTROLS <= s->read;
}
