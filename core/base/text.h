/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_TEXT_H
#define CORE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers and base64 in text: of digests, options and what is printed. */

#define TEXT_NUMBER 21 /* characters of UINT64_MAX and what ends it */

/* The alphabet of base64, RFC 4648: character of a value 0..63. */
extern const char base64_digits[64];

/* One more than the value of a character; 0: not in the alphabet. */
extern const uint8_t base64_codes[256];

/*
 * Reads a decimal number as it is printed: no sign, no leading zeros, no more
 * than UINT64_MAX.  Moves *at behind it, at most to end; false when there is
 * none, with *at anywhere.
 */
bool text_number(const char **at, const char *end, uint64_t *out);

/* Whether a relative path means what it says: no component is empty, "." or
 * "..", so it leads nowhere but below. */
bool text_is_plain_path(const char *path);

/* Whether path is the path of above, or below it; "" is above all. */
bool text_path_is_above(const char *above, const char *path);

/* Undoes what the kernel does to paths in mountinfo: it writes blanks, tabs,
 * newlines and backslashes as \ooo. */
void text_unescape_octal(char *text);

/* A number of bytes as an option has it, with K, M, G or T (or k, m, g, t) for
 * powers of 1024.  -EINVAL when it is none, or more than UINT64_MAX. */
int text_parse_size(const char *text, uint64_t *out);

enum text_units {
	TEXT_UNITS_FULL,  /* "812 bytes", "3.1 KiB", "12.0 MiB" */
	TEXT_UNITS_BRIEF, /* as ls -h: "812", "3.1K", "12M" */
};

enum { TEXT_SIZE_ROOM = 32 };

/* Writes a number of bytes with a unit of its magnitude; returns out. */
const char *text_format_size(double bytes, enum text_units units,
			     char out[TEXT_SIZE_ROOM]);

/*
 * A guess which name was meant by a mistyped word, among names that are offered
 * one after the other: the nearest of those that differ from it in at most a
 * third of its characters, where two that are interchanged count as one.  best
 * is NULL when there is none, and not owned.
 */
struct text_guess {
	const char *word, *best;
	size_t word_len, best_len, distance;
};

void text_guess_begin(struct text_guess *g, const char *word, size_t len);
void text_guess_offer(struct text_guess *g, const char *name, size_t len);

/* The word that goes with a number. */
static inline const char *text_plural(uint64_t n, const char *one,
				      const char *many)
{
	return n == 1 ? one : many;
}

#endif
