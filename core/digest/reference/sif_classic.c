/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/reference/sif_classic.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/digest.h"

#define MODULUS_BITS 30
#define MODULUS_MASK ((UINT32_C(1) << MODULUS_BITS) - 1)
#define MIN_CAPACITY 256

/* All is computed modulo 2^32, which 2^30 divides. */

int sif_classic_init(struct sif_classic *s, uint32_t base, unsigned zero_bits)
{
	uint32_t power = 1;
	unsigned i;

	if (base == 0 || zero_bits > MODULUS_BITS)
		return -EINVAL;
	*s = (struct sif_classic){ .base = base };
	s->mask = (UINT32_C(1) << zero_bits) - 1;
	for (i = 0; i < SIF_CLASSIC_WINDOW; i++)
		power *= base;
	for (i = 0; i < 256; i++)
		s->leave[i] = i * power;
	return 0;
}

void sif_classic_release(void *state)
{
	struct sif_classic *s = state;

	free(s->values);
	*s = (struct sif_classic){ 0 };
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void make_set(struct sif_classic *s)
{
	size_t i, kept = 0;

	if (s->count == 0)
		return;
	qsort(s->values, s->count, sizeof(s->values[0]), by_value);
	for (i = 0; i < s->count; i++)
		if (i == 0 || s->values[i] != s->values[kept - 1])
			s->values[kept++] = s->values[i];
	s->count = kept;
}

/* Room for one more.  Repeats are thrown out first; they are looked for no
 * sooner than half of the room has been filled anew. */
static int reserve(struct sif_classic *s)
{
	size_t capacity = s->capacity ? 2 * s->capacity : MIN_CAPACITY;
	uint32_t *values;

	if (s->count < s->capacity)
		return 0;
	make_set(s);
	if (s->capacity && s->count <= s->capacity / 2)
		return 0;
	if (capacity > SIZE_MAX / sizeof(*values))
		return -ENOMEM;
	values = realloc(s->values, capacity * sizeof(*values));
	if (!values)
		return -ENOMEM;
	s->values = values;
	s->capacity = capacity;
	return 0;
}

static int take_window(struct sif_classic *s)
{
	uint32_t value = s->hash & MODULUS_MASK;
	int err;

	if (value & s->mask)
		return 0;
	/* Stretches of zeros have nothing but repeats. */
	if (s->count > 0 && s->values[s->count - 1] == value)
		return 0;
	err = reserve(s);
	if (!err)
		s->values[s->count++] = value;
	return err;
}

int sif_classic_update(void *state, const void *data, size_t len)
{
	struct sif_classic *s = state;
	const uint8_t *bytes = data;
	uint8_t *slot;
	size_t i;
	int err;

	for (i = 0; i < len; i++) {
		slot = &s->last[s->fill % SIF_CLASSIC_WINDOW];
		s->hash = s->hash * s->base + bytes[i];
		if (s->fill >= SIF_CLASSIC_WINDOW)
			s->hash -= s->leave[*slot];
		*slot = bytes[i];
		/* From the second round on the window is full. */
		if (++s->fill == 2 * SIF_CLASSIC_WINDOW)
			s->fill = SIF_CLASSIC_WINDOW;
		if (s->fill < SIF_CLASSIC_WINDOW)
			continue;
		err = take_window(s);
		if (err)
			return err;
	}
	return 0;
}

const uint32_t *sif_classic_values(struct sif_classic *s, size_t *count_out)
{
	make_set(s);
	*count_out = s->count;
	return s->values;
}

/* ---- the row ---- */

static int begin(void *state, const struct digest_stream *stream)
{
	(void)stream;
	sif_classic_release(state);
	return sif_classic_init(state, SIF_CLASSIC_BASE, SIF_CLASSIC_ZERO_BITS);
}

static int final(void *state, struct buf *out)
{
	size_t i, count;
	const uint32_t *values = sif_classic_values(state, &count);
	int err = count ? 0 : buf_append_text(out, "-");

	for (i = 0; i < count && !err; i++)
		err = buf_append_format(out, "%s%08" PRIx32, i ? "," : "",
					values[i]);
	return err;
}

static const struct digest_part part = {
	.size = sizeof(struct sif_classic),
	.begin = begin,
	.update = sif_classic_update,
	.release = sif_classic_release,
};

const struct digest_ops digest_sif_classic = {
	.id = DIGEST_SIF_CLASSIC,
	.part = &part,
	.final = final,
	.format = digest_format_bytes,
};
