/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/speak.h"

#include <errno.h>
#include <string.h>

#define PAIRS_MIN 16

int speak_read(const struct digests *d, struct sise_signature *out)
{
	const char *text = d->text[DIGEST_SISE];

	if (!(d->set & DIGEST_BIT(DIGEST_SISE)) || !text)
		return -ENODATA;
	return sise_parse(text, strlen(text), out);
}

static bool bit_test_and_set(uint64_t *bits, unsigned i)
{
	uint64_t mask = (uint64_t)1 << i % 64;
	bool was = bits[i / 64] & mask;

	bits[i / 64] |= mask;
	return was;
}

/* Whether there are enough pairs and most of them are different. */
static bool is_meaningful(const struct sise_part *part)
{
	uint64_t seen[SISE_PAIR_VALUES / 64] = { 0 };
	size_t i, distinct = 0;

	for (i = 0; i < part->count; i++)
		distinct += !bit_test_and_set(seen, part->pairs[i]);
	return distinct >= PAIRS_MIN && distinct >= part->count / 2;
}

int speaker_init(struct speaker *s, const struct digests *d)
{
	int err = speak_read(d, &s->own);
	size_t i;

	if (err)
		return err;
	for (i = 0; i < 2; i++) {
		s->meaningful[i] = is_meaningful(speak_part(&s->own, i));
		sise_prepare(speak_part(&s->own, i), &s->prepared[i]);
	}
	return 0;
}

static bool same_block_size(const struct sise_part *a,
			    const struct sise_part *b)
{
	return a->block_size == b->block_size && a->mod_value == b->mod_value;
}

int speak_sise(const struct speaker *s, const struct sise_signature *other,
	       int *score_out)
{
	int score, best = -1;
	size_t i;

	for (i = 0; i < 4; i++) {
		const struct sise_part *a = speak_part(&s->own, i / 2);
		const struct sise_part *b = speak_part(other, i % 2);

		if (!same_block_size(a, b) || !s->meaningful[i / 2] ||
		    !is_meaningful(b))
			continue;
		score = sise_score_part(&s->prepared[i / 2], b);
		best = score > best ? score : best;
	}
	if (best < 0)
		return -ENODATA;
	*score_out = best;
	return 0;
}
