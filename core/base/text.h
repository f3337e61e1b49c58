/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_TEXT_H
#define CORE_BASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* What the text forms of digests have in common. */

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

#endif
