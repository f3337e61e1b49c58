/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SDHASH_MODEL_H
#define TESTS_SUPPORT_SDHASH_MODEL_H

#include <openssl/evp.h>

#include "core/base/bytes.h"
#include "core/digest/sdhash/sdhash.h"
#include "tests/support/vectors.h"

/*
 * sdhash as the program's rules read, a whole chunk at a time: every window's
 * entropy is counted anew, every feature hashed when its turn comes.  The
 * tables are the golden ones.
 */

#define SDHASH_MODEL_CHUNK ((size_t)32 << 20)
#define SDHASH_MODEL_SIDE_FEATURES 8738

struct sdhash_model {
	struct sdhash_filter *filters; /* owned; weight is not set */
	size_t count;
	uint8_t side[16384];
	unsigned in_side;
};

static inline void sdhash_model_read(const char *path, unsigned *out,
				     size_t count)
{
	struct tsv lines = tsv_open(path);
	size_t i;

	assert_true(tsv_next(&lines));
	for (i = 0; i < count; i++) {
		assert_true(tsv_next(&lines));
		out[i] = (unsigned)strtoul(lines.fields[1], NULL, 10);
	}
	tsv_close(&lines);
}

static inline unsigned sdhash_model_rank(const uint8_t *window)
{
	static unsigned entropy[65], rank[1001];
	unsigned counts[256] = { 0 }, sum = 0, i;

	if (entropy[1] == 0) {
		sdhash_model_read("tests/vectors/sdhash/tables/entropy65.tsv",
				  entropy, 65);
		sdhash_model_read("tests/vectors/sdhash/tables/rank1001.tsv",
				  rank, 1001);
	}
	for (i = 0; i < 64; i++)
		counts[window[i]]++;
	for (i = 0; i < 256; i++)
		sum += entropy[counts[i]];
	return rank[sum >> 10];
}

/* Scores of a chunk of n > 64 bytes.  m is the place of the minimum, k its
 * rank. */
static inline void sdhash_model_scores(const unsigned *rank, size_t n,
				       unsigned *score)
{
	size_t i, j, m = 0;
	unsigned k = rank[0];

	for (i = 0; i + 64 < n; i++) {
		if (i > 0 && k > 0 && i < m && rank[i + 64] >= k) {
			if (rank[i + 64] == k)
				m = i + 64;
			score[m]++;
			continue;
		}
		m = i;
		k = rank[i];
		for (j = i + 1; j <= i + 63; j++) {
			if (rank[j] != 0 && rank[j] < k) {
				k = rank[j];
				m = j;
			} else if (m == j - 1 && rank[j] == k) {
				m = j;
			}
		}
		if (k > 0)
			score[m]++;
	}
}

static inline unsigned *sdhash_model_chunk(const uint8_t *data, size_t n)
{
	unsigned *rank = calloc(n + 1, sizeof(*rank));
	unsigned *score = calloc(n + 1, sizeof(*score));
	size_t i;

	assert_true(rank && score);
	for (i = 0; i + 64 < n; i++)
		rank[i] = sdhash_model_rank(data + i);
	if (n > 64)
		sdhash_model_scores(rank, n, score);
	free(rank);
	return score;
}

/* Sets five bits; returns whether one was new. */
static inline int sdhash_model_insert(const uint8_t sha1[20], uint8_t *bits,
				      uint32_t mask)
{
	int i, new_bits = 0;
	uint32_t bit;

	for (i = 0; i < 5; i++) {
		bit = load_le32(sha1 + 4 * i) & mask;
		new_bits |= !(bits[bit / 8] >> bit % 8 & 1);
		bits[bit / 8] |= (uint8_t)(1 << bit % 8);
	}
	return new_bits;
}

static inline void sdhash_model_sha1(const uint8_t *window, uint8_t out[20])
{
	assert_int_equal(EVP_Digest(window, 64, out, NULL, EVP_sha1(), NULL),
			 1);
}

static inline struct sdhash_filter *sdhash_model_add(struct sdhash_model *m)
{
	m->filters = realloc(m->filters, (m->count + 1) * sizeof(*m->filters));
	assert_non_null(m->filters);
	m->filters[m->count] = (struct sdhash_filter){ 0 };
	return &m->filters[m->count++];
}

