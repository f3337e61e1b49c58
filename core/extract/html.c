/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/extract/parsers.h"

/* The text of HTML as people write it: nothing is an error. */

enum { NAME_MAX_LEN = 12, ENTITY_MAX_LEN = 10 };

/* Tags that are inside of a line; any other ends it. */
static const char *const inline_tags[] = {
	"a",      "abbr",   "b",    "bdi",  "bdo", "big",  "cite",  "code",
	"em",     "del",    "dfn",  "font", "i",   "img",  "ins",   "kbd",
	"mark",   "q",      "ruby", "rb",   "s",   "samp", "small", "span",
	"strong", "strike", "sub",  "sup",  "tt",  "u",    "var",   "wbr",
};

/* Elements whose content is no text. */
static const char *const hidden_tags[] = { "script",   "style", "title",
					   "template", "rp",    "rt" };

/* U+00A0 to U+00FF. */
static const char latin_entities[] =
	"nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not "
	"shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 "
	"ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde "
	"Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc "
	"Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave "
	"Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml "
	"aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml "
	"eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave "
	"uacute ucirc uuml yacute thorn yuml ";

static const struct {
	const char *name;
	uint32_t c;
} entities[] = {
	{ "amp", '&' },       { "lt", '<' },        { "gt", '>' },
	{ "quot", '"' },      { "apos", '\'' },     { "ndash", 0x2013 },
	{ "mdash", 0x2014 },  { "lsquo", 0x2018 },  { "rsquo", 0x2019 },
	{ "sbquo", 0x201a },  { "ldquo", 0x201c },  { "rdquo", 0x201d },
	{ "bdquo", 0x201e },  { "bull", 0x2022 },   { "hellip", 0x2026 },
	{ "euro", 0x20ac },   { "trade", 0x2122 },  { "minus", 0x2212 },
	{ "oelig", 0x153 },   { "OElig", 0x152 },   { "thinsp", 0x2009 },
	{ "ensp", 0x2002 },   { "emsp", 0x2003 },   { "zwnj", 0x200c },
	{ "zwj", 0x200d },    { "lrm", 0x200e },    { "rlm", 0x200f },
	{ "lsaquo", 0x2039 }, { "rsaquo", 0x203a }, { "prime", 0x2032 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct html {
	struct document *d;
	const char *at, *end;
	bool is_spaced; /* white space was given out last */
};

static bool is_among(const char *name, const char *const *names, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static enum extract_status give(struct html *h, const char *text, size_t len)
{
	h->is_spaced = false;
	return document_text(h->d, text, len);
}

static enum extract_status give_space(struct html *h, const char *space)
{
	if (h->is_spaced)
		return EXTRACT_OK;
	h->is_spaced = true;
	return document_text(h->d, space, 1);
}

/* Moves behind a text, or to the end. */
static void skip_past(struct html *h, const char *text)
{
	const char *found =
		memmem(h->at, (size_t)(h->end - h->at), text, strlen(text));

	h->at = found ? found + strlen(text) : h->end;
}

/* Moves to the end tag of a hidden element. */
static void skip_hidden(struct html *h, const char *name)
{
	size_t len = strlen(name);

	for (; h->at < h->end; h->at++)
		if (*h->at == '<' && (size_t)(h->end - h->at) > len + 2 &&
		    h->at[1] == '/' && !strncasecmp(h->at + 2, name, len))
			return;
}

static void skip_attributes(struct html *h)
{
	char quote = 0;

	for (; h->at < h->end; h->at++) {
		if (quote)
			quote = *h->at == quote ? 0 : quote;
		else if ((*h->at == '"' || *h->at == '\'') && h->at[-1] == '=')
			quote = *h->at;
		else if (*h->at == '>')
			break;
	}
	h->at += h->at < h->end;
}

static enum extract_status read_tag(struct html *h)
{
	char name[NAME_MAX_LEN + 1] = "";
	bool is_end = *h->at == '/';
	size_t len = 0;

	h->at += is_end;
	while (h->at < h->end && len < NAME_MAX_LEN &&
	       ((*h->at | 32) >= 'a' ? (*h->at | 32) <= 'z' :
				       *h->at >= '0' && *h->at <= '9'))
		name[len++] = (char)(*h->at++ | 32);
	skip_attributes(h);
	if (!is_end && is_among(name, hidden_tags, COUNT(hidden_tags)) &&
	    h->at[-2] != '/')
		skip_hidden(h, name);
	return is_among(name, inline_tags, COUNT(inline_tags)) ?
		       EXTRACT_OK :
		       give_space(h, "\n");
}

static uint32_t find_entity(const char *name)
{
	char key[ENTITY_MAX_LEN + 2];
	const char *at, *found;
	uint32_t c = 0xa0;
	size_t i;

	if (*name == '#')
		return (uint32_t)((name[1] | 32) == 'x' ?
					  strtoul(name + 2, NULL, 16) :
					  strtoul(name + 1, NULL, 10));
	for (i = 0; i < COUNT(entities); i++)
		if (!strcmp(entities[i].name, name))
			return entities[i].c;
	(void)snprintf(key, sizeof(key), "%s ", name);
	for (at = latin_entities; *at; at = found + 1, c++) {
		found = strchr(at, ' ');
		if (!strncmp(at, key, (size_t)(found + 1 - at)))
			return c;
	}
	return 0;
}

static enum extract_status read_entity(struct html *h)
{
	char name[ENTITY_MAX_LEN + 1];
	enum extract_status status = EXTRACT_OK;
	struct buf text = { 0 };
	size_t len = 0;
	uint32_t c;

	while (h->at + len < h->end && len < ENTITY_MAX_LEN &&
	       h->at[len] != ';' && (uint8_t)h->at[len] > ' ')
		len++;
	memcpy(name, h->at, len);
	name[len] = '\0';
	c = h->at + len < h->end && h->at[len] == ';' ? find_entity(name) : 0;
	if (!c)
		return give(h, "&", 1);
	h->at += len + 1;
	if (c == 0xa0 || c == ' ')
		return give_space(h, " ");
	if (text_append_char(&text, c))
		status = EXTRACT_LIMIT;
	if (!status)
		status = give(h, text.data, text.len);
	buf_release(&text);
	return status;
}

static enum extract_status read_markup(struct html *h)
{
	size_t left = (size_t)(h->end - ++h->at);

	if (left >= 3 && !memcmp(h->at, "!--", 3)) {
		skip_past(h, "-->");
		return EXTRACT_OK;
	}
	if (left && (*h->at == '!' || *h->at == '?')) {
		skip_past(h, ">");
		return EXTRACT_OK;
	}
	if (left &&
	    (*h->at == '/' || ((*h->at | 32) >= 'a' && (*h->at | 32) <= 'z')))
		return read_tag(h);
	return give(h, "<", 1);
}

enum extract_status html_read(struct document *d, const char *html, size_t len)
{
	struct html h = { .d = d, .at = html, .end = html + len };
	enum extract_status status = EXTRACT_OK;
	const char *begin;

	while (h.at < h.end && !status) {
		begin = h.at;
		while (h.at < h.end && (uint8_t)*h.at > ' ' && *h.at != '<' &&
		       *h.at != '&')
			h.at++;
		if (h.at > begin)
			status = give(&h, begin, (size_t)(h.at - begin));
		else if (*h.at == '<')
			status = read_markup(&h);
		else if (*h.at++ == '&')
			status = read_entity(&h);
		else
			status = give_space(&h, " ");
	}
	return status;
}
