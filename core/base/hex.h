/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_HEX_H
#define CORE_BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Writes 2 * len lower-case digits and a NUL to text. */
void hex_encode(const uint8_t *bytes, size_t len, char *text);

/* The reverse: reads exactly 2 * len lower-case digits.  -EINVAL, with bytes
 * untouched, when text_len differs or a character is no digit. */
int hex_decode(const char *text, size_t text_len, uint8_t *bytes, size_t len);

#endif
