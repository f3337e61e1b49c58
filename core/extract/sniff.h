/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXTRACT_SNIFF_H
#define CORE_EXTRACT_SNIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/extract/extract.h"

/*
 * What a file is, by its first bytes; its name says nothing.  The mark that is
 * farthest from the beginning is that of a CD, at 32,769.
 */
enum { SNIFF_BYTES = 36 << 10 };

/* EXTRACT_UNKNOWN: a text, or nothing that is known.  A package (docx, odt,
 * epub) is EXTRACT_ZIP. */
enum extract_kind sniff_kind(const uint8_t *head, size_t len);

/*
 * A mail is known by its header.  Those who carried it write their own fields in
 * front, so that the first SNIFF_BYTES may not tell: then sniff_may_be_mail(),
 * and sniff_kind() is asked again with these many.
 */
enum { SNIFF_MAIL_BYTES = 256 << 10 };

bool sniff_may_be_mail(const uint8_t *head, size_t len);

/* Where the header begins, or the line "From " of a mailbox: behind a mark of
 * UTF-8, empty lines, and the number of bytes that Apple's Mail writes. */
size_t sniff_mail_begin(const uint8_t *data, size_t len);

/* Whether that line is there: no field, which may have a blank before its colon. */
bool sniff_is_mailbox(const char *text, size_t len);

/* A picture; EXTRACT_UNKNOWN: it is none.  sniff_kind() does not know pictures, as
 * they are read by another program, and not as members. */
enum { SNIFF_PICTURE_BYTES = 16 };
enum extract_kind sniff_picture(const uint8_t *head, size_t len);

/* Whether the file may have another text than its own bytes, or is a picture: for
 * those who decide whether to have it read at all. */
bool sniff_is_document(const uint8_t *head, size_t len);

/* Whether a text in UTF-8, or a set of characters that contains ASCII, is
 * HTML. */
bool sniff_html(const char *text, size_t len);

/* "UTF-16LE", "UTF-16BE", or NULL: it is no text with units of two bytes. */
const char *sniff_wide(const uint8_t *data, size_t len);

/* More control characters than a text has. */
bool sniff_controls(const uint8_t *data, size_t len);

#endif
