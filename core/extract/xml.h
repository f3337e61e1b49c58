/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXTRACT_XML_H
#define CORE_EXTRACT_XML_H

#include "core/extract/parsers.h"

/*
 * XML of Office files.  Names are local ones, without their namespace.  Depth
 * is bounded, and a document type, which none of these formats has, is
 * EXTRACT_DAMAGED: no entity is ever defined.
 */

/* What an element does. */
enum {
	XML_COLLECT = 1, /* its characters are text */
	XML_SKIP = 2,    /* with all that is in it */
	XML_LINE = 4,    /* a line ends with it */
	XML_TAB = 8,
	XML_HYPHEN = 16,
};

/* Ends with a name that is NULL. */
struct xml_rule {
	const char *name;
	unsigned what;
};

/* The text of an element and all in it, in the order in which it comes. */
enum extract_status xml_read_text(struct document *d, const struct buf *xml,
				  const struct xml_rule *rules);

/* For other things than text: an element at a time, a reader's own. */
struct xml_events {
	enum extract_status (*start)(void *arg, const char *name,
				     const char **attributes);
	enum extract_status (*text)(void *arg, const char *text, size_t len);
	enum extract_status (*end)(void *arg, const char *name);
};

enum extract_status xml_parse(const struct buf *xml,
			      const struct xml_events *events, void *arg);

/* The value of an attribute, by its local name; NULL. */
const char *xml_attribute(const char **attributes, const char *name);

/* The content of the first element of that name, to be freed; NULL. */
char *xml_find(const struct buf *xml, const char *name);

#endif
