/* SPDX-License-Identifier: Apache-2.0 */
#include <libxml/HTMLparser.h>
#include <string.h>
#include <strings.h>

#include "core/extract/parsers.h"

/* The text of HTML, as libxml2 takes it apart: nothing is an error. */

/* Tags that are inside of a line; any other ends it. */
static const char *const inline_tags[] = {
	"a",      "abbr",   "b",    "bdi",  "bdo", "big",  "cite",  "code",
	"em",     "del",    "dfn",  "font", "i",   "img",  "ins",   "kbd",
	"mark",   "q",      "ruby", "rb",   "s",   "samp", "small", "span",
	"strong", "strike", "sub",  "sup",  "tt",  "u",    "var",   "wbr",
};

/* Elements whose content is no text. */
static const char *const hidden_tags[] = { "script",   "style",   "title",
					   "iframe",   "noembed", "noframes",
					   "template", "rp",      "rt" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct html {
	struct document *d;
	xmlParserCtxt *parser;
	enum extract_status status;
	unsigned hidden; /* elements without text that are open */
	bool is_spaced;  /* white space was given out last */
};

static bool is_among(const xmlChar *name, const char *const *names,
		     size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(names[i], (const char *)name))
			return true;
	return false;
}

static void give(struct html *h, const char *text, size_t len)
{
	h->is_spaced = false;
	if (!h->status)
		h->status = document_text(h->d, text, len);
	if (h->status)
		xmlStopParser(h->parser);
}

static void give_space(struct html *h, const char *space)
{
	if (!h->is_spaced)
		give(h, space, 1);
	h->is_spaced = true;
}

static void begin_element(void *arg, const xmlChar *name,
			  const xmlChar **attributes)
{
	struct html *h = arg;

	/* A picture may stand in the place of its address. */
	for (; attributes && *attributes; attributes += 2)
		if (attributes[1] &&
		    !strncasecmp((const char *)attributes[1], "data:", 5))
			h->d->result.unread +=
				strlen((const char *)attributes[1]);
	h->hidden += is_among(name, hidden_tags, COUNT(hidden_tags));
	if (!is_among(name, inline_tags, COUNT(inline_tags)))
		give_space(h, "\n");
}

static void end_element(void *arg, const xmlChar *name)
{
	struct html *h = arg;

	if (h->hidden)
		h->hidden -= is_among(name, hidden_tags, COUNT(hidden_tags));
	if (!is_among(name, inline_tags, COUNT(inline_tags)))
		give_space(h, "\n");
}

/* White space is one space. */
static void characters(void *arg, const xmlChar *text, int len)
{
	struct html *h = arg;
	const xmlChar *end = text + len, *begin;

	while (text < end && !h->hidden && !h->status) {
		for (begin = text; text<end && * text> ' '; text++)
			;
		if (text > begin)
			give(h, (const char *)begin, (size_t)(text - begin));
		for (begin = text; text < end && *text <= ' '; text++)
			;
		if (text > begin)
			give_space(h, " ");
	}
}

/* Scripts and styles. */
static void drop_characters(void *arg, const xmlChar *text, int len)
{
	(void)arg;
	(void)text;
	(void)len;
}

/* "<![if !mso]>" and "<![endif]>": a browser takes what is no document type for
 * a comment until ">".  libxml2 does so with "<?name". */
static void comment_declarations(char *html, size_t len)
{
	char *at = html, *end = html + len;

	while ((at = memmem(at, (size_t)(end - at), "<!", 2))) {
		at += 2;
		if (end - at < 2 || !memcmp(at, "--", 2) || (*at | 32) == 'd')
			continue;
		at[-1] = '?';
		*at = 'x';
	}
}

enum {
	OPTIONS = HTML_PARSE_RECOVER | HTML_PARSE_NOERROR |
		  HTML_PARSE_NOWARNING | HTML_PARSE_NONET |
		  HTML_PARSE_NOIMPLIED | HTML_PARSE_IGNORE_ENC
};

enum extract_status html_read(struct document *d, const char *html, size_t len)
{
	static const xmlSAXHandler handler = {
		.startElement = begin_element,
		.endElement = end_element,
		.characters = characters,
		.ignorableWhitespace = characters,
		.cdataBlock = drop_characters,
	};
	struct html h = { .d = d, .parser = htmlNewParserCtxt() };
	struct buf page = { 0 };

	if (!h.parser || buf_append(&page, html, len)) {
		htmlFreeParserCtxt(h.parser);
		return EXTRACT_LIMIT;
	}
	comment_declarations(page.data, page.len);
	*h.parser->sax = handler;
	h.parser->userData = &h;
	xmlFreeDoc(htmlCtxtReadMemory(h.parser, page.data, (int)page.len, NULL,
				      "UTF-8", OPTIONS));
	if (!h.status && h.parser->errNo == XML_ERR_NO_MEMORY)
		h.status = EXTRACT_LIMIT;
	htmlFreeParserCtxt(h.parser);
	buf_release(&page);
	return h.status;
}
