/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_TEXT_ENCODING_H
#define CORE_DIGEST_TEXT_ENCODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The encodings of a text, how they are told apart, and UTF-8 made of them.
 *
 * The first ENCODING_HEAD bytes decide.  A byte order mark is believed.
 * Without one, bytes that are zero in every second or fourth place are those of
 * UTF-16 or UTF-32: most texts have ASCII characters, be it only spaces and
 * line ends.  Any other zero byte says that the content is no text.
 *
 * What remains is ASCII until the first byte from 80 on.  If that begins a
 * well-formed character of UTF-8, the text is UTF-8, else ISO 8859-1.
 */
enum encoding {
	ENCODING_NONE, /* not a text */
	ENCODING_ASCII,
	ENCODING_UTF8,
	ENCODING_LATIN1,
	ENCODING_UTF16LE,
	ENCODING_UTF16BE,
	ENCODING_UTF32LE,
	ENCODING_UTF32BE,
};

#define ENCODING_HEAD 1024

/* By the first bytes of a content: ENCODING_HEAD, or all if it has fewer.
 * ASCII: of which of the three kinds it is remains open. */
enum encoding encoding_detect(const uint8_t *bytes, size_t len);

/* The longest character of UTF-8. */
#define ENCODING_CHARACTER 4

struct encoding_progress {
	size_t used, written; /* bytes of the input, of the output */
	bool is_bad;          /* a character that cannot be, or NUL, was next */
};

/*
 * Decodes characters as long as room bytes suffice for one more, and only whole
 * ones: at most 3 bytes of the input are left over, or what begins with a bad
 * character.  encoding is one of UTF-16, UTF-32 and ISO 8859-1.
 */
void encoding_decode(enum encoding encoding, const uint8_t *bytes, size_t len,
		     uint8_t *out, size_t room,
		     struct encoding_progress *progress_out);

#endif
