/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/extract/sheet.h"
#include "core/extract/xml.h"

static const struct xml_rule odf_rules[] = {
	{ "p", XML_COLLECT | XML_LINE },
	{ "h", XML_COLLECT | XML_LINE },
	{ "tab", XML_TAB },
	{ "s", XML_TAB },
	{ "line-break", XML_TAB },
	{ "tracked-changes", XML_SKIP }, /* has what was deleted */
	{ "annotation", XML_SKIP },
	{ "hidden-text", XML_SKIP },
	{ "hidden-paragraph", XML_SKIP },
	{ "title", XML_SKIP }, /* of a drawing */
	{ "desc", XML_SKIP },
	{ "binary-data", XML_SKIP },
	{ "master-styles", XML_SKIP }, /* where all is one file */
	{ NULL, 0 },
};

/* ---- tables ---- */

struct odf_table {
	struct document *d;
	struct xml x;
	struct buf text; /* of the paragraphs in a cell, or beside all */
	struct buf cell; /* its value, if that is no text */
	struct buf row;
	unsigned columns, rows; /* how often a cell and a row are there */
	unsigned depth, hidden; /* the depth from which on nothing counts */
	unsigned paragraphs;    /* that are open */
	bool in_cell;
};

static unsigned repetition(const struct xml *x, const char *name)
{
	const char *value = xml_attribute(x, name);
	unsigned long times = value ? strtoul(value, NULL, 10) : 1;

	return times > 1 && times < UINT32_MAX ? (unsigned)times : 1;
}

/* "PT10H20M30S" */
static int append_time(struct buf *out, const char *time)
{
	unsigned hours, minutes, seconds;

	if (sscanf(time, "PT%uH%uM%uS", &hours, &minutes, &seconds) != 3)
		return buf_append_text(out, time);
	return buf_append_format(out, "%02u:%02u:%02u", hours, minutes,
				 seconds);
}

static int begin_cell(struct odf_table *t)
{
	const char *number = xml_attribute(&t->x, "value");
	const char *date = xml_attribute(&t->x, "date-value");
	const char *time = xml_attribute(&t->x, "time-value");
	char *blank;
	int failed;

	t->in_cell = true;
	t->columns = repetition(&t->x, "number-columns-repeated");
	buf_clear(&t->text);
	buf_clear(&t->cell);
	if (number)
		return cell_append_number(&t->cell, number);
	if (time)
		return append_time(&t->cell, time);
	if (!date)
		return 0;
	failed = buf_append_text(&t->cell, date);
	blank = failed ? NULL : strchr(t->cell.data, 'T');
	if (blank)
		*blank = ' ';
	return failed;
}

static int end_cell(struct odf_table *t)
{
	const struct buf *value = t->cell.len ? &t->cell : &t->text;
	unsigned i;
	int failed = 0;

	for (i = 0; value->len && i < t->columns && !failed; i++)
		failed = t->row.len > t->d->out->limits.text ||
			 buf_append(&t->row, value->data, value->len) ||
			 buf_append(&t->row, "\t", 1);
	t->in_cell = false;
	buf_clear(&t->text);
	return failed;
}

static enum extract_status end_row(struct odf_table *t)
{
	enum extract_status status = EXTRACT_OK;
	unsigned i;

	for (i = 0; t->row.len && i < t->rows && !status; i++) {
		status = document_text(t->d, t->row.data, t->row.len);
		if (!status)
			status = document_text(t->d, "\n", 1);
	}
	buf_clear(&t->row);
	return status;
}

static enum extract_status end_paragraph(struct odf_table *t)
{
	enum extract_status status;

	t->paragraphs -= t->paragraphs > 0;
	if (buf_append_text(&t->text, t->in_cell ? " " : "\n"))
		return EXTRACT_LIMIT;
	if (t->in_cell)
		return EXTRACT_OK;
	status = document_text(t->d, t->text.data, t->text.len);
	buf_clear(&t->text);
	return status;
}

static unsigned rule_of(const char *name)
{
	const struct xml_rule *rule = odf_rules;

	while (rule->name && strcmp(rule->name, name))
		rule++;
	return rule->what;
}

static enum extract_status take_event(struct odf_table *t)
{
	const char *name = t->x.data;
	const bool is_begin = t->x.event == XML_BEGIN;
	unsigned what;
	int failed = 0;

