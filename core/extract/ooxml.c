/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/extract/sheet.h"
#include "core/extract/xml.h"

/*
 * Word, Excel and PowerPoint.  Parts have any names: what a part is, the
 * relationships say that lead to it from the root of the package.
 */

/* Text is in t, whatever is around it.  What was deleted is in del or delText,
 * and field codes are in instrText. */
static const struct xml_rule text_rules[] = {
	{ "t", XML_COLLECT },
	{ "p", XML_LINE },
	{ "br", XML_TAB },
	{ "cr", XML_TAB },
	{ "tab", XML_TAB },
	{ "noBreakHyphen", XML_HYPHEN },
	{ "Fallback", XML_SKIP }, /* the other branch of AlternateContent */
	{ "moveFrom", XML_SKIP },
	{ "tabs", XML_SKIP }, /* where tabs stop */
	{ "del", XML_SKIP },
	{ "vanish", XML_HIDE },
	{ "rPh", XML_SKIP }, /* how it is pronounced */
	{ "comment", XML_LINE },
	{ "text", XML_COLLECT | XML_LINE },
	{ "numCache", XML_SKIP }, /* values of charts; their names follow */
	{ "v", XML_COLLECT },
	{ "pt", XML_LINE },
	{ NULL, 0 },
};

enum part_use {
	USE_MAIN, /* also a sheet, in workbooks of some programs */
	USE_WORDS,
	USE_CHUNK, /* a document of any format; a page needs no beginning */
	USE_SHEET,
	USE_STRINGS,
	USE_STYLES,
	USE_DATE,
};

/* The last step of the type of a relationship, in the order of reading; and names
 * of such parts in a package whose main part has no relationships. */
static const struct part_type {
	const char *type, *pattern;
	enum part_use use;
} part_types[] = {
	{ "core-properties", "docProps/core.xml", USE_DATE },
	{ "sharedStrings", "xl/sharedStrings.xml", USE_STRINGS },
	{ "styles", "xl/styles.xml", USE_STYLES },
	{ "officeDocument", "", USE_MAIN },
	{ "aFChunk", "", USE_CHUNK },
	{ "footnotes", "word/footnotes.xml", USE_WORDS },
	{ "endnotes", "word/endnotes.xml", USE_WORDS },
	{ "header", "word/header*.xml", USE_WORDS },
	{ "footer", "word/footer*.xml", USE_WORDS },
	{ "slide", "ppt/slides/slide*.xml", USE_WORDS },
	{ "notesSlide", "ppt/notesSlides/notesSlide*.xml", USE_WORDS },
	{ "worksheet", "xl/worksheets/*.xml", USE_SHEET },
	{ "drawing", "xl/drawings/*.xml", USE_WORDS },
	{ "comments", "*/comment*.xml", USE_WORDS },
	{ "threadedComment", "", USE_WORDS },
	{ "diagramData", "*/diagrams/data*.xml", USE_WORDS },
	{ "chart", "*/charts/chart*.xml", USE_WORDS },
};

