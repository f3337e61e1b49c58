/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SDHASH_INPUTS_H
#define TESTS_SUPPORT_SDHASH_INPUTS_H

#include "core/base/bytes.h"
#include "core/digest/sdhash/sdhash.h"
#include "tests/support/vectors.h"

/* Makes the inputs of tests/vectors/sdhash/inputs.tsv; the README.md there says
 * what the expressions mean. */

#define SDHASH_DIR "tests/vectors/sdhash/"
#define DICTIONARY_WORDS 2000
#define DICTIONARY_SEED 0xd1c7

struct numbers {
	uint64_t state;
};

static inline uint64_t number_draw(struct numbers *n)
{
	uint64_t z = n->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* 0..n - 1, the small ones more often. */
static inline uint64_t number_pick(uint64_t x, uint64_t n)
{
	return (((x & UINT32_MAX) * (x >> 32)) >> 32) * n >> 32;
}

static inline void put_random(uint8_t *out, size_t len, uint64_t seed)
{
	struct numbers n = { seed };
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		v = i % 8 ? v >> 8 : number_draw(&n);
		out[i] = (uint8_t)v;
	}
}

static inline const char (*dictionary(void))[10]
{
	static char words[DICTIONARY_WORDS][10];
	struct numbers n = { DICTIONARY_SEED };
	size_t i, j, len;

	for (i = 0; i < DICTIONARY_WORDS && !words[DICTIONARY_WORDS - 1][0];
	     i++) {
		len = 2 + number_draw(&n) % 8;
		for (j = 0; j < len; j++)
			words[i][j] = "etaoinshrdlucmfwypvbgkjqxz"[number_pick(
				number_draw(&n), 26)];
	}
	return (const char(*)[10])words;
}

static inline void put_text(uint8_t *out, size_t len, uint64_t seed)
{
	const char(*words)[10] = dictionary();
	struct numbers n = { seed };
	size_t at = 0, count = 0, part;
	char word[16];
	const char *separator;
	uint64_t x;

	while (at < len) {
		x = number_draw(&n);
		separator = x % 11 == 0 ? ", " : " ";
		if (++count % 12 == 0)
			separator = "\n";
		part = (size_t)snprintf(word, sizeof(word), "%s%s",
					words[number_pick(x, DICTIONARY_WORDS)],
					separator);
		part = part < len - at ? part : len - at;
		memcpy(out + at, word, part);
		at += part;
	}
}

static inline void put_records(uint8_t *out, size_t len, uint64_t seed)
{
	struct numbers n = { seed };
	uint32_t base = (uint32_t)number_draw(&n);
	uint8_t fields[16] = { 0 };
	size_t at, part;
	uint64_t x;

	for (at = 0; at < len; at += part) {
		x = number_draw(&n);
		store_le32(fields, base++);
		store_le32(fields + 4, 0xdeadbeef);
		store_le32(fields + 8,
			   (uint32_t)(x % 100 | (x >> 32 & 0xff) << 16));
		part = len - at < sizeof(fields) ? len - at : sizeof(fields);
		memcpy(out + at, fields, part);
	}
}

static inline void put_period(uint8_t *out, size_t len, size_t period,
			      uint64_t seed)
{
	uint8_t pattern[65536];
	size_t i;

	assert_true(period > 0 && period <= sizeof(pattern));
	put_random(pattern, period, seed);
	for (i = 0; i < len; i++)
		out[i] = pattern[i % period];
}

static inline void put_mixed(uint8_t *out, size_t len, uint64_t seed)
{
	struct numbers n = { seed };
	uint64_t kind, sub;
	size_t at, part;

	for (at = 0; at < len; at += part) {
		kind = number_draw(&n) % 6;
		part = 64 + number_draw(&n) % 4096;
		part = part < len - at ? part : len - at;
		sub = number_draw(&n);
		if (kind < 2)
			memset(out + at, kind ? 0xff : 0, part);
		else if (kind == 2)
			put_random(out + at, part, sub);
		else if (kind == 3)
			put_text(out + at, part, sub);
		else if (kind == 4)
			put_records(out + at, part, sub);
		else
			put_period(out + at, part, 1 + number_draw(&n) % 32,
				   sub);
	}
}

static inline void put_ramp(uint8_t *out, size_t len, uint64_t seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		out[i] = (uint8_t)(i + seed);
}

/* ---- reading expressions ---- */

static inline int take_word(const char **at, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*at, word, len) != 0)
		return 0;
	*at += len;
	return 1;
}

/* A number and the character that precedes it. */
static inline uint64_t take_number(const char **at, char before)
{
	char *end;
	uint64_t value;

	assert_int_equal(**at, before);
	value = strtoull(*at + 1, &end, 10);
	assert_true(end > *at + 1);
	*at = end;
	return value;
}