static inline void sdhash_model_stream_chunk(struct sdhash_model *m,
					     const uint8_t *data, size_t n,
					     enum sdhash_rules rules)
{
	unsigned *score = sdhash_model_chunk(data, n);
	struct sdhash_filter *f = &m->filters[m->count - 1];
	uint8_t sha1[20];
	size_t p;

	m->in_side = 0;
	for (p = 0; p + 64 < n; p++) {
		if (score[p] <= 16)
			continue;
		sdhash_model_sha1(data + p, sha1);
		if (!sdhash_model_insert(sha1, f->bits, 0x7ff))
			continue;
		if (rules == SDHASH_4_0) {
			if (!sdhash_model_insert(sha1, m->side, 0x1ffff))
				continue;
			if (++m->in_side == SDHASH_MODEL_SIDE_FEATURES) {
				memset(m->side, 0, sizeof(m->side));
				m->in_side = 0;
			}
		}
		if (++f->count == 160)
			f = sdhash_model_add(m);
	}
	free(score);
}

static inline void sdhash_model_stream(struct sdhash_model *m, struct bytes b,
				       enum sdhash_rules rules)
{
	size_t at, part;

	(void)sdhash_model_add(m);
	for (at = 0; at < b.len; at += part) {
		part = b.len - at;
		part = part < SDHASH_MODEL_CHUNK ? part : SDHASH_MODEL_CHUNK;
		sdhash_model_stream_chunk(m, b.data + at, part, rules);
	}
	if (m->count > 1 && m->filters[m->count - 1].count < 20)
		m->count--;
}

/* The score from which all features count, and how many of those that have
 * just that score. */
static inline unsigned sdhash_model_limit(const unsigned *score, size_t n,
					  unsigned *allowed_out)
{
	unsigned histogram[66] = { 0 }, sum = 0, k;
	size_t p;

	for (p = 0; p + 64 < n; p++)
		histogram[score[p]]++;
	for (k = 65; k >= 16 && sum + histogram[k] <= 192; k--)
		sum += histogram[k];
	*allowed_out = 192 - sum;
	return k;
}

static inline void sdhash_model_block(struct sdhash_model *m,
				      const uint8_t *data, size_t n, int full)
{
	unsigned *score = sdhash_model_chunk(data, n);
	struct sdhash_filter *f = sdhash_model_add(m);
	unsigned allowed = 192, k = 16;
	uint8_t sha1[20];
	size_t p;

	if (full)
		k = sdhash_model_limit(score, n, &allowed);
	for (p = 0; p + 64 < n && f->count < 192; p++) {
		if (score[p] < k || (score[p] == k && allowed == 0))
			continue;
		sdhash_model_sha1(data + p, sha1);
		if (!sdhash_model_insert(sha1, f->bits, 0x7ff))
			continue;
		f->count++;
		allowed -= score[p] == k;
	}
	free(score);
}

/* block_size 0: a stream digest.  Of less than 512 bytes there is none. */
static inline struct sdhash_model sdhash_model(struct bytes b,
					       enum sdhash_rules rules,
					       uint32_t block_size)
{
	struct sdhash_model m = { 0 };
	size_t at, part;

	if (b.len < 512)
		return m;
	if (block_size == 0)
		sdhash_model_stream(&m, b, rules);
	for (at = 0; block_size && at < b.len; at += part) {
		part = b.len - at < block_size ? b.len - at : block_size;
		if (part == block_size || part >= 512)
			sdhash_model_block(&m, b.data + at, part,
					   part == block_size);
	}
	return m;
}

static inline int sdhash_model_agrees(const struct sdhash_model *m,
				      const struct sdhash_digest *d)
{
	size_t i;

	if (d->count != m->count)
		return 0;
	for (i = 0; i < m->count; i++)
		if (d->filters[i].count != m->filters[i].count ||
		    memcmp(d->filters[i].bits, m->filters[i].bits, 256) != 0)
			return 0;
	return 1;
}

#endif
