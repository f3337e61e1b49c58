/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sdhash/sdhash.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"

#define HASHES 5 /* words of a SHA-1 */
#define FILTER_MASK 0x7ff
#define SIDE_MASK 0x1ffff
#define SIDE_FEATURES 8738 /* of a full side filter */
#define STREAM_CHUNK (UINT32_C(32) << 20)
#define STREAM_ABOVE 16 /* scores that make a feature */
#define BLOCK_FROM 16
#define MAX_SCORE (SDHASH_WINDOW + 1)
#define MIN_LAST 20 /* features that a last filter of several needs */
/* What a step of the window looks at: ranks up to a window ahead, and the
 * bytes of the last of these windows. */
#define LOOK_AHEAD (2 * SDHASH_WINDOW)

/* ---- digests ---- */

void sdhash_digest_release(struct sdhash_digest *d)
{
	free(d->filters);
	buf_release(&d->name);
	*d = (struct sdhash_digest){ 0 };
}

int sdhash_add_filters(struct sdhash_digest *d, size_t count)
{
	size_t need, capacity = d->capacity + d->capacity / 2;
	struct sdhash_filter *filters;

	if (count > SIZE_MAX / sizeof(*filters) / 4 - d->count)
		return -ENOMEM;
	need = d->count + count;
	if (need > d->capacity) {
		capacity = capacity < need ? need : capacity;
		filters = realloc(d->filters, capacity * sizeof(*filters));
		if (!filters)
			return -ENOMEM;
		d->filters = filters;
		d->capacity = capacity;
	}
	memset(&d->filters[d->count], 0, count * sizeof(*filters));
	d->count = need;
	return 0;
}

/* ---- features ---- */

/* Whether that changed the filter. */
static bool set_bits(uint8_t *filter, uint32_t mask,
		     const uint32_t words[HASHES])
{
	unsigned set, added = 0;
	uint8_t *byte;
	size_t i;

	for (i = 0; i < HASHES; i++) {
		byte = &filter[(words[i] & mask) >> 3];
		set = 1u << (words[i] & 7);
		added |= set & ~(unsigned)*byte;
		*byte = (uint8_t)(*byte | set);
	}
	return added != 0;
}

static struct sdhash_filter *last_filter(const struct sdhash *s)
{
	return &s->digest->filters[s->digest->count - 1];
}

/* The text is as long as it says, or gets longer: what may still be lost of a
 * stream is the filter that comes now. */
static int check_text(struct sdhash *s)
{
	struct sdhash_digest *d = s->digest;

	d->size = s->size;
	if (d->count == 0 || sdhash_text_length(d) <= s->max_text)
		return 0;
	return -E2BIG;
}

static int begin_filter(struct sdhash *s)
{
	int err = check_text(s);

	return err ? err : sdhash_add_filters(s->digest, 1);
}

/* For hash_feature(): to ask for the algorithm again would take longer than a
 * hash does.  NULL: no memory. */
static EVP_MD_CTX *sha1_new(void)
{
	EVP_MD_CTX *sha1 = EVP_MD_CTX_new();

	if (sha1 && EVP_DigestInit_ex(sha1, EVP_sha1(), NULL))
		return sha1;
	EVP_MD_CTX_free(sha1);
	return NULL;
}

/* The SHA-1 of a window, as little-endian words.  -ENOMEM. */
static int hash_feature(EVP_MD_CTX *sha1, const uint8_t *window,
			uint32_t words_out[HASHES])
{
	uint8_t hash[EVP_MAX_MD_SIZE];
	size_t k;

	if (!sha1 || !EVP_DigestInit_ex(sha1, NULL, NULL) ||
	    !EVP_DigestUpdate(sha1, window, SDHASH_WINDOW) ||
	    !EVP_DigestFinal_ex(sha1, hash, NULL))
		return -ENOMEM;
	for (k = 0; k < HASHES; k++)
		words_out[k] = load_le32(hash + 4 * k);
	return 0;
}

