/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sdhash/sdhash.h"

#include <errno.h>
#include <string.h>

#include "core/digest/sdhash/sdhash_impl.h"

/* ---- digests ---- */

/* Of an input whose kind is not known yet, one that gets too long leaves the
 * other. */
static int later(int err, int *err_out)
{
	if (err != -E2BIG)
		return err;
	*err_out = err;
	return 0;
}

static int begin_blocks(struct sdhash_input *in)
{
	int err = sdhash_set_name(&in->block_digest, in->path);

	if (!err)
		err = sdhash_begin(&in->blocks, SDHASH_4_0,
				   SDHASH_DEFAULT_BLOCK, &in->block_digest);
	sdhash_limit(&in->blocks, in->max_text);
	in->filled = 0;
	return err;
}

static int begin_stream(struct sdhash_input *in)
{
	int err = sdhash_set_name(&in->stream_digest, in->path);

	if (!err)
		err = sdhash_begin(&in->stream, SDHASH_4_0, 0,
				   &in->stream_digest);
	sdhash_limit(&in->stream, in->max_text);
	return err;
}

static int emit(struct sdhash_input *in, struct sdhash_digest *d)
{
	int err = in->emit(in->context, d);

	sdhash_digest_release(d);
	return err;
}

/* The name is known only now: that of a single segment is plain. */
static int end_segment(struct sdhash_input *in, bool single)
{
	struct sdhash_digest *d = &in->block_digest;
	int err = in->blocks_err;

	if (!err && !single)
		err = sdhash_segment_name("", SDHASH_UNKNOWN, in->segment,
					  &d->name);
	if (!err)
		err = sdhash_final(&in->blocks);
	return err ? err : emit(in, d);
}

/* ---- bytes ---- */

static int take_stream(struct sdhash_input *in, const uint8_t *data, size_t len)
{
	if (in->size >= SDHASH_BLOCKS_FROM) {
		in->in_stream = false;
		sdhash_digest_release(&in->stream_digest);
		return in->in_blocks ? 0 : -ESTALE;
	}
	if (in->stream_err)
		return 0;
	return later(sdhash_update(&in->stream, data, len), &in->stream_err);
}

static int fill_segment(struct sdhash_input *in, const uint8_t *data,
			size_t len)
{
	in->filled += len;
	if (in->blocks_err)
		return 0;
	return later(sdhash_update(&in->blocks, data, len), &in->blocks_err);
}

/* More than a tail follows the full segment. */
static int next_segment(struct sdhash_input *in)
{
	int err = end_segment(in, false);

	if (!err)
		err = begin_blocks(in);
	if (!err)
		err = fill_segment(in, in->hold, in->held);
	in->segment++;
	in->held = 0;
	return err;
}

static int take_blocks(struct sdhash_input *in, const uint8_t *data, size_t len)
{
	uint64_t room;
	size_t part;
	int err = 0;

	for (; len > 0 && !err; data += part, len -= part) {
		room = SDHASH_SEGMENT - in->filled;
		part = room < len ? (size_t)room : len;
		if (part > 0) {
			err = fill_segment(in, data, part);
		} else if (in->held < sizeof(in->hold)) {
			part = sizeof(in->hold) - in->held;
			part = part < len ? part : len;
			memcpy(in->hold + in->held, data, part);
			in->held += part;
		} else {
			err = next_segment(in);
		}
	}
	return err;
}

/* ---- the interface ---- */

/* Whether the line of the first segment will be. */
static bool is_too_long(const struct sdhash_input *in)
{
	struct sdhash_digest d = in->block_digest;

	d.size = sdhash_segment(in->expected, 0).size;
	d.block_size = SDHASH_DEFAULT_BLOCK;
	d.count = d.size / SDHASH_DEFAULT_BLOCK;
	return sdhash_text_length(&d) > in->max_text;
}

int sdhash_input_begin(struct sdhash_input *in, const char *path, uint64_t size,
		       size_t max_text, sdhash_emit_fn *emit_fn, void *context)
{
	int err = 0;

	in->path = path;
	in->emit = emit_fn;
	in->context = context;
	in->max_text = max_text;
	in->expected = size;
	in->size = 0;
	in->segment = 0;
	in->held = 0;
	in->in_blocks = size == SDHASH_UNKNOWN || sdhash_default_block(size);
	in->in_stream = size == SDHASH_UNKNOWN || !sdhash_default_block(size);
	in->stream_err = 0;
	in->blocks_err = 0;
	in->stream_digest = (struct sdhash_digest){ 0 };
	in->block_digest = (struct sdhash_digest){ 0 };
	if (in->in_blocks)
		err = begin_blocks(in);
	if (!err && in->in_stream)
		err = begin_stream(in);
	if (!err && !in->in_stream && is_too_long(in))
		err = -E2BIG;
	return err;
}

int sdhash_input_update(struct sdhash_input *in, const void *data, size_t len)
{
	int err = 0;

	in->size += len;
	if (in->in_stream)
		err = take_stream(in, data, len);
	if (!err && in->in_blocks)
		err = take_blocks(in, data, len);
	/* A line that is too long now can only get longer. */
	if (!err && !in->in_stream)
		err = in->blocks_err;
	if (!err && !in->in_blocks)
		err = in->stream_err;
	return err;
}

static int end_stream(struct sdhash_input *in)
{
	int err = in->stream_err;

	if (!err)
		err = sdhash_final(&in->stream);
	return err ? err : emit(in, &in->stream_digest);
}

int sdhash_input_final(struct sdhash_input *in)
{
	int err = 0;

	if (in->in_stream)
		return end_stream(in);
	if (in->size < SDHASH_BLOCKS_FROM)
		return -ESTALE;
	if (in->held > 0)
		err = fill_segment(in, in->hold, in->held);
	/* See struct sdhash_segment. */
	if (!err && !in->blocks_err && in->segment > 0)
		err = sdhash_pad(&in->blocks, in->held);
	return err ? err : end_segment(in, in->segment == 0);
}

void sdhash_input_release(struct sdhash_input *in)
{
	sdhash_digest_release(&in->stream_digest);
	sdhash_digest_release(&in->block_digest);
}