	if (t->x.event == XML_TEXT) {
		if (t->paragraphs)
			failed = buf_append(&t->text, name, t->x.len);
		return failed ? EXTRACT_LIMIT : EXTRACT_OK;
	}
	what = rule_of(name);
	if (what & XML_LINE && !is_begin)
		return end_paragraph(t);
	if (what & XML_COLLECT)
		t->paragraphs++;
	else if (what & XML_TAB && is_begin)
		failed = buf_append_text(&t->text, " ");
	else if (!strcmp(name, "table-cell"))
		failed = is_begin ? begin_cell(t) : end_cell(t);
	else if (!strcmp(name, "table-row") && !is_begin)
		return end_row(t);
	else if (!strcmp(name, "table-row"))
		t->rows = repetition(&t->x, "number-rows-repeated");
	return failed ? EXTRACT_LIMIT : EXTRACT_OK;
}

static enum extract_status read_tables(struct document *d,
				       const struct buf *source)
{
	enum extract_status status = EXTRACT_OK;
	struct odf_table t = { .d = d };

	xml_begin(&t.x, source);
	while (!status && xml_next(&t.x)) {
		t.depth += t.x.event == XML_BEGIN;
		if (t.x.event == XML_BEGIN && !t.hidden &&
		    rule_of(t.x.data) & XML_SKIP)
			t.hidden = t.depth;
		if (!t.hidden)
			status = take_event(&t);
		if (t.x.event == XML_END && t.depth-- == t.hidden)
			t.hidden = 0;
	}
	buf_release(&t.text);
	buf_release(&t.cell);
	buf_release(&t.row);
	return xml_end(&t.x, status);
}

/* ---- documents ---- */

static bool has_tables(const struct buf *source)
{
	bool is_body = false, found = false;
	struct xml x;

	xml_begin(&x, source);
	while (xml_next(&x)) {
		if (x.event != XML_BEGIN)
			continue;
		if (is_body) {
			found = xml_is(&x, XML_BEGIN, "spreadsheet");
			break;
		}
		is_body = xml_is(&x, XML_BEGIN, "body");
	}
	(void)xml_end(&x, EXTRACT_OK);
	return found;
}

static enum extract_status read_content(struct document *d,
					const struct buf *content,
					const struct buf *meta)
{
	char *date = xml_find(meta, "date");

	d->result.kind = EXTRACT_ODF;
	d->result.date = date_of_w3c(date);
	free(date);
	return has_tables(content) ? read_tables(d, content) :
				     xml_read_text(d, content, odf_rules);
}

enum extract_status odf_read_flat(struct document *d, const uint8_t *data,
				  size_t len)
{
	struct buf source = { 0 };
	enum extract_status status = buf_append(&source, data, len) ?
					     EXTRACT_LIMIT :
					     read_content(d, &source, &source);

	buf_release(&source);
	return status;
}

/* Encrypted parts are listed with how to decrypt them. */
static enum extract_status find_encryption(const struct buf *manifest)
{
	enum extract_status status = EXTRACT_OK;
	struct xml x;

	xml_begin(&x, manifest);
	while (!status && xml_next(&x))
		if (xml_is(&x, XML_BEGIN, "encryption-data"))
			status = EXTRACT_ENCRYPTED;
	return xml_end(&x, status);
}

/* Newer programs encrypt all parts as one. */
enum extract_status odf_read(struct document *d, const struct extract_input *in,
			     struct package *p)
{
	const struct package_part *manifest =
		package_find(p, "META-INF/manifest.xml");
	const struct package_part *content = package_find(p, "content.xml");
	const struct package_part *meta = package_find(p, "meta.xml");
	enum extract_status status;

	if (!manifest || (!content && !package_find(p, "encrypted-package")))
		return EXTRACT_UNSUPPORTED;
	d->result.kind = EXTRACT_ODF;
	package_want(p, manifest->name);
	package_want(p, "content.xml");
	package_want(p, "meta.xml");
	status = package_load(d, in, p);
	if (!status)
		status = find_encryption(&manifest->content);
	if (status)
		return status;
	if (!content)
		return EXTRACT_DAMAGED;
	return read_content(d, &content->content,
			    meta ? &meta->content : &content->content);
}