/* Writes the places 0 .. count - 1 that have a score of least or more; returns
 * their number. */
static size_t pick(struct sdhash *s, size_t count, uint8_t least)
{
	size_t i, found = 0;

	for (i = 0; i < count; i++)
		if (s->scores[i] >= least)
			s->places[found++] = (uint16_t)i;
	return found;
}

/* ---- stream digests ---- */

/* Whether the side filter did not know the feature. */
static bool is_new(struct sdhash *s, const uint32_t words[HASHES])
{
	if (!set_bits(s->side, SIDE_MASK, words))
		return false;
	if (++s->side_count == SIDE_FEATURES) {
		memset(s->side, 0, sizeof(s->side));
		s->side_count = 0;
	}
	return true;
}

static int add_stream_feature(struct sdhash *s, const uint32_t words[HASHES])
{
	struct sdhash_filter *filter = last_filter(s);

	if (!set_bits(filter->bits, FILTER_MASK, words) || !is_new(s, words))
		return 0;
	if (++filter->count == SDHASH_STREAM_FEATURES)
		return begin_filter(s);
	return 0;
}

static int take_stream_features(struct sdhash *s, size_t count)
{
	EVP_MD_CTX *sha1 = sha1_new();
	uint32_t words[HASHES];
	size_t i;
	int err = 0;

	count = pick(s, count, STREAM_ABOVE + 1);
	for (i = 0; i < count && !err; i++) {
		err = hash_feature(sha1, s->data + s->places[i], words);
		if (!err)
			err = add_stream_feature(s, words);
	}
	EVP_MD_CTX_free(sha1);
	return err;
}

/* ---- block digests ---- */

/* Features of score are taken as long as some are allowed, higher ones in any
 * case. */
struct choice {
	unsigned score;
	unsigned allowed;
};

static bool is_chosen(const struct choice *c, unsigned score)
{
	return score > c->score || (score == c->score && c->allowed > 0);
}

/*
 * A full block gives its most popular features: all above a score, and the
 * first of that score until the filter is full.  Where the filter can not be
 * filled, the program takes those one below its own minimum as well.
 */
static struct choice choose_score(const struct sdhash *s, size_t count)
{
	struct choice c = { MAX_SCORE, SDHASH_BLOCK_FEATURES };
	unsigned histogram[MAX_SCORE + 1] = { 0 };
	size_t i;

	for (i = 0; i < count; i++)
		histogram[s->scores[s->places[i]]]++;
	while (c.score >= BLOCK_FROM && histogram[c.score] <= c.allowed)
		c.allowed -= histogram[c.score--];
	return c;
}

static int take_block_features(struct sdhash *s, size_t count, bool full)
{
	struct choice c = { BLOCK_FROM, SDHASH_BLOCK_FEATURES };
	int err = begin_filter(s);
	struct sdhash_filter *filter;
	uint32_t words[HASHES];
	EVP_MD_CTX *sha1;
	unsigned score;
	size_t i;

	if (err)
		return err;
	filter = last_filter(s);
	sha1 = sha1_new();
	count = pick(s, count, BLOCK_FROM - 1);
	if (full)
		c = choose_score(s, count);
	for (i = 0; i < count && !err && filter->count < SDHASH_BLOCK_FEATURES;
	     i++) {
		score = s->scores[s->places[i]];
		if (!is_chosen(&c, score))
			continue;
		err = hash_feature(sha1, s->data + s->places[i], words);
		if (err || !set_bits(filter->bits, FILTER_MASK, words))
			continue;
		filter->count++;
		c.allowed -= score == c.score;
	}
	EVP_MD_CTX_free(sha1);
	return err;
}

/* ---- chunks ---- */

static void begin_chunk(struct sdhash *s)
{
	s->chunk_left = s->digest->block_size;
	if (s->chunk_left == 0)
		s->chunk_left = STREAM_CHUNK;
	s->fill = 0;
	s->ranked = 0;
	s->lowest = (struct sdhash_lowest){ 0 };
	s->side_count = 0;
	memset(s->scores, 0, sizeof(s->scores));
}

