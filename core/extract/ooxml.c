/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/extract/xml.h"

/* Word and PowerPoint: text is in t, whatever is around it.  What was deleted
 * is in delText and field codes are in instrText. */
static const struct xml_rule text_rules[] = {
	{ "t", XML_COLLECT },     { "p", XML_LINE },
	{ "br", XML_TAB },        { "cr", XML_TAB },
	{ "tab", XML_TAB },       { "noBreakHyphen", XML_HYPHEN },
	{ "Fallback", XML_SKIP }, /* the other branch of AlternateContent */
	{ "moveFrom", XML_SKIP }, { "tabs", XML_SKIP }, /* where tabs stop */
	{ "rPh", XML_SKIP },      { NULL, 0 },
};

/* Parts in the order of reading; numbers in names count as numbers. */
static const struct {
	enum extract_kind kind;
	const char *pattern;
} text_parts[] = {
	{ EXTRACT_DOCX, "word/document*.xml" },
	{ EXTRACT_DOCX, "word/footnotes.xml" },
	{ EXTRACT_DOCX, "word/endnotes.xml" },
	{ EXTRACT_DOCX, "word/comments.xml" },
	{ EXTRACT_DOCX, "word/header*.xml" },
	{ EXTRACT_DOCX, "word/footer*.xml" },
	{ EXTRACT_PPTX, "ppt/slides/slide*.xml" },
	{ EXTRACT_PPTX, "ppt/notesSlides/notesSlide*.xml" },
	{ EXTRACT_XLSX, "xl/worksheets/*.xml" },
	{ EXTRACT_XLSX, "xl/comments*.xml" },
};

static const char strings_part[] = "xl/sharedStrings.xml";
static const char date_part[] = "docProps/core.xml";

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_wanted(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(text_parts); i++)
		if (!fnmatch(text_parts[i].pattern, name, FNM_PATHNAME))
			return true;
	return !strcmp(name, strings_part) || !strcmp(name, date_part);
}

/* ---- Excel ---- */

/* Strings that many cells share: their bytes one after the other, and where
 * each ends. */
struct shared_strings {
	struct buf text;
	size_t *ends;
	size_t count;
};

static enum extract_status end_string(struct shared_strings *s)
{
	size_t *ends = array_with_room(s->ends, s->count, sizeof(*ends));

	if (!ends)
		return EXTRACT_LIMIT;
	s->ends = ends;
	s->ends[s->count++] = s->text.len;
	return EXTRACT_OK;
}

static enum extract_status strings_read(const struct package *p,
					struct shared_strings *s)
{
	const struct package_part *part = package_find(p, strings_part);
	enum extract_status status = EXTRACT_OK;
	bool in_text = false, is_spoken = false; /* how it is pronounced */
	struct xml x;

	if (!part)
		return EXTRACT_OK;
	xml_begin(&x, &part->content);
	while (!status && xml_next(&x)) {
		if (x.event == XML_TEXT) {
			if (in_text && !is_spoken &&
			    buf_append(&s->text, x.data, x.len))
				status = EXTRACT_LIMIT;
			continue;
		}
		in_text = xml_is(&x, XML_BEGIN, "t");
		if (!strcmp(x.data, "rPh"))
			is_spoken = x.event == XML_BEGIN;
		if (xml_is(&x, XML_END, "si"))
			status = end_string(s);
	}
	return xml_end(&x, status);
}

static enum extract_status give_value(struct document *d,
				      const struct buf *value, bool is_shared,
				      const struct shared_strings *strings)
{
	size_t begin, i;

	if (!value->len)
		return EXTRACT_OK;
	if (!is_shared)
		return document_text(d, value->data, value->len);
	i = strtoul(value->data, NULL, 10);
	if (i >= strings->count)
		return EXTRACT_OK;
	begin = i ? strings->ends[i - 1] : 0;
	return document_text(d, strings->text.data + begin,
			     strings->ends[i] - begin);
}

static enum extract_status sheet_read(struct document *d,
				      const struct buf *source,
				      const struct shared_strings *strings)
{
	enum extract_status status = EXTRACT_OK;
	bool in_value = false, is_shared = false;
	struct buf value = { 0 };
	const char *type;
	struct xml x;

	xml_begin(&x, source);
	while (!status && xml_next(&x)) {
		if (x.event == XML_TEXT) {
			if (in_value && buf_append(&value, x.data, x.len))
				status = EXTRACT_LIMIT;
			continue;
		}
		in_value = xml_is(&x, XML_BEGIN, "v") ||
			   xml_is(&x, XML_BEGIN, "t");
		if (xml_is(&x, XML_BEGIN, "c")) {
			type = xml_attribute(&x, "t");
			is_shared = type && !strcmp(type, "s");
		} else if (xml_is(&x, XML_END, "c")) {
			status = give_value(d, &value, is_shared, strings);
			buf_clear(&value);
			if (!status)
				status = document_text(d, "\t", 1);
		} else if (xml_is(&x, XML_END, "row")) {
			status = document_text(d, "\n", 1);
		}
	}
	buf_release(&value);
	return xml_end(&x, status);
}

/* ---- a document ---- */

static int compare_parts(const void *a, const void *b)
{
	const struct package_part *const *x = a, *const *y = b;

	return strverscmp((*x)->name, (*y)->name);
}

/* All parts that match. */
static enum extract_status read_parts(struct document *d, struct package *p,
				      const char *pattern,
				      const struct shared_strings *strings)
{
	struct package_part **found = calloc(p->count, sizeof(*found));
	enum extract_status status = found ? EXTRACT_OK : EXTRACT_LIMIT;
	size_t i, count = 0;

	for (i = 0; i < p->count && !status; i++)
		if (!fnmatch(pattern, p->parts[i].name, FNM_PATHNAME))
			found[count++] = &p->parts[i];
	if (count)
		qsort(found, count, sizeof(*found), compare_parts);
	for (i = 0; i < count && !status; i++)
		status = strncmp(pattern, "xl/w", 4) ?
				 xml_read_text(d, &found[i]->content,
					       text_rules) :
				 sheet_read(d, &found[i]->content, strings);
	free(found);
	return status;
}

enum extract_status ooxml_read(struct document *d,
			       const struct extract_input *in,
			       struct package *p)
{
	struct shared_strings strings = { 0 };
	enum extract_status status = package_load(d, in, p, is_wanted);
	const struct package_part *core = package_find(p, date_part);
	char *date = core ? xml_find(&core->content, "modified") : NULL;
	size_t i;

	d->result.date = date_of_w3c(date);
	free(date);
	if (!status)
		status = strings_read(p, &strings);
	for (i = 0; i < COUNT(text_parts) && !status; i++)
		if (text_parts[i].kind == d->result.kind)
			status = read_parts(d, p, text_parts[i].pattern,
					    &strings);
	buf_release(&strings.text);
	free(strings.ends);
	return status;
}
