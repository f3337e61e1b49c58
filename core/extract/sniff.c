/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract/sniff.h"

#include <string.h>
#include <strings.h>

#include "core/base/utf8.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- mail ---- */

/* The number of bytes of the line at the beginning, without its end; *next_out:
 * where the next one begins. */
static size_t line_length(const char *text, size_t len, size_t *next_out)
{
	const char *end = memchr(text, '\n', len);
	size_t line = end ? (size_t)(end - text) : len;

	*next_out = line + (end != NULL);
	return line && text[line - 1] == '\r' ? line - 1 : line;
}

/* Whether a name that has that many bytes is the field's. */
static bool is_field(const char *name, size_t len, const char *field)
{
	const size_t field_len = strlen(field);
	const bool is_prefix = field[field_len - 1] == '-';

	return (is_prefix ? len > field_len : len == field_len) &&
	       !strncasecmp(name, field, field_len);
}

/* Apple's Mail fills the line of its number with blanks. */
static bool is_number(const char *line, size_t len)
{
	size_t i = 0;

	while (i < len && line[i] >= '0' && line[i] <= '9')
		i++;
	while (i < len && line[i] == ' ')
		i++;
	return i == len;
}

size_t sniff_mail_begin(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data;
	size_t at = len >= 3 && !memcmp(data, "\xef\xbb\xbf", 3) ? 3 : 0;
	size_t line, next;

	for (; at < len; at += next) {
		line = line_length(text + at, len - at, &next);
		if (!is_number(text + at, line) &&
		    (line < 6 || memcmp(text + at, ">From ", 6)))
			break;
	}
	return at;
}

bool sniff_is_mailbox(const char *text, size_t len)
{
	return len > 6 && !memcmp(text, "From ", 5) && text[5] != ':';
}

/* Fields of a mail; a name that ends with "-" stands for all that begin so.  A
 * page that a browser saved as one file may have but the version of MIME and a
 * type. */
static const struct {
	const char *name;
	unsigned weight;
	bool is_evidence; /* no other format has it */
} mail_fields[] = {
	{ "From", 1, true },         { "Sender", 1, true },
	{ "Received", 1, true },     { "Return-Path", 1, true },
	{ "ARC-", 1, true },         { "DKIM-Signature", 1, true },
	{ "Message-ID", 1, true },   { "Delivered-To", 1, true },
	{ "MIME-Version", 2, true }, { "To", 1, false },
	{ "Cc", 1, false },          { "Subject", 1, false },
	{ "Date", 1, false },        { "Reply-To", 1, false },
	{ "In-Reply-To", 1, false }, { "Content-", 1, false },
	{ "X-", 1, false },
};
enum { MAIL_WEIGHT = 3 }; /* of the fields of a mail, at least */

/* What the bytes say that a file begins with. */
enum mail_head {
	MAIL_NONE,
	MAIL_OPEN, /* it may be the header of a mail: more bytes are needed */
	MAIL_HEAD,
};

static enum mail_head look_for_mail(const uint8_t *head, size_t len)
{
	const char *at = (const char *)head, *end;
	bool is_over = false, has_evidence = false;
	size_t next, line, name, colon, i;
	unsigned weight = 0;

	end = at + (len < SNIFF_MAIL_BYTES ? len : SNIFF_MAIL_BYTES);
	at += sniff_mail_begin(head, (size_t)(end - at));
	if (sniff_is_mailbox(at, (size_t)(end - at))) {
		(void)line_length(at, (size_t)(end - at), &next);
		at += next;
	}
	for (; at < end && !is_over; at += next) {
		line = line_length(at, (size_t)(end - at), &next);
		is_over = !line;
		if (!line || *at == ' ' || *at == '\t')
			continue;
		for (name = 0; name < line && at[name] > ' ' &&
			       at[name] <= '~' && at[name] != ':';
		     name++)
			;
		for (colon = name; colon < line && at[colon] == ' '; colon++)
			;
		if (colon < line ? at[colon] != ':' : at + next < end)
			return MAIL_NONE;
		for (i = 0; i < COUNT(mail_fields); i++) {
			if (!is_field(at, name, mail_fields[i].name))
				continue;
			weight += mail_fields[i].weight;
			has_evidence |= mail_fields[i].is_evidence;
		}
	}
	if (has_evidence && weight >= MAIL_WEIGHT)
		return MAIL_HEAD;
	return weight && !is_over ? MAIL_OPEN : MAIL_NONE;
}

