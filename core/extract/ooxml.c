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
	bool in_text, is_skipped;
};

static enum extract_status string_start(void *arg, const char *name,
					const char **attributes)
{
	struct shared_strings *s = arg;

	(void)attributes;
	s->is_skipped |= !strcmp(name, "rPh");
	s->in_text = !strcmp(name, "t");
	return EXTRACT_OK;
}

static enum extract_status string_characters(void *arg, const char *text,
					     size_t len)
{
	struct shared_strings *s = arg;

	if (!s->in_text || s->is_skipped)
		return EXTRACT_OK;
	return buf_append(&s->text, text, len) ? EXTRACT_LIMIT : EXTRACT_OK;
}

static enum extract_status string_end(void *arg, const char *name)
{
	struct shared_strings *s = arg;
	size_t *ends;

	s->in_text = false;
	if (!strcmp(name, "rPh"))
		s->is_skipped = false;
	if (strcmp(name, "si"))
		return EXTRACT_OK;
	ends = array_with_room(s->ends, s->count, sizeof(*ends));
	if (!ends)
		return EXTRACT_LIMIT;
	s->ends = ends;
	s->ends[s->count++] = s->text.len;
	return EXTRACT_OK;
}

struct sheet {
	struct document *d;
	const struct shared_strings *strings;
	struct buf value;
	bool in_value, is_shared;
};

static enum extract_status sheet_start(void *arg, const char *name,
				       const char **attributes)
{
	struct sheet *s = arg;
	const char *type;

	if (!strcmp(name, "c")) {
		type = xml_attribute(attributes, "t");
		s->is_shared = type && !strcmp(type, "s");
	}
	s->in_value = !strcmp(name, "v") || !strcmp(name, "t");
	return EXTRACT_OK;
}

static enum extract_status sheet_characters(void *arg, const char *text,
					    size_t len)
{
	struct sheet *s = arg;

	return s->in_value && buf_append(&s->value, text, len) ? EXTRACT_LIMIT :
								 EXTRACT_OK;
}

static enum extract_status give_value(const struct sheet *s)
{
	const struct shared_strings *strings = s->strings;
	size_t begin, i;

	if (!s->is_shared)
		return document_text(s->d, s->value.data, s->value.len);
	i = strtoul(s->value.data, NULL, 10);
	if (i >= strings->count)
		return EXTRACT_OK;
	begin = i ? strings->ends[i - 1] : 0;
	return strings->ends[i] == begin ?
		       EXTRACT_OK :
		       document_text(s->d, strings->text.data + begin,
				     strings->ends[i] - begin);
}

static enum extract_status sheet_end(void *arg, const char *name)
{
	struct sheet *s = arg;
	enum extract_status status = EXTRACT_OK;

	s->in_value = false;
	if (!strcmp(name, "c")) {
		if (s->value.len)
			status = give_value(s);
		buf_clear(&s->value);
		if (!status)
			status = document_text(s->d, "\t", 1);
	} else if (!strcmp(name, "row")) {
		status = document_text(s->d, "\n", 1);
	}
	return status;
}

static enum extract_status sheet_read(struct document *d, const struct buf *xml,
				      const struct shared_strings *strings)
{
	static const struct xml_events events = { sheet_start, sheet_characters,
						  sheet_end };
	struct sheet s = { .d = d, .strings = strings };
	enum extract_status status = xml_parse(xml, &events, &s);

	buf_release(&s.value);
	return status;
}

static enum extract_status strings_read(const struct package *p,
					struct shared_strings *out)
{
	static const struct xml_events events = { string_start,
						  string_characters,
						  string_end };
	const struct package_part *part = package_find(p, strings_part);

	return part ? xml_parse(&part->content, &events, out) : EXTRACT_OK;
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
