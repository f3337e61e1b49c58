/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXTRACT_PARSERS_H
#define CORE_EXTRACT_PARSERS_H

#include "core/extract/reader.h"
#include "core/extract/sniff.h"

/*
 * Inside of kin-extract.  Each reads one format into a document; the caller
 * flushes its text.
 */

/* Reads a document of any format, and sets its kind. */
enum extract_status document_read(struct document *d,
				  const struct extract_input *in);

/* Gives out a member of d, of which bytes are in memory: by its text, or as it
 * is.  EXTRACT_LIMIT: d is over. */
enum extract_status member_read(struct document *d, const char *name,
				const uint8_t *data, size_t len);

/* The same for a member without bytes, or with more of them than is worth
 * keeping.  Between these two the caller gives out its bytes. */
enum extract_status member_begin(struct document *d, const char *name,
				 struct document *member_out);
enum extract_status member_end(struct document *d, struct document *member);

/* Whether members of that kind are read. */
bool member_is_document(const struct document *d, enum extract_kind kind);

/* archive.c: zip, tar, 7z and compressed files. */
enum extract_status archive_read_members(struct document *d,
					 const struct extract_input *in);
int archive_warm_up(void);

/* A file in a zip that is a document. */
struct package_part {
	char *name;
	uint64_t size;
	bool is_wanted; /* the next package_load() reads it */
	bool is_encrypted;
	struct buf content;
};

struct package {
	struct package_part *parts;
	size_t count;
};

/* The names and sizes alone, then the content of those that are wanted and were
 * not loaded.  Lasts until package_release(), which a failure needs, too. */
enum extract_status package_open(const struct extract_input *in,
				 struct package *out);
enum extract_status package_load(struct document *d,
				 const struct extract_input *in,
				 struct package *p);
void package_release(struct package *p);

/* By a name, of which the case counts only where there are two; NULL. */
struct package_part *package_find(const struct package *p, const char *name);

/* Makes it a wanted one. */
void package_want(const struct package *p, const char *name);

/* What a reference in a part means: in the part's folder, or from the root on;
 * "%20" is a blank, and what follows "#" or "?" belongs to the reader.  NULL. */
struct package_part *package_follow(const struct package *p, const char *from,
				    const char *reference);

/* package.c: a zip that is a document.  EXTRACT_UNSUPPORTED: it is none. */
enum extract_status package_read(struct document *d,
				 const struct extract_input *in);

/* These set the kind.  EXTRACT_UNSUPPORTED: it is none of theirs. */
enum extract_status ooxml_read(struct document *d,
			       const struct extract_input *in,
			       struct package *p);
enum extract_status odf_read(struct document *d, const struct extract_input *in,
			     struct package *p);
enum extract_status epub_read(struct document *d,
			      const struct extract_input *in,
			      struct package *p);

/* An OpenDocument that is one file of XML. */
enum extract_status odf_read_flat(struct document *d, const uint8_t *data,
				  size_t len);

/* html.c, of UTF-8 without NUL: whatever it is, text comes out. */
enum extract_status html_read(struct document *d, const char *html, size_t len);

/* rtf.c, mail.c */
enum extract_status rtf_read(struct document *d, const uint8_t *data,
			     size_t len);
enum extract_status mail_read(struct document *d, const uint8_t *data,
			      size_t len);
int mail_warm_up(void);

/* text.c: a text in any encoding.  kind: EXTRACT_TEXT or EXTRACT_HTML; or
 * EXTRACT_UNKNOWN: the kind is found out and set, and what is no text is
 * EXTRACT_UNSUPPORTED.  charset: what is said of it, right or wrong; or NULL. */
enum extract_status text_read_as(struct document *d, enum extract_kind kind,
				 const char *charset, const uint8_t *data,
				 size_t len);

/* Appends bytes of a character set as UTF-8.  A set that is not known is
 * windows-1252, and *guessed_out is set. */
enum extract_status text_decode(const char *charset, const uint8_t *data,
				size_t len, struct buf *out,
				uint32_t *flags_out);

/* The value of a digit of hexadecimal numbers; -1: it is none. */
int text_hex_digit(char c);

/* Appends one character as UTF-8. */
int text_append_char(struct buf *out, uint32_t c);

int text_warm_up(void);

/* dates.c: "2024-05-01T12:00:00Z" and its short forms; EXTRACT_NO_DATE. */
int64_t date_of_w3c(const char *text);

#endif