bool sniff_may_be_mail(const uint8_t *head, size_t len)
{
	return look_for_mail(head, len) == MAIL_OPEN;
}

/* ---- formats with a signature ---- */

struct signature {
	enum extract_kind kind;
	unsigned at, len;
	const char *bytes;
};

static const struct signature signatures[] = {
	{ EXTRACT_ZIP, 0, 4, "PK\3\4" },
	{ EXTRACT_ZIP, 0, 4, "PK\5\6" },
	{ EXTRACT_7Z, 0, 6, "7z\xbc\xaf\x27\x1c" },
	{ EXTRACT_GZIP, 0, 3, "\x1f\x8b\x08" },
	{ EXTRACT_XZ, 0, 6,
	  "\xfd"
	  "7zXZ\0" },
	{ EXTRACT_ZSTD, 0, 4, "\x28\xb5\x2f\xfd" },
	{ EXTRACT_RTF, 0, 5, "{\\rtf" },
	{ EXTRACT_OLE, 0, 8, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" },
	{ EXTRACT_TAR, 257, 5, "ustar" },
	/* ar and Debian's packages, RPM, cabinets, rar, xar, lha */
	{ EXTRACT_UNREAD, 0, 8, "!<arch>\n" },
	{ EXTRACT_UNREAD, 0, 4, "\xed\xab\xee\xdb" },
	{ EXTRACT_UNREAD, 0, 8, "MSCF\0\0\0" },
	{ EXTRACT_UNREAD, 0, 6, "Rar!\x1a\x07" },
	{ EXTRACT_UNREAD, 0, 4, "xar!" },
	{ EXTRACT_UNREAD, 2, 5, "-lh5-" },
	/* cpio, CDs, squashfs, Windows' images */
	{ EXTRACT_UNREAD, 0, 6, "070701" },
	{ EXTRACT_UNREAD, 0, 6, "070702" },
	{ EXTRACT_UNREAD, 0, 6, "070707" },
	{ EXTRACT_UNREAD, 0, 2, "\xc7\x71" },
	{ EXTRACT_UNREAD, 32769, 5, "CD001" },
	{ EXTRACT_UNREAD, 0, 4, "hsqs" },
	{ EXTRACT_UNREAD, 0, 8, "MSWIM\0\0" },
	/* compress, lz4, lzip, lzop, lzma, zstd behind a frame to be skipped */
	{ EXTRACT_UNREAD, 0, 2, "\x1f\x9d" },
	{ EXTRACT_UNREAD, 0, 4, "\x04\x22\x4d\x18" },
	{ EXTRACT_UNREAD, 0, 4, "\x02\x21\x4c\x18" },
	{ EXTRACT_UNREAD, 0, 5, "LZIP\1" },
	{ EXTRACT_UNREAD, 0, 4, "\x89LZO" },
	{ EXTRACT_UNREAD, 0, 3, "\x5d\0\0" },
	{ EXTRACT_UNREAD, 1, 3, "\x2a\x4d\x18" },
	/* WordPerfect, Mobipocket, DjVu, help, notes, Outlook's */
	{ EXTRACT_UNREAD, 0, 4, "\xffWPC" },
	{ EXTRACT_UNREAD, 60, 8, "BOOKMOBI" },
	{ EXTRACT_UNREAD, 0, 8, "AT&TFORM" },
	{ EXTRACT_UNREAD, 0, 4, "ITSF" },
	{ EXTRACT_UNREAD, 0, 4, "\xe4\x52\x5c\x7b" },
	{ EXTRACT_UNREAD, 0, 4, "!BDN" },
	{ EXTRACT_UNREAD, 0, 4, "\x78\x9f\x3e\x22" },
};

enum { FLAT_BYTES = 1024 }; /* what stands before its first element */

/* In a RIFF, whose length is between, "VP8" tells that it is a WebP. */
static const struct signature pictures[] = {
	{ EXTRACT_JPEG, 0, 3, "\xff\xd8\xff" },
	{ EXTRACT_PNG, 0, 8, "\x89PNG\r\n\x1a\n" },
	{ EXTRACT_WEBP, 8, 7, "WEBPVP8" },
	{ EXTRACT_GIF, 0, 6, "GIF87a" },
	{ EXTRACT_GIF, 0, 6, "GIF89a" },
};

static enum extract_kind find_signature(const struct signature *all,
					size_t count, const uint8_t *head,
					size_t len)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (len >= all[i].at + all[i].len &&
		    !memcmp(head + all[i].at, all[i].bytes, all[i].len))
			return all[i].kind;
	return EXTRACT_UNKNOWN;
}

