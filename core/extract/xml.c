/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract/xml.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 256, PIECE = 1 << 16 };

/* ---- events ---- */

/* What is in front of the bytes of an event: of a text, or the name and, at the
 * begin of an element, names and values of attributes, all with their NUL. */
struct event_head {
	enum xml_event event;
	size_t len;
};

static const char *local_name(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon ? colon + 1 : name;
}

static void stop(struct xml *x, enum extract_status status)
{
	if (!x->status)
		x->status = status;
	(void)XML_StopParser(x->expat, XML_FALSE);
}

static void add(struct xml *x, const void *data, size_t len)
{
	if (buf_append(&x->events, data, len))
		stop(x, EXTRACT_LIMIT);
}

static void add_event(struct xml *x, enum xml_event event, const char *data,
		      size_t len)
{
	const struct event_head head = { event, len };

	add(x, &head, sizeof(head));
	add(x, data, len);
}

static void XMLCALL start_element(void *arg, const XML_Char *name,
				  const XML_Char **attributes)
{
	struct xml *x = arg;
	size_t at = x->events.len;
	struct event_head head = { .event = XML_BEGIN };

	if (++x->depth > DEPTH_MAX)
		stop(x, EXTRACT_LIMIT);
	name = local_name(name);
	add_event(x, XML_BEGIN, name, strlen(name) + 1);
	for (; *attributes; attributes += 2) {
		name = local_name(attributes[0]);
		add(x, name, strlen(name) + 1);
		add(x, attributes[1], strlen(attributes[1]) + 1);
	}
	add(x, "", 1);
	if (x->status)
		return;
	head.len = x->events.len - at - sizeof(head);
	memcpy(x->events.data + at, &head, sizeof(head));
}

static void XMLCALL end_element(void *arg, const XML_Char *name)
{
	struct xml *x = arg;

	x->depth--;
	name = local_name(name);
	add_event(x, XML_END, name, strlen(name) + 1);
}

static void XMLCALL characters(void *arg, const XML_Char *text, int len)
{
	add_event(arg, XML_TEXT, text, (size_t)len);
}

static void XMLCALL define_entity(void *arg, const XML_Char *name,
				  int is_parameter, const XML_Char *value,
				  int len, const XML_Char *base,
				  const XML_Char *system,
				  const XML_Char *public_id,
				  const XML_Char *notation)
{
	(void)name;
	(void)is_parameter;
	(void)value;
	(void)len;
	(void)base;
	(void)system;
	(void)public_id;
	(void)notation;
	stop(arg, EXTRACT_DAMAGED);
}

void xml_begin(struct xml *x, const struct buf *source)
{
	*x = (struct xml){ .source = source };
	x->expat = XML_ParserCreate(NULL);
	if (!x->expat) {
		x->status = EXTRACT_LIMIT;
		return;
	}
	XML_SetUserData(x->expat, x);
	XML_SetElementHandler(x->expat, start_element, end_element);
	XML_SetCharacterDataHandler(x->expat, characters);
	XML_SetEntityDeclHandler(x->expat, define_entity);
}

static void parse_more(struct xml *x)
{
	size_t left = x->source->len - x->at,
	       part = left < PIECE ? left : PIECE;

	buf_clear(&x->events);
	x->taken = 0;
	x->is_over = part == left;
	if (XML_Parse(x->expat, part ? x->source->data + x->at : "", (int)part,
		      x->is_over) != XML_STATUS_OK &&
	    !x->status)
		x->status = XML_GetErrorCode(x->expat) == XML_ERROR_NO_MEMORY ?
				    EXTRACT_LIMIT :
				    EXTRACT_DAMAGED;
	x->at += part;
}

bool xml_next(struct xml *x)
{
	struct event_head head;

	while (x->taken == x->events.len) {
		if (x->status || x->is_over)
			return false;
		parse_more(x);
	}
	if (x->status == EXTRACT_LIMIT)
		return false; /* the last event may be cut off */
	memcpy(&head, x->events.data + x->taken, sizeof(head));
	x->event = head.event;
	x->data = x->events.data + x->taken + sizeof(head);
	x->len = head.len;
	x->taken += sizeof(head) + head.len;
	return true;
}

enum extract_status xml_end(struct xml *x, enum extract_status status)
{
	XML_ParserFree(x->expat);
	buf_release(&x->events);
	return status ? status : x->status;
}

bool xml_is(const struct xml *x, enum xml_event event, const char *name)
{
	return x->event == event && !strcmp(x->data, name);
}

const char *xml_attribute(const struct xml *x, const char *name)
{
	const char *at = x->data + strlen(x->data) + 1, *value;

	for (; *at; at = value + strlen(value) + 1) {
		value = at + strlen(at) + 1;
		if (!strcmp(at, name))
			return value;
	}
	return NULL;
}

char *xml_find(const struct buf *source, const char *name)
{
	struct buf value = { 0 };
	bool is_open = false;
	struct xml x;

	xml_begin(&x, source);
	while (xml_next(&x) && !xml_is(&x, XML_END, name)) {
		if (x.event == XML_TEXT && is_open &&
		    buf_append(&value, x.data, x.len))
			break;
		is_open |= xml_is(&x, XML_BEGIN, name);
	}
	(void)xml_end(&x, EXTRACT_OK);
	return buf_take(&value);
}

/* ---- text by rules ---- */

static unsigned rule_of(const struct xml_rule *rules, const char *name)
{
	for (; rules->name; rules++)
		if (!strcmp(rules->name, name))
			return rules->what;
	return 0;
}

static bool is_false(const char *value)
{
	return value && (!strcmp(value, "0") || !strcmp(value, "false"));
}

enum extract_status xml_read_text(struct document *d, const struct buf *source,
				  const struct xml_rule *rules)
{
	enum extract_status status = EXTRACT_OK;
	unsigned collecting = 0, depth = 0; /* elements that are open */
	unsigned hidden = 0; /* the depth from which on nothing is shown */
	unsigned what;
	struct xml x;

	xml_begin(&x, source);
	while (!status && xml_next(&x)) {
		what = x.event == XML_TEXT ? 0 : rule_of(rules, x.data);
		depth += x.event == XML_BEGIN;
		if (x.event == XML_BEGIN && !hidden) {
			if (what & XML_SKIP)
				hidden = depth;
			else if (what & XML_HIDE && depth > 2 &&
				 !is_false(xml_attribute(&x, "val")))
				hidden = depth - 2;
		}
		if (hidden) {
			if (x.event == XML_END && hidden == depth)
				hidden = 0;
		} else if (x.event == XML_TEXT) {
			if (collecting)
				status = document_text(d, x.data, x.len);
		} else if (x.event == XML_BEGIN) {
			collecting += (what & XML_COLLECT) != 0;
			if (what & (XML_TAB | XML_HYPHEN))
				status = document_text(
					d, what & XML_TAB ? "\t" : "-", 1);
		} else {
			collecting -= (what & XML_COLLECT) != 0;
			if (what & XML_LINE)
				status = document_text(d, "\n", 1);
		}
		depth -= x.event == XML_END;
	}
	return xml_end(&x, status);
}
