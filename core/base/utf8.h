/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_UTF8_H
#define CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buf.h"

/*
 * Whether the bytes begin with a well-formed character of UTF-8 of two to four
 * bytes.  Returns its length, 0: they do not; -1: more bytes are needed to
 * tell.
 */
int utf8_check(const uint8_t *bytes, size_t len);

/* The code point of a well-formed character of that length, two to four. */
uint32_t utf8_decode(const uint8_t *bytes, int len);

/* Whether all of it is UTF-8 without NUL. */
bool utf8_is_text(const uint8_t *bytes, size_t len);

/*
 * Text of strangers for a terminal: names of files, messages of a server.
 *
 * A character is safe if it is well-formed UTF-8, neither controls a terminal
 * nor ends a line, is visible, and does not change the direction of the text
 * around it.  Of any other, each byte is written as a backslash and three octal
 * digits.
 *
 * utf8_safe_length() is the length of the character that text begins with; 0:
 * it is not safe, or text is empty.
 */
size_t utf8_safe_length(const char *text);
int utf8_append_safe(struct buf *out, const char *text);
void utf8_print_safe(FILE *out, const char *text);

#endif