enum extract_kind sniff_picture(const uint8_t *head, size_t len)
{
	return find_signature(pictures, COUNT(pictures), head, len);
}

/* It may stand behind other bytes.  (As the signs are rare, this costs a tenth of
 * memmem().) */
static bool has_pdf_mark(const uint8_t *at, const uint8_t *end)
{
	while ((at = memchr(at, '%', (size_t)(end - at))) && end - at >= 5)
		if (!memcmp(at++, "%PDF-", 5))
			return true;
	return false;
}

/* An OpenDocument that is one file of XML. */
static bool is_flat_document(const uint8_t *head, size_t len)
{
	const size_t skip =
		len >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;

	return len > skip + 5 && !memcmp(head + skip, "<?xml", 5) &&
	       memmem(head, len < FLAT_BYTES ? len : FLAT_BYTES,
		      "<office:document ", 17);
}

enum extract_kind sniff_kind(const uint8_t *head, size_t len)
{
	const enum extract_kind kind =
		find_signature(signatures, COUNT(signatures), head, len);

	if (kind)
		return kind;
	if (len >= 10 && !memcmp(head, "BZh", 3) &&
	    (!memcmp(head + 4, "\x31\x41\x59\x26\x53\x59", 6) ||
	     !memcmp(head + 4, "\x17\x72\x45\x38\x50\x90", 6)))
		return EXTRACT_BZIP2;
	if (has_pdf_mark(head, head + (len < 1024 ? len : 1024)))
		return EXTRACT_PDF;
	if (is_flat_document(head, len))
		return EXTRACT_ODF;
	return look_for_mail(head, len) == MAIL_HEAD ? EXTRACT_MAIL :
						       EXTRACT_UNKNOWN;
}

/* ---- texts ---- */

enum { SAMPLE = 65536 }; /* bytes that are looked at */

/* Elements that a page begins with, and no source of a program. */
static const char *const page_tags[] = { "html", "head", "title", "body",
					 "meta", "base", "table" };

static bool begins(const char *text, const char *end, const char *what)
{
	const size_t len = strlen(what);

	return (size_t)(end - text) > len && !strncasecmp(text, what, len);
}

static const char *skip_blanks(const char *text, const char *end)
{
	while (text < end && (uint8_t)*text <= ' ')
		text++;
	return text;
}

bool sniff_html(const char *text, size_t len)
{
	const char *end = text + len, *over;
	bool is_comment, is_xml = false;
	size_t i;

	for (;; text = over + strlen(is_comment ? "-->" : "?>")) {
		text = skip_blanks(text, end);
		is_comment = begins(text, end, "<!--");
		if (!is_comment && !begins(text, end, "<?xml"))
			break;
		is_xml |= !is_comment;
		over = is_comment ?
			       memmem(text, (size_t)(end - text), "-->", 3) :
			       memmem(text, (size_t)(end - text), "?>", 2);
		if (!over)
			return is_comment; /* more bytes would tell */
	}
	if (begins(text, end, "<!doctype"))
		return begins(skip_blanks(text + 9, end), end, "html");
	if (is_xml)
		return begins(text, end, "<html");
	for (i = 0; text < end && *text == '<' && i < COUNT(page_tags); i++)
		if (begins(text + 1, end, page_tags[i]) &&
		    memchr(" \t\r\n>/", text[1 + strlen(page_tags[i])], 6))
			return true;
	return false;
}

enum { USUAL_LEAST = 95 }; /* percent of the units of a text */

/* The part, in percent, of units that are usual in UTF-16: 0 when there is
 * nothing that separates words, or fewer are usual than in a text. */
static unsigned rate_utf16(const uint8_t *data, size_t len, unsigned high)
{
	const size_t most = len / 2 * (100 - USUAL_LEAST) / 100;
	size_t i, usual = 0, spaces = 0;
	uint32_t c;

	/* Programs and pictures end it soon. */
	for (i = 0; i + 1 < len && i / 2 - usual <= most; i += 2) {
		c = (uint32_t)data[i + high] << 8 | data[i + 1 - high];
		spaces += c == ' ' || c == '\n' || c == 0x3001 || c == 0x3002;
		usual += c == '\t' || c == '\n' || c == '\r' ||
			 (c >= 0x20 && c < 0x530 && c != 0x7f) ||
			 (c >= 0x590 && c < 0x700) ||
			 (c >= 0x900 && c < 0xe80) ||
			 (c >= 0x1000 && c < 0x1100) ||
			 (c >= 0x1e00 && c < 0x2070) ||
			 (c >= 0x3000 && c < 0x3100) ||
			 (c >= 0xff00 && c < 0xfff0) ||
			 (c >= 0x4e00 && c < 0xa000) ||
			 (c >= 0xac00 && c < 0xd7a4) ||
			 (c >= 0xd800 && c < 0xe000);
	}
	return spaces && i / 2 - usual <= most ? (unsigned)(usual * 200 / i) :
						 0;
}

