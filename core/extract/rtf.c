/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/extract/parsers.h"

/*
 * RTF: groups in braces, control words that begin with a backslash, the rest
 * is text in a code page.  What a group sets ends with it.
 */

enum { GROUPS_MAX = 256, FONTS_MAX = 512, WORD_MAX = 32 };

/* What counts in a group. */
struct rtf_group {
	uint16_t skipped; /* characters behind \u that old readers show */
	uint16_t charset; /* of the font; 0: the document's */
	bool is_hidden;   /* no text, as in a list of fonts */
	bool is_picture;  /* or an object, which is hidden, too */
	bool is_fonts;
};

struct rtf {
	struct document *d;
	const uint8_t *at, *end;
	struct rtf_group stack[GROUPS_MAX], now;
	unsigned depth, beyond; /* groups that are too deep to be kept */
	unsigned page;          /* code page of the document */
	unsigned font;          /* that is being described */
	uint16_t font_charsets[FONTS_MAX];
	unsigned to_skip;
	uint32_t high;    /* the first half of a pair of surrogates */
	struct buf bytes; /* in a code page, not decoded yet */
	unsigned bytes_page;
};

enum rtf_word_kind {
	WORD_HIDE, /* a destination without text */
	WORD_PICTURE,
	WORD_CHAR,
	WORD_PAGE,
	WORD_UNICODE,
	WORD_SKIP_COUNT,
	WORD_FONTS,
	WORD_FONT,
	WORD_CHARSET,
	WORD_HIDDEN, /* as a property: deleted, or not shown */
	WORD_PLAIN,
	WORD_BINARY,
	WORD_SHOW,
};

static const struct {
	const char *word;
	enum rtf_word_kind kind;
	uint32_t c;
} words[] = {
	{ "ansicpg", WORD_PAGE, 0 },     { "bin", WORD_BINARY, 0 },
	{ "bullet", WORD_CHAR, 0x2022 }, { "cell", WORD_CHAR, '\t' },
	{ "colortbl", WORD_HIDE, 0 },    { "deleted", WORD_HIDDEN, 0 },
	{ "emdash", WORD_CHAR, 0x2014 }, { "endash", WORD_CHAR, 0x2013 },
	{ "f", WORD_FONT, 0 },           { "fcharset", WORD_CHARSET, 0 },
	{ "fldinst", WORD_HIDE, 0 },     { "fonttbl", WORD_FONTS, 0 },
	{ "footnote", WORD_SHOW, 0 },    { "generator", WORD_HIDE, 0 },
	{ "info", WORD_HIDE, 0 },        { "ldblquote", WORD_CHAR, 0x201c },
	{ "line", WORD_CHAR, '\n' },     { "listtext", WORD_HIDE, 0 },
	{ "lquote", WORD_CHAR, 0x2018 }, { "nonshppict", WORD_HIDE, 0 },
	{ "object", WORD_PICTURE, 0 },   { "page", WORD_CHAR, '\n' },
	{ "par", WORD_CHAR, '\n' },      { "pict", WORD_PICTURE, 0 },
	{ "plain", WORD_PLAIN, 0 },      { "rdblquote", WORD_CHAR, 0x201d },
	{ "row", WORD_CHAR, '\n' },      { "rquote", WORD_CHAR, 0x2019 },
	{ "sect", WORD_CHAR, '\n' },     { "stylesheet", WORD_HIDE, 0 },
	{ "tab", WORD_CHAR, '\t' },      { "u", WORD_UNICODE, 0 },
	{ "uc", WORD_SKIP_COUNT, 0 },    { "v", WORD_HIDDEN, 0 },
	{ "themedata", WORD_HIDE, 0 },   { "datastore", WORD_HIDE, 0 },
};

