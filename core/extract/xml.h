/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXTRACT_XML_H
#define CORE_EXTRACT_XML_H

#include "core/extract/parsers.h"

/*
 * XML of Office files, an event at a time:
 *
 *	xml_begin(&x, source);
 *	while (!status && xml_next(&x))
 *		status = ...;
 *	return xml_end(&x, status);
 *
 * Names are local ones, without their namespace.  Depth is bounded, and where an
 * entity is defined, which none of these formats does, it is EXTRACT_DAMAGED.
 */
enum xml_event { XML_BEGIN, XML_TEXT, XML_END };

struct xml {
	enum xml_event event;
	const char *data; /* the name, or text without an end; until the next */
	size_t len;       /* of the text */

	/* private */
	struct XML_ParserStruct *expat; /* owned */
	const struct buf *source;
	struct buf events; /* that were parsed, one after the other */
	size_t taken;      /* of them */
	size_t at;         /* in the source */
	unsigned depth;
	bool is_over;
	enum extract_status status;
};

void xml_begin(struct xml *x, const struct buf *source);

/* False: it is over, or xml_end() says why not. */
bool xml_next(struct xml *x);

/* Frees; the status, or if that is EXTRACT_OK what ended the events. */
enum extract_status xml_end(struct xml *x, enum extract_status status);

/* Whether the event is the begin or the end of that element. */
bool xml_is(const struct xml *x, enum xml_event event, const char *name);

/* Of XML_BEGIN: the value of an attribute; NULL. */
const char *xml_attribute(const struct xml *x, const char *name);

/* The content of the first element of that name, to be freed; NULL. */
char *xml_find(const struct buf *source, const char *name);

/* What an element does. */
enum {
	XML_COLLECT = 1, /* its characters are text */
	XML_SKIP = 2,    /* with all that is in it */
	XML_LINE = 4,    /* a line ends with it */
	XML_TAB = 8,
	XML_HYPHEN = 16,
	XML_HIDE = 32, /* the element around the one around it is not shown */
};

/* Ends with a name that is NULL. */
struct xml_rule {
	const char *name;
	unsigned what;
};

/* The text of an element and all in it, in the order in which it comes. */
enum extract_status xml_read_text(struct document *d, const struct buf *source,
				  const struct xml_rule *rules);

#endif