static const struct {
	enum extract_kind kind;
	const char *root; /* element of the main part */
	const char *name; /* where it is if no relationship says */
} kinds[] = {
	{ EXTRACT_DOCX, "document", "word/document.xml" },
	{ EXTRACT_XLSX, "workbook", "xl/workbook.xml" },
	{ EXTRACT_PPTX, "presentation", "ppt/presentation.xml" },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- which parts ---- */

struct office_part {
	const struct part_type *type;
	struct package_part *part;
};

struct office {
	struct package *package;
	struct office_part *parts; /* room for all of the package */
	size_t count;
};

static void add_part(struct office *o, const struct part_type *type,
		     struct package_part *part)
{
	if (!part || part->is_wanted)
		return;
	part->is_wanted = true;
	o->parts[o->count++] = (struct office_part){ type, part };
}

static const struct part_type *find_type(const char *url)
{
	const char *last = url ? strrchr(url, '/') : NULL;
	size_t i;

	for (i = 0; last && i < COUNT(part_types); i++)
		if (!strcasecmp(last + 1, part_types[i].type))
			return &part_types[i];
	return NULL;
}

/* "_rels/document.xml.rels" in the folder of a part; NULL. */
static struct package_part *find_relations(const struct package *p,
					   const char *from)
{
	const char *slash = strrchr(from, '/');
	const char *name = slash ? slash + 1 : from;
	struct package_part *part = NULL;
	struct buf path = { 0 };

	if (!buf_append_format(&path, "%.*s_rels/%s.rels", (int)(name - from),
			       from, name))
		part = package_find(p, path.data);
	buf_release(&path);
	return part;
}

/* Adds the parts to which a part leads; the root is "". */
static enum extract_status follow(struct office *o, const char *from)
{
	struct package_part *relations = find_relations(o->package, from);
	const struct part_type *type;
	const char *target;
	struct xml x;

	if (!relations)
		return EXTRACT_OK;
	xml_begin(&x, &relations->content);
	while (xml_next(&x)) {
		if (!xml_is(&x, XML_BEGIN, "Relationship"))
			continue;
		type = find_type(xml_attribute(&x, "Type"));
		target = xml_attribute(&x, "Target");
		if (type && target && !xml_attribute(&x, "TargetMode"))
			add_part(o, type,
				 package_follow(o->package, from, target));
	}
	return xml_end(&x, EXTRACT_OK);
}

static bool is_relations(const char *name)
{
	const size_t len = strlen(name);

	return len > 5 && !strcasecmp(name + len - 5, ".rels");
}

static void add_named(struct office *o)
{
	size_t i, j;

	for (i = 0; i < COUNT(part_types); i++)
		for (j = 0; j < o->package->count; j++)
			if (!fnmatch(part_types[i].pattern,
				     o->package->parts[j].name, FNM_CASEFOLD))
				add_part(o, &part_types[i],
					 &o->package->parts[j]);
}

static int compare_parts(const void *a, const void *b)
{
	const struct office_part *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return strverscmp(x->part->name, y->part->name);
}

static struct package_part *find_part(const struct office *o, const char *type)
{
	size_t i;

	for (i = 0; i < o->count; i++)
		if (!strcmp(o->parts[i].type->type, type))
			return o->parts[i].part;
	return NULL;
}

/* Finds all parts, the main one first of all, and loads them. */
static enum extract_status find_parts(struct office *o, struct document *d,
				      const struct extract_input *in)
{
	struct package *p = o->package;
	struct package_part *main_part;
	enum extract_status status;
	size_t i;

	for (i = 0; i < p->count; i++)
		p->parts[i].is_wanted = is_relations(p->parts[i].name);
	status = package_load(d, in, p);
	if (!status)
		status = follow(o, "");
	for (i = 0; i < COUNT(kinds) && !find_part(o, "officeDocument"); i++)
		add_part(o, find_type("/officeDocument"),
			 package_find(p, kinds[i].name));
	main_part = find_part(o, "officeDocument");
	if (!status && !main_part)
		return EXTRACT_UNSUPPORTED;
	if (!status && !find_relations(p, main_part->name))
		add_named(o);
	for (i = 0; i < o->count && !status; i++)
		status = follow(o, o->parts[i].part->name);
	if (!status)
		status = package_load(d, in, p);
	return status;
}

/* By its root; or by its name, so that one which cannot be parsed, or must not be, is
 * damaged, and no archive of its parts. */
static enum extract_kind kind_of(const struct package_part *part)
{
	enum extract_kind kind = EXTRACT_UNKNOWN;
	bool has_root;
	struct xml x;
	size_t i;

	xml_begin(&x, &part->content);
	has_root = xml_next(&x);
	for (i = 0; i < COUNT(kinds) && !kind; i++)
		if ((has_root && xml_is(&x, XML_BEGIN, kinds[i].root)) ||
		    !strcmp(part->name, kinds[i].name))
			kind = kinds[i].kind;
	(void)xml_end(&x, EXTRACT_OK);
	return kind;
}

/* ---- a document ---- */

static enum extract_status read_part(struct document *d, struct workbook *book,
				     const struct office_part *o)
{
	const struct buf *content = &o->part->content;
	enum part_use use = o->type->use;
	enum extract_status status = EXTRACT_OK;
	char *date;

	if (use == USE_MAIN) {
		status = workbook_read(book, content);
		use = d->result.kind == EXTRACT_XLSX ? USE_SHEET : USE_WORDS;
	}
	if (status)
		return status;
	switch (use) {
	case USE_DATE:
		date = xml_find(content, "modified");
		d->result.date = date_of_w3c(date);
		free(date);
		return EXTRACT_OK;
	case USE_CHUNK:
		if (!fnmatch("*.*htm*", o->part->name, FNM_CASEFOLD))
			return text_read_as(d, EXTRACT_HTML, NULL,
					    (const uint8_t *)content->data,
					    content->len);
		return member_read(d, o->part->name,
				   (const uint8_t *)content->data,
				   content->len);
	case USE_STRINGS:
		return workbook_read_strings(book, content);
	case USE_STYLES:
		return d->result.kind == EXTRACT_XLSX ?
			       workbook_read_styles(book, content) :
			       EXTRACT_OK;
	case USE_SHEET:
		return workbook_read_sheet(book, d, content);
	default:
		return xml_read_text(d, content, text_rules);
	}
}

enum extract_status ooxml_read(struct document *d,
			       const struct extract_input *in,
			       struct package *p)
{
	struct office o = { .package = p,
			    .parts = calloc(p->count + 1, sizeof(*o.parts)) };
	struct workbook book = { 0 };
	enum extract_status status =
		o.parts ? find_parts(&o, d, in) : EXTRACT_LIMIT;
	enum extract_kind kind = EXTRACT_UNKNOWN;
	size_t i;

	if (!status)
		kind = kind_of(find_part(&o, "officeDocument"));
	if (!status && kind == EXTRACT_UNKNOWN)
		status = EXTRACT_UNSUPPORTED;
	if (!status) {
		d->result.kind = kind;
		qsort(o.parts, o.count, sizeof(*o.parts), compare_parts);
	}
	for (i = 0; i < o.count && !status; i++)
		status = read_part(d, &book, &o.parts[i]);
	workbook_release(&book);
	free(o.parts);
	return status;
}