const char *sniff_wide(const uint8_t *data, size_t len)
{
	size_t sample = len < SAMPLE ? len : SAMPLE;
	unsigned little = rate_utf16(data, sample & ~(size_t)1, 1);
	unsigned big = rate_utf16(data, sample & ~(size_t)1, 0);

	if (len % 2 || (little < USUAL_LEAST && big < USUAL_LEAST))
		return NULL;
	return little >= big ? "UTF-16LE" : "UTF-16BE";
}

/* Texts have few control characters: at most one in this many. */
enum { CONTROL_SHARE = 200 };

bool sniff_controls(const uint8_t *data, size_t len)
{
	size_t i, found = 0;

	for (i = 0; i < len; i++)
		found +=
			data[i] < 0x20 && !memchr("\t\n\v\f\r\033", data[i], 6);
	return found > len / CONTROL_SHARE;
}

/* UTF-8, but for a last character that is cut off. */
static bool begins_as_utf8(const uint8_t *head, size_t len)
{
	size_t cut;

	for (cut = 0; cut < 4 && cut <= len; cut++)
		if (utf8_is_text(head, len - cut))
			return true;
	return false;
}

/* Characters that are compatible, compose with what is before them, or have no
 * width.  (Vowels of India and Burma compose with each other alone.) */
static const struct {
	uint16_t first, last;
} other_forms[] = {
	{ 0xa0, 0xa0 },     { 0xad, 0xad },     { 0x300, 0x36f },
	{ 0x653, 0x655 },   { 0x93c, 0x93c },   { 0x958, 0x95f },
	{ 0x9d7, 0x9d7 },   { 0x9dc, 0x9df },   { 0xb56, 0xb5d },
	{ 0xbd7, 0xbd7 },   { 0xcd5, 0xcd6 },   { 0xd57, 0xd57 },
	{ 0xdca, 0xddf },   { 0x102e, 0x102e }, { 0x1100, 0x11ff },
	{ 0x2000, 0x200f }, { 0x202a, 0x202f }, { 0x205f, 0x206f },
	{ 0x212a, 0x212b }, { 0x3000, 0x3000 }, { 0x3099, 0x309a },
	{ 0xf900, 0xffff },
};

/* Vowels that begin one of two parts. */
static const uint16_t first_parts[] = {
	0x9c7, 0xb47, 0xbc6, 0xbc7, 0xd46, 0xd47
};

static bool has_other_form(const uint8_t *at, size_t len)
{
	uint32_t c, before = 0;
	size_t i, step;
	int n;

	for (; len; at += step, len -= step, before = c) {
		n = *at < 0x80 ? 1 : utf8_check(at, len);
		step = n > 0 ? (size_t)n : 1;
		c = n > 1 ? utf8_decode(at, n) : 0;
		for (i = 0; c && i < COUNT(other_forms); i++)
			if (c >= other_forms[i].first &&
			    c <= other_forms[i].last)
				return true;
		for (i = 0; c && i < COUNT(first_parts); i++)
			if (before == first_parts[i] && (c & 0x7f) == 0x3e)
				return true;
	}
	return false;
}

enum { TEXT_BYTES = 4096 }; /* tell whether a file is a text */

bool sniff_is_document(const uint8_t *head, size_t len)
{
	if (sniff_picture(head, len) || sniff_kind(head, len) ||
	    sniff_may_be_mail(head, len))
		return true;
	len = len < TEXT_BYTES ? len : TEXT_BYTES;
	if (len >= 2 &&
	    (!memcmp(head, "\xff\xfe", 2) || !memcmp(head, "\xfe\xff", 2)))
		return true;
	if (memchr(head, 0, len))
		return sniff_wide(head, len & ~(size_t)1) != NULL;
	if (begins_as_utf8(head, len)) {
		const size_t skip =
			len >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;

		return sniff_html((const char *)head + skip, len - skip) ||
		       has_other_form(head, len) ||
		       memmem(head, len, "\033$", 2);
	}
	return !sniff_controls(head, len);
}
