/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_RECIPE_H
#define TESTS_SUPPORT_RECIPE_H

#include <jansson.h>

#include "tests/support/vectors.h"

/* Makes the inputs of tests/vectors/sise/inputs.tsv; the README.md there says
 * what the recipes mean. */

struct draws {
	uint64_t state;
};

static inline struct draws draws_of(uint64_t seed)
{
	return (struct draws){ seed * UINT64_C(0x9e3779b97f4a7c15) };
}

static inline uint64_t draw(struct draws *d)
{
	d->state ^= d->state << 13;
	d->state ^= d->state >> 7;
	d->state ^= d->state << 17;
	return d->state;
}

static inline struct bytes recipe_random(uint64_t seed, size_t len)
{
	struct bytes b = bytes_new(len);
	struct draws d = draws_of(seed);
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		v = i % 8 ? v >> 8 : draw(&d);
		b.data[i] = (uint8_t)v;
	}
	return b;
}

static inline void append_char(struct bytes *b, size_t *at, char c)
{
	if (*at < b->len)
		b->data[(*at)++] = (uint8_t)c;
}

static inline void append_syllable(struct bytes *b, size_t *at, unsigned q)
{
	append_char(b, at, "bcdfghlmnprstvwz"[q & 15]);
	append_char(b, at, "aeio"[q >> 4]);
}

static inline struct bytes recipe_text(uint64_t seed, size_t len)
{
	static const char *const separators[] = { ".\n", ", ", "\n" };
	struct bytes b = bytes_new(len);
	struct draws d = draws_of(seed);
	const char *c;
	size_t at = 0;
	uint64_t v;
	unsigned word, sep;

	while (at < len) {
		v = draw(&d);
		word = v & 4095 & v >> 12;
		append_syllable(&b, &at, word & 63);
		if (word >> 6)
			append_syllable(&b, &at, word >> 6);
		sep = v >> 24 & 31;
		for (c = sep < 3 ? separators[sep] : " "; *c; c++)
			append_char(&b, &at, *c);
	}
	return b;
}

/* Random, of few symbols, or periodic, with stretches of each other. */
static inline struct bytes recipe_odd(uint64_t seed)
{
	struct draws d = draws_of(seed);
	size_t len = draw(&d) % (UINT64_C(1) << (4 + draw(&d) % 14));
	struct bytes b = recipe_random(seed + 1000, len);
	size_t at = 0, end, period, i;
	unsigned kind;
	uint8_t mask;

	while (at < len) {
		end = at + 1 + draw(&d) % (len - at);
		kind = draw(&d) % 4;
		period = 1 + draw(&d) % 200;
		mask = (uint8_t)((1u << draw(&d) % 9) - 1);
		for (i = at; i < end; i++) {
			if (kind == 1)
				b.data[i] &= mask;
			else if (kind >= 2 && i >= at + period)
				b.data[i] = b.data[i - period];
		}
		at = end;
	}
	/* Here the rolling value of SiSe and ssdeep is 0. */
	if (len > 20 && draw(&d) % 4 == 0)
		memset(b.data + len - 7, 0, 7);
	return b;
}

static inline struct bytes recipe_repeat(const uint8_t *pattern, size_t period,
					 size_t len)
{
	struct bytes b = bytes_new(len);
	size_t i;

	for (i = 0; i < len; i++)
		b.data[i] = pattern[i % period];
	return b;
}

static inline void recipe_flip(struct bytes *b, uint64_t seed, uint64_t times)
{
	struct draws d = draws_of(seed);
	uint8_t *at;
	uint64_t v;

	while (times--) {
		v = draw(&d);
		at = &b->data[v % b->len];
		*at = (uint8_t)(*at + 1 + (v >> 40) % 255);
	}
}

static inline struct bytes recipe_shuffle(struct bytes from, uint64_t seed,
					  size_t block)
{
	size_t i, j, at = 0, len, swap, count = (from.len + block - 1) / block;
	size_t *order = malloc(count * sizeof(*order));
	struct bytes b = bytes_new(from.len);
	struct draws d = draws_of(seed);

	assert_non_null(order);
	for (i = 0; i < count; i++)
		order[i] = i;
	for (i = count - 1; i > 0; i--) {
		j = draw(&d) % (i + 1);
		swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
	for (i = 0; i < count; i++) {
		len = from.len - order[i] * block;
		len = len < block ? len : block;
		memcpy(b.data + at, from.data + order[i] * block, len);
		at += len;
	}
	free(order);
	free(from.data);
	return b;
}

/* ---- reading recipes ---- */

static inline uint64_t recipe_number(const json_t *recipe, size_t i)
{
	return (uint64_t)json_integer_value(json_array_get(recipe, i));
}

static inline struct bytes recipe_pattern(const json_t *recipe)
{
	const char *hex = json_string_value(json_array_get(recipe, 1));
	uint8_t pattern[256];
	size_t i, period = strlen(hex) / 2;
	unsigned value;

	assert_true(period > 0 && period <= sizeof(pattern));
	for (i = 0; i < period; i++) {
		assert_int_equal(sscanf(hex + 2 * i, "%2x", &value), 1);
		pattern[i] = (uint8_t)value;
	}
	return recipe_repeat(pattern, period, recipe_number(recipe, 2));
}

static inline struct bytes recipe_make(const json_t *recipe);

static inline struct bytes recipe_cat(const json_t *recipe)
{
	struct bytes all = bytes_new(0), part;
	size_t i;

	for (i = 1; i < json_array_size(recipe); i++) {
		part = recipe_make(json_array_get(recipe, i));
		bytes_append(&all, part);
		free(part.data);
	}
	return all;
}

/* Recipes made from another one. */
static inline struct bytes recipe_derive(const char *op, const json_t *recipe)
{
	struct bytes b = recipe_make(json_array_get(recipe, 1));
	uint64_t x = recipe_number(recipe, 2), y = recipe_number(recipe, 3);

	if (strcmp(op, "blocks") == 0)
		return recipe_shuffle(b, x, y);
	if (strcmp(op, "flip") == 0) {
		recipe_flip(&b, x, y);
	} else if (strcmp(op, "cut") == 0) {
		assert_true(x <= y && y <= b.len);
		memmove(b.data, b.data + x, y - x);
		b.len = y - x;
	} else {
		fail_msg("unknown recipe %s", op);
	}
	return b;
}

static inline struct bytes recipe_make(const json_t *recipe)
{
	const char *op = json_string_value(json_array_get(recipe, 0));
	uint64_t x = recipe_number(recipe, 1), y = recipe_number(recipe, 2);
	uint8_t byte = (uint8_t)x;

	assert_non_null(op);
	if (strcmp(op, "rnd") == 0)
		return recipe_random(x, y);
	if (strcmp(op, "text") == 0)
		return recipe_text(x, y);
	if (strcmp(op, "fill") == 0)
		return recipe_repeat(&byte, 1, y);
	if (strcmp(op, "rep") == 0)
		return recipe_pattern(recipe);
	if (strcmp(op, "cat") == 0)
		return recipe_cat(recipe);
	return recipe_derive(op, recipe);
}

static inline struct bytes recipe_parse(const char *text)
{
	json_t *recipe = json_loads(text, 0, NULL);
	struct bytes b;

	assert_non_null(recipe);
	b = recipe_make(recipe);
	json_decref(recipe);
	return b;
}

#endif