/* Code pages of \fcharset. */
static const struct {
	uint16_t charset, page;
} charsets[] = {
	{ 77, 10000 }, { 128, 932 },  { 129, 949 },  { 134, 936 },
	{ 136, 950 },  { 161, 1253 }, { 162, 1254 }, { 163, 1258 },
	{ 177, 1255 }, { 178, 1256 }, { 186, 1257 }, { 204, 1251 },
	{ 222, 874 },  { 238, 1250 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- text ---- */

static enum extract_status flush_bytes(struct rtf *r)
{
	enum extract_status status;
	struct buf text = { 0 };
	char name[24];

	if (!r->bytes.len)
		return EXTRACT_OK;
	(void)snprintf(name, sizeof(name),
		       r->bytes_page == 10000 ? "macintosh" :
		       r->bytes_page == 437 || r->bytes_page == 850 ?
						"ibm-%u" :
						"windows-%u",
		       r->bytes_page);
	status = text_decode(name, (uint8_t *)r->bytes.data, r->bytes.len,
			     &text, &r->d->result.flags);
	if (!status && text.len)
		status = document_text(r->d, text.data, text.len);
	buf_clear(&r->bytes);
	buf_release(&text);
	return status;
}

static enum extract_status give_byte(struct rtf *r, uint8_t byte)
{
	unsigned page = r->now.charset ? r->now.charset : r->page;
	enum extract_status status = EXTRACT_OK;

	if (r->to_skip) {
		r->to_skip--;
		return EXTRACT_OK;
	}
	r->d->result.unread += r->now.is_picture;
	if (r->now.is_hidden || r->now.is_fonts)
		return EXTRACT_OK;
	if (page != r->bytes_page)
		status = flush_bytes(r);
	r->bytes_page = page;
	return !status && buf_append(&r->bytes, &byte, 1) ? EXTRACT_LIMIT :
							    status;
}

static enum extract_status give_char(struct rtf *r, uint32_t c)
{
	enum extract_status status = flush_bytes(r);
	struct buf text = { 0 };

	if (status || r->now.is_hidden || r->now.is_fonts)
		return status;
	if (c >= 0xd800 && c < 0xdc00) {
		r->high = c;
		return EXTRACT_OK;
	}
	if (c >= 0xdc00 && c < 0xe000 && r->high)
		c = 0x10000 + ((r->high - 0xd800) << 10) + (c - 0xdc00);
	r->high = 0;
	if (text_append_char(&text, c))
		status = EXTRACT_LIMIT;
	else
		status = document_text(r->d, text.data, text.len);
	buf_release(&text);
	return status;
}

/* ---- control words ---- */

static void set_charset(struct rtf *r, long charset)
{
	size_t i;

	if (r->font >= FONTS_MAX)
		return;
	for (i = 0; i < COUNT(charsets); i++)
		if (charsets[i].charset == charset)
			r->font_charsets[r->font] = charsets[i].page;
}

static enum extract_status obey_word(struct rtf *r, size_t which, long value,
				     bool has_value)
{
	switch (words[which].kind) {
	case WORD_CHAR:
		return give_char(r, words[which].c);
	case WORD_UNICODE:
		r->to_skip = 0;
		if (give_char(r, (uint32_t)value & 0xffff))
			return EXTRACT_LIMIT;
		r->to_skip = r->now.skipped;
		break;
	case WORD_PICTURE:
		r->now.is_picture = true;
		/* fall through */
	case WORD_HIDE:
		r->now.is_hidden = true;
		break;
	case WORD_SHOW:
		r->now.is_hidden = false;
		break;
	case WORD_HIDDEN:
		r->now.is_hidden |= !has_value || value;
		break;
	case WORD_PLAIN:
		r->now.charset = 0;
		break;
	case WORD_PAGE:
		r->page = (unsigned)value & 0xffff;
		break;
	case WORD_SKIP_COUNT:
		r->now.skipped = value >= 0 && value < 16 ? (uint16_t)value : 1;
		break;
	case WORD_FONTS:
		r->now.is_fonts = true;
		break;
	case WORD_FONT:
		r->font = value >= 0 ? (unsigned)value : FONTS_MAX;
		if (!r->now.is_fonts && r->font < FONTS_MAX)
			r->now.charset = r->font_charsets[r->font];
		break;
	case WORD_CHARSET:
		set_charset(r, value);
		break;
	case WORD_BINARY:
		value = value > 0 && value < r->end - r->at ? value : 0;
		r->at += value;
		r->d->result.unread += (uint64_t)value;
		break;
	}
	return EXTRACT_OK;
}

static enum extract_status read_symbol(struct rtf *r)
{
	uint8_t c = *r->at++;

	switch (c) {
	case '\'':
		if (r->end - r->at < 2 || text_hex_digit((char)r->at[0]) < 0 ||
		    text_hex_digit((char)r->at[1]) < 0)
			return EXTRACT_OK;
		c = (uint8_t)(text_hex_digit((char)r->at[0]) << 4 |
			      text_hex_digit((char)r->at[1]));
		r->at += 2;
		return give_byte(r, c);
	case '*':
		r->now.is_hidden = true;
		return EXTRACT_OK;
	case '~':
		return give_char(r, ' ');
	case '_':
		return give_char(r, '-');
	case '\n':
	case '\r':
		return give_char(r, '\n');
	case '{':
	case '}':
	case '\\':
		return give_byte(r, c);
	default:
		return EXTRACT_OK;
	}
}

static enum extract_status read_control(struct rtf *r)
{
	char word[WORD_MAX + 1], number[12];
	bool has_value;
	size_t i, len = 0, digits = 0;

	if (r->at == r->end)
		return EXTRACT_OK;
	if ((*r->at | 32) < 'a' || (*r->at | 32) > 'z')
		return read_symbol(r);
	while (r->at < r->end && len < WORD_MAX && (*r->at | 32) >= 'a' &&
	       (*r->at | 32) <= 'z')
		word[len++] = (char)*r->at++;
	word[len] = '\0';
	while (r->at < r->end && digits < sizeof(number) - 1 &&
	       ((*r->at >= '0' && *r->at <= '9') || (*r->at == '-' && !digits)))
		number[digits++] = (char)*r->at++;
	number[digits] = '\0';
	has_value = digits > 0;
	r->at += r->at < r->end && *r->at == ' ';
	for (i = 0; i < COUNT(words); i++)
		if (!strcmp(words[i].word, word))
			return obey_word(r, i, strtol(number, NULL, 10),
					 has_value);
	return EXTRACT_OK;
}

/* ---- groups ---- */

static void open_group(struct rtf *r)
{
	r->to_skip = 0;
	if (r->depth == GROUPS_MAX)
		r->beyond++;
	else
		r->stack[r->depth++] = r->now;
}

static void close_group(struct rtf *r)
{
	r->to_skip = 0;
	if (r->beyond)
		r->beyond--;
	else if (r->depth)
		r->now = r->stack[--r->depth];
}

static enum extract_status read_all(struct rtf *r)
{
	enum extract_status status = EXTRACT_OK;

	while (r->at < r->end && !status) {
		switch (*r->at++) {
		case '{':
			open_group(r);
			break;
		case '}':
			close_group(r);
			break;
		case '\\':
			status = read_control(r);
			break;
		case '\n':
		case '\r':
		case '\0':
			break;
		default:
			status = give_byte(r, r->at[-1]);
		}
	}
	return status ? status : flush_bytes(r);
}

enum extract_status rtf_read(struct document *d, const uint8_t *data,
			     size_t len)
{
	struct rtf *r = calloc(1, sizeof(*r));
	enum extract_status status;

	if (!r)
		return EXTRACT_LIMIT;
	r->d = d;
	r->at = data;
	r->end = data + len;
	r->page = 1252;
	r->now.skipped = 1;
	status = read_all(r);
	if (!status && r->depth)
		status = EXTRACT_DAMAGED; /* cut off */
	buf_release(&r->bytes);
	free(r);
	return status;
}
