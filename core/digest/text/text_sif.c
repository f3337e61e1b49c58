/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/text/text_sif.h"

#include <errno.h>

size_t text_sif_values(uint64_t text_size)
{
	return sif_values(text_size) / 2;
}

/* No encoding more than doubles: a character of ISO
 * 8859-1 takes up to two bytes, two bytes of UTF-16 up to three. */
static uint64_t most_text(uint64_t size)
{
	return size < UINT64_MAX / 2 ? 2 * size : UINT64_MAX;
}

int text_sif_init(struct text_sif *t)
{
	int err = sif_init(&t->sif, SIF_WINDOW, SIF_MAX_VALUES);

	if (!err)
		text_sif_begin(t, UINT64_MAX);
	return err;
}

static void add_text(void *arg, const uint8_t *bytes, size_t len)
{
	struct text_sif *t = arg;

	sif_update(&t->sif, bytes, len);
}

void text_sif_begin(struct text_sif *t, uint64_t size)
{
	sif_begin(&t->sif, text_sif_values(most_text(size)));
	text_stream_begin(&t->stream, add_text, t);
}

void text_sif_update(struct text_sif *t, const void *data, size_t len)
{
	text_stream_update(&t->stream, data, len);
}

void text_sif_update_zeros(struct text_sif *t, uint64_t len)
{
	text_stream_update_zeros(&t->stream, len);
}

int text_sif_final(struct text_sif *t, struct sif_sketch *out)
{
	if (!text_stream_end(&t->stream) || t->stream.size < SIF_WINDOW)
		return -ENODATA;
	sif_final(&t->sif, out);
	sif_cut(out, text_sif_values(t->stream.size));
	sif_round_values(out);
	/* Nothing asks where in the text a window is. */
	out->is_placed = false;
	return out->count ? 0 : -ENODATA;
}
