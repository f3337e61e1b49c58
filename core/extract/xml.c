/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract/xml.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

enum { XML_DEPTH_MAX = 256, XML_PIECE = 1 << 20 };

/* ---- events ---- */

struct xml_parser {
	XML_Parser expat;
	const struct xml_events *events;
	void *arg;
	unsigned depth;
	enum extract_status status;
};

static const char *local_name(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon ? colon + 1 : name;
}

static void stop_at(struct xml_parser *p, enum extract_status status)
{
	if (!status || p->status)
		return;
	p->status = status;
	(void)XML_StopParser(p->expat, XML_FALSE);
}

static void XMLCALL start_element(void *arg, const XML_Char *name,
				  const XML_Char **attributes)
{
	struct xml_parser *p = arg;

	if (++p->depth > XML_DEPTH_MAX)
		stop_at(p, EXTRACT_LIMIT);
	else if (!p->status && p->events->start)
		stop_at(p,
			p->events->start(p->arg, local_name(name), attributes));
}

static void XMLCALL end_element(void *arg, const XML_Char *name)
{
	struct xml_parser *p = arg;

	p->depth--;
	if (!p->status && p->events->end)
		stop_at(p, p->events->end(p->arg, local_name(name)));
}

static void XMLCALL characters(void *arg, const XML_Char *text, int len)
{
	struct xml_parser *p = arg;

	if (!p->status && p->events->text)
		stop_at(p, p->events->text(p->arg, text, (size_t)len));
}

static void XMLCALL start_doctype(void *arg, const XML_Char *name,
				  const XML_Char *system,
				  const XML_Char *public_id, int internal)
{
	(void)name;
	(void)system;
	(void)public_id;
	(void)internal;
	stop_at(arg, EXTRACT_DAMAGED);
}

enum extract_status xml_parse(const struct buf *xml,
			      const struct xml_events *events, void *arg)
{
	struct xml_parser p = { .events = events, .arg = arg };
	enum XML_Status result = XML_STATUS_OK;
	size_t at = 0, part;

	p.expat = XML_ParserCreate(NULL);
	if (!p.expat)
		return EXTRACT_LIMIT;
	XML_SetUserData(p.expat, &p);
	XML_SetElementHandler(p.expat, start_element, end_element);
	XML_SetCharacterDataHandler(p.expat, characters);
	XML_SetStartDoctypeDeclHandler(p.expat, start_doctype);
	do {
		part = xml->len - at < XML_PIECE ? xml->len - at : XML_PIECE;
		result = XML_Parse(p.expat, xml->data + at, (int)part,
				   at + part == xml->len);
		at += part;
	} while (result == XML_STATUS_OK && at < xml->len);
	if (result != XML_STATUS_OK && !p.status)
		p.status = XML_GetErrorCode(p.expat) == XML_ERROR_NO_MEMORY ?
				   EXTRACT_LIMIT :
				   EXTRACT_DAMAGED;
	XML_ParserFree(p.expat);
	return p.status;
}

const char *xml_attribute(const char **attributes, const char *name)
{
	for (; *attributes; attributes += 2)
		if (!strcmp(local_name(attributes[0]), name))
			return attributes[1];
	return NULL;
}

/* ---- text by rules ---- */

struct xml_text {
	struct document *d;
	const struct xml_rule *rules;
	unsigned collecting, skipping; /* elements that are open */
};

static unsigned rule_of(const struct xml_rule *rules, const char *name)
{
	for (; rules->name; rules++)
		if (!strcmp(rules->name, name))
			return rules->what;
	return 0;
}

static enum extract_status text_start(void *arg, const char *name,
				      const char **attributes)
{
	struct xml_text *t = arg;
	unsigned what = rule_of(t->rules, name);

	(void)attributes;
	if (t->skipping || (what & XML_SKIP)) {
		t->skipping++;
		return EXTRACT_OK;
	}
	t->collecting += (what & XML_COLLECT) != 0;
	if (what & XML_TAB)
		return document_text(t->d, "\t", 1);
	return what & XML_HYPHEN ? document_text(t->d, "-", 1) : EXTRACT_OK;
}

static enum extract_status text_end(void *arg, const char *name)
{
	struct xml_text *t = arg;
	unsigned what = rule_of(t->rules, name);

	if (t->skipping) {
		t->skipping--;
		return EXTRACT_OK;
	}
	t->collecting -= (what & XML_COLLECT) != 0;
	return what & XML_LINE ? document_text(t->d, "\n", 1) : EXTRACT_OK;
}

static enum extract_status text_characters(void *arg, const char *text,
					   size_t len)
{
	const struct xml_text *t = arg;

	return t->collecting && !t->skipping ? document_text(t->d, text, len) :
					       EXTRACT_OK;
}

enum extract_status xml_read_text(struct document *d, const struct buf *xml,
				  const struct xml_rule *rules)
{
	static const struct xml_events events = { text_start, text_characters,
						  text_end };
	struct xml_text t = { .d = d, .rules = rules };

	return xml_parse(xml, &events, &t);
}

/* ---- one value ---- */

struct xml_value {
	const char *name;
	bool is_open;
	struct buf value;
};

static enum extract_status value_start(void *arg, const char *name,
				       const char **attributes)
{
	struct xml_value *v = arg;

	(void)attributes;
	v->is_open |= !strcmp(name, v->name);
	return EXTRACT_OK;
}

static enum extract_status value_characters(void *arg, const char *text,
					    size_t len)
{
	struct xml_value *v = arg;

	return v->is_open && buf_append(&v->value, text, len) ? EXTRACT_LIMIT :
								EXTRACT_OK;
}

/* Stops the parser, too. */
static enum extract_status value_end(void *arg, const char *name)
{
	const struct xml_value *v = arg;

	return strcmp(name, v->name) ? EXTRACT_OK : EXTRACT_NO_TEXT;
}

char *xml_find(const struct buf *xml, const char *name)
{
	static const struct xml_events events = { value_start, value_characters,
						  value_end };
	struct xml_value v = { .name = name };

	(void)xml_parse(xml, &events, &v);
	return buf_take(&v.value);
}