static inline struct bytes input_file(const char **at)
{
	size_t len = strcspn(*at, " ,)");
	char path[128];

	(void)snprintf(path, sizeof(path), SDHASH_DIR "files/lic_%.*s",
		       (int)len, *at);
	*at += len;
	return bytes_read(path);
}

static inline struct bytes input_generate(const char **at)
{
	const char *name = *at;
	size_t name_len = strcspn(name, ":");
	struct bytes b;
	uint64_t seed;

	*at += name_len;
	seed = take_number(at, ':');
	b = bytes_new(take_number(at, ':'));
	if (take_word(&name, "rand:"))
		put_random(b.data, b.len, seed);
	else if (take_word(&name, "text:"))
		put_text(b.data, b.len, seed);
	else if (take_word(&name, "mixed:"))
		put_mixed(b.data, b.len, seed);
	else if (take_word(&name, "period:"))
		put_period(b.data, b.len, seed >> 8, seed);
	else if (take_word(&name, "ramp:"))
		put_ramp(b.data, b.len, seed);
	else if (take_word(&name, "fill:"))
		memset(b.data, (int)(seed % 256), b.len);
	else
		fail_msg("unknown generator %s", name);
	return b;
}

static inline struct bytes input_sum(const char **at);

static inline struct bytes input_term(const char **at)
{
	struct bytes b;
	uint64_t x, y, mask;

	if (take_word(at, "file:"))
		return input_file(at);
	if (take_word(at, "slice(")) {
		b = input_sum(at);
		x = take_number(at, ',');
		y = take_number(at, ',');
		assert_true(x + y <= b.len);
		memmove(b.data, b.data + x, y);
		b.len = y;
	} else if (take_word(at, "xor(")) {
		b = input_sum(at);
		x = take_number(at, ',');
		y = take_number(at, ',');
		mask = take_number(at, ',');
		for (; x < b.len; x += y)
			b.data[x] ^= (uint8_t)mask;
	} else {
		return input_generate(at);
	}
	assert_true(take_word(at, ")"));
	return b;
}

static inline struct bytes input_sum(const char **at)
{
	struct bytes all = input_term(at), part;

	while (take_word(at, " + ") || take_word(at, "+")) {
		part = input_term(at);
		bytes_append(&all, part);
		free(part.data);
	}
	return all;
}

static inline struct bytes input_make(const char *expression)
{
	const char *at = expression;
	struct bytes b = input_sum(&at);

	if (*at)
		fail_msg("cannot read %s", expression);
	return b;
}

/* The line of inputs.tsv with that name; to be closed. */
static inline struct tsv input_line(const char *name)
{
	struct tsv inputs = tsv_open(SDHASH_DIR "inputs.tsv");

	do {
		if (!tsv_next(&inputs))
			fail_msg("no input %s", name);
	} while (strcmp(inputs.fields[0], name) != 0);
	return inputs;
}

static inline struct bytes input_named(const char *name)
{
	struct tsv line = input_line(name);
	struct bytes b = input_make(line.fields[3]);

	tsv_close(&line);
	return b;
}

/* ---- digests ---- */

/* Updates of all lengths: mostly short ones for short inputs. */
static inline size_t part_length(struct numbers *n, size_t len)
{
	size_t max = len > 1000000 ? 50000 : 5000;

	return (size_t)(number_draw(n) % (number_draw(n) % 3 ? max : 300));
}

/* seed != 0 cuts the input into updates of random lengths. */
static inline void feed(struct sdhash *s, struct bytes b, uint64_t seed)
{
	struct numbers n = { seed };
	size_t i, part;

	for (i = 0; i < b.len; i += part) {
		part = seed ? part_length(&n, b.len) : b.len;
		part = part < b.len - i ? part : b.len - i;
		assert_int_equal(sdhash_update(s, b.data + i, part), 0);
	}
}

static inline int digest_bytes(struct bytes b, uint32_t block_size,
			       uint64_t seed, struct sdhash_digest *out)
{
	static struct sdhash s;
	int err;

	assert_int_equal(sdhash_begin(&s, block_size, SIZE_MAX, out), 0);
	feed(&s, b, seed);
	err = sdhash_final(&s);
	return err;
}

static inline int same_digest(const struct sdhash_digest *a,
			      const struct sdhash_digest *b)
{
	return a->size == b->size && a->block_size == b->block_size &&
	       a->count == b->count &&
	       memcmp(a->filters, b->filters, a->count * sizeof(*a->filters)) ==
		       0;
}

static inline void name_digest(struct sdhash_digest *d, const char *name)
{
	buf_clear(&d->name);
	assert_int_equal(buf_append_text(&d->name, name), 0);
}

#endif