/* Ranks of all windows that another byte follows, and scores of the first
 * steps places. */
static void rank_and_score(struct sdhash *s, size_t steps)
{
	size_t windows = s->fill - SDHASH_WINDOW;

	sdhash_rank(s->data + s->ranked, windows - s->ranked,
		    s->ranks + s->ranked);
	s->ranked = windows;
	memset(s->ranks + windows, 0, SDHASH_WINDOW * sizeof(s->ranks[0]));
	sdhash_score_places(&s->lowest, s->ranks, steps, s->scores);
}

/* Of a stream, when data is full; what can not be finished is kept. */
static int take_middle(struct sdhash *s)
{
	size_t steps = s->fill - LOOK_AHEAD;
	int err;

	rank_and_score(s, steps);
	err = take_stream_features(s, steps);
	if (err)
		return err;
	s->fill -= steps;
	s->ranked -= steps;
	memmove(s->data, s->data + steps, s->fill);
	memmove(s->ranks, s->ranks + steps, s->ranked * sizeof(s->ranks[0]));
	memmove(s->scores, s->scores + steps, s->fill);
	memset(s->scores + s->fill, 0, sizeof(s->scores) - s->fill);
	return 0;
}

static int end_chunk(struct sdhash *s)
{
	size_t steps = 0;
	int err;

	if (s->fill > SDHASH_WINDOW) {
		steps = s->fill - SDHASH_WINDOW;
		rank_and_score(s, steps);
	}
	if (s->digest->block_size == 0)
		err = take_stream_features(s, steps);
	else
		err = take_block_features(s, steps, s->chunk_left == 0);
	if (!err)
		begin_chunk(s);
	return err;
}

static int take_bytes(struct sdhash *s, const uint8_t *bytes, size_t len)
{
	size_t part;
	int err = 0;

	while (len > 0 && !err) {
		part = sizeof(s->data) - s->fill;
		part = part < len ? part : len;
		part = part < s->chunk_left ? part : s->chunk_left;
		memcpy(s->data + s->fill, bytes, part);
		s->fill += part;
		s->chunk_left -= part;
		bytes += part;
		len -= part;
		if (s->chunk_left == 0)
			err = end_chunk(s);
		else if (s->fill == sizeof(s->data))
			err = take_middle(s);
	}
	return err;
}

/* ---- the interface ---- */

int sdhash_begin(struct sdhash *s, uint32_t block_size, size_t max_text,
		 struct sdhash_digest *digest_out)
{
	if (block_size > SDHASH_MAX_BLOCK || block_size % SDHASH_BLOCK_UNIT)
		return -EINVAL;
	s->digest = digest_out;
	s->digest->count = 0;
	s->digest->block_size = block_size;
	s->digest->size = 0;
	s->size = 0;
	s->max_text = max_text;
	memset(s->side, 0, sizeof(s->side));
	begin_chunk(s);
	return block_size ? 0 : sdhash_add_filters(s->digest, 1);
}

int sdhash_update(struct sdhash *s, const void *data, size_t len)
{
	s->size += len;
	return take_bytes(s, data, len);
}

int sdhash_pad(struct sdhash *s, size_t zeros)
{
	static const uint8_t none[SDHASH_MIN_SIZE];

	return take_bytes(s, none, zeros);
}

int sdhash_final(struct sdhash *s)
{
	struct sdhash_digest *d = s->digest;
	int err = 0;

	if (s->size < SDHASH_MIN_SIZE)
		return -ENODATA;
	if (d->block_size == 0 || s->fill >= SDHASH_MIN_SIZE)
		err = end_chunk(s);
	if (err)
		return err;
	/* The last of several filters is dropped with its features. */
	if (d->block_size == 0 && d->count > 1 &&
	    last_filter(s)->count < MIN_LAST)
		d->count--;
	sdhash_weigh(d);
	return check_text(s);
}
