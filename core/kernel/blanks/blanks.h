/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_BLANKS_BLANKS_H
#define CORE_KERNEL_BLANKS_BLANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Drops the blanks of a text in UTF-8.
 *
 * A blank is white space: a space, a tab, a line end (LF, VT, FF, CR), a
 * no-break space (C2 A0), a byte order mark (EF BB BF); or one of the signs
 * that separate the fields of a table: comma, semicolon, vertical bar.  All
 * other bytes are kept.
 *
 * A control is one of the other bytes below 20, but not a backspace or an
 * escape, which terminals understand.
 */
enum {
	KERNEL_BLANKS_AHEAD = 2,  /* bytes that are read before and behind */
	KERNEL_BLANKS_SPARE = 64, /* bytes that may be written behind */
};

struct kernel_blanks_state {
	bool has_nul;
	uint64_t controls; /* so far */
};

static inline bool blanks_has(uint8_t byte)
{
	return (byte >= '\t' && byte <= '\r') || byte == ' ' || byte == ',' ||
	       byte == ';' || byte == '|';
}

struct kernel_blanks {
	/*
	 * Writes those of count bytes that are in no blank to out; returns
	 * their number.  Reads KERNEL_BLANKS_AHEAD bytes before and behind the
	 * bytes, which tell whether one of them belongs to a blank of several
	 * bytes; nothing if count is 0.  Writes within out[count +
	 * KERNEL_BLANKS_SPARE].
	 */
	size_t (*drop)(const uint8_t *bytes, size_t count,
		       struct kernel_blanks_state *state, uint8_t *out);
};

extern const struct kernel_blanks blanks_scalar;
#ifdef __x86_64__
extern const struct kernel_blanks blanks_avx2;
extern const struct kernel_blanks blanks_avx512;
#endif

#endif
