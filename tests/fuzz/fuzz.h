/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/kernel/kernel.h"
#include "tests/support/recipe.h"

/*
 * What the harnesses share.  An input starts with FUZZ_CHOICES bytes that
 * choose how the content behind them is digested:
 *
 *	0	the variant of the kernels
 *	1	0x80: the content is a script, see below; the rest: the cut
 *	2	parameter of the cut
 *	3, 4	for the harness
 *
 * A script makes long contents out of few bytes, as states that take 100 kB
 * to reach would not be found otherwise.  Its operations:
 *
 *	0x00 + n		the next n bytes as they are
 *	0x80 + n, period	2^n bytes more, each the one period before it
 *	0xc0 + n, seed		2^n random bytes
 */
#define FUZZ_CHOICES 5
#define FUZZ_MAX_CONTENT ((size_t)300000)

struct fuzz {
	struct bytes content; /* owned */
	uint8_t cut, step;
	uint8_t own[2];
};

/* Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* ---- the content ---- */

static inline void fuzz_repeat(struct bytes *b, size_t period, size_t len)
{
	period = period < 1 ? 1 : period;
	for (; len > 0 && b->len < FUZZ_MAX_CONTENT; len--, b->len++)
		b->data[b->len] =
			b->len < period ? 0 : b->data[b->len - period];
}

static inline void fuzz_random(struct bytes *b, uint64_t seed, size_t len)
{
	struct draws d = draws_of(seed + 1);

	for (; len > 0 && b->len < FUZZ_MAX_CONTENT; len--, b->len++)
		b->data[b->len] = (uint8_t)(draw(&d) >> 32);
}

static inline struct bytes fuzz_run(const uint8_t *script, size_t len)
{
	struct bytes b = bytes_new(FUZZ_MAX_CONTENT);
	size_t i, left, length;

	b.len = 0;
	for (i = 0; i + 1 < len; i++) {
		length = script[i] & 0x7f;
		if (script[i] < 0x80) {
			left = FUZZ_MAX_CONTENT - b.len;
			length = length < left ? length : left;
			left = len - i - 1;
			length = length < left ? length : left;
			memcpy(b.data + b.len, script + i + 1, length);
			b.len += length;
			i += length;
		} else if (script[i] < 0xc0) {
			fuzz_repeat(&b, script[i + 1],
				    (size_t)1 << script[i] % 18);
			i++;
		} else {
			fuzz_random(&b, script[i + 1],
				    (size_t)1 << script[i] % 18);
			i++;
		}
	}
	return b;
}

static inline struct fuzz fuzz_begin(const uint8_t *data, size_t len)
{
	uint8_t choices[FUZZ_CHOICES] = { 0 };
	size_t count, head = len < FUZZ_CHOICES ? len : FUZZ_CHOICES;
	const struct kernel_ops *variants = kernel_all(&count);
	struct fuzz f = { 0 };

	if (head > 0)
		memcpy(choices, data, head);
	kernel_use(&variants[choices[0] % count]);
	f.cut = choices[1] & 0x7f;
	f.step = choices[2];
	f.own[0] = choices[3];
	f.own[1] = choices[4];
	if (choices[1] & 0x80) {
		f.content = fuzz_run(data + head, len - head);
	} else {
		f.content = bytes_new(len - head);
		if (len > head)
			memcpy(f.content.data, data + head, len - head);
	}
	return f;
}

static inline void fuzz_end(struct fuzz *f)
{
	free(f->content.data);
	kernel_use(NULL);
}

/* ---- its updates ---- */

typedef void fuzz_update_fn(void *arg, const void *data, size_t len);

static inline size_t fuzz_part(const struct fuzz *f, struct draws *d)
{
	switch (f->cut % 5) {
	case 0:
		return f->content.len;
	case 1:
		return 1 + (size_t)f->step;
	case 2:
		return 1 + draw(d) % 16;
	case 3:
		return draw(d) % (draw(d) % 4 ? 300 : 20000);
	default:
		return 1024 + (size_t)f->step - 128;
	}
}

/* Every part in memory of its own, just as long, and gone afterwards: neither
 * an access outside of it nor one after the call goes unseen. */
static inline void fuzz_feed(const struct fuzz *f, fuzz_update_fn *update,
			     void *arg)
{
	struct draws d = draws_of(f->step + 1u);
	size_t at, part;
	uint8_t *copy;

	for (at = 0; at < f->content.len; at += part) {
		part = fuzz_part(f, &d);
		if (part > f->content.len - at)
			part = f->content.len - at;
		copy = malloc(part ? part : 1);
		assert_non_null(copy);
		memcpy(copy, f->content.data + at, part);
		update(arg, copy, part);
		free(copy);
	}
}

/* ---- texts ---- */

/* The lines of an input: a copy of each, with nothing behind it. */
#define FUZZ_LINES 2

struct fuzz_lines {
	struct bytes line[FUZZ_LINES]; /* owned */
};

static inline struct fuzz_lines fuzz_split(const uint8_t *data, size_t len)
{
	struct fuzz_lines lines = { 0 };
	const uint8_t *end;
	size_t i, part;

	for (i = 0; i < FUZZ_LINES; i++) {
		end = len > 0 ? memchr(data, '\n', len) : NULL;
		part = end ? (size_t)(end - data) : len;
		lines.line[i] = (struct bytes){ malloc(part ? part : 1), part };
		assert_non_null(lines.line[i].data);
		if (part > 0)
			memcpy(lines.line[i].data, data, part);
		part += end != NULL;
		data = part > 0 ? data + part : data;
		len -= part;
	}
	return lines;
}

static inline void fuzz_free_lines(struct fuzz_lines *lines)
{
	size_t i;

	for (i = 0; i < FUZZ_LINES; i++)
		free(lines->line[i].data);
}

#endif
