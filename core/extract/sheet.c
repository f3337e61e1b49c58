/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract/sheet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/array.h"
#include "core/extract/xml.h"

/* ---- values ---- */

int cell_append_number(struct buf *out, const char *number)
{
	char *end;
	double value = strtod(number, &end);

	if (end == number || *end || !isfinite(value))
		return buf_append_text(out, number);
	return buf_append_format(out, "%.15g", value);
}

/* Days from the end of 1899 on, or from 1904 on. */
enum {
	DAY = 86400,
	DAYS_1899 = 25569, /* until 1970 */
	DAYS_1904 = 24107,
	DAYS_MOST = 2958466, /* until the year 10000 */
};

static int append_date(struct buf *out, const char *number, bool is_1904)
{
	const int offset = is_1904 ? DAYS_1904 : DAYS_1899;
	char *end, text[32];
	double days = strtod(number, &end);
	time_t seconds;
	struct tm t;

	if (end == number || *end || !(days >= 0 && days < DAYS_MOST))
		return buf_append_text(out, number);
	seconds = (time_t)llround((days - offset) * DAY);
	if (!gmtime_r(&seconds, &t))
		return -1;
	(void)strftime(text, sizeof(text),
		       days < 1                          ? "%H:%M:%S" :
		       t.tm_hour || t.tm_min || t.tm_sec ? "%Y-%m-%d %H:%M:%S" :
							   "%Y-%m-%d",
		       &t);
	return buf_append_text(out, text);
}

/* Whether a format shows a date or a time: it has a letter of these that is not
 * quoted. */
static bool is_date_code(const char *code)
{
	for (; *code; code++) {
		if (*code == '"' || *code == '[') {
			const char *over =
				strchr(code + 1, *code == '"' ? '"' : ']');

			/* Hours that go beyond a day are "[h]". */
			if (*code == '[' && strchr("hHmMsS", code[1]) &&
			    code[1])
				return true;
			if (!over)
				return false;
			code = over;
		} else if (*code == '\\' || *code == '_' || *code == '*') {
			code += code[1] != '\0';
		} else if (strchr("dDmMyYhHsS", *code)) {
			return true;
		}
	}
	return false;
}

/* Of those that every program knows. */
static bool is_date_format(long id)
{
	return (id >= 14 && id <= 22) || (id >= 27 && id <= 36) ||
	       (id >= 45 && id <= 47) || (id >= 50 && id <= 58);
}

/* "_x000D_" is a character that XML cannot have. */
static int append_unescaped(struct buf *out, const char *text, size_t len)
{
	uint32_t c;
	size_t i, j;
	int failed = 0;

	for (i = 0; i < len && !failed; i++) {
		c = 0;
		for (j = 2; len - i >= 7 && text[i] == '_' &&
			    text[i + 1] == 'x' && text[i + 6] == '_' && j < 6;
		     j++) {
			int digit = text_hex_digit(text[i + j]);

			if (digit < 0)
				break;
			c = c << 4 | (uint32_t)digit;
		}
		if (j == 6) {
			failed = text_append_char(out, c);
			i += 6;
		} else {
			failed = buf_append(out, text + i, 1);
		}
	}
	return failed;
}

/* ---- parts of a workbook ---- */

void workbook_release(struct workbook *b)
{
	buf_release(&b->strings);
	buf_release(&b->codes);
	free(b->string_ends);
	free(b->is_date_style);
}

enum extract_status workbook_read(struct workbook *b, const struct buf *source)
{
	const char *value;
	struct xml x;

	xml_begin(&x, source);
	while (xml_next(&x)) {
		if (!xml_is(&x, XML_BEGIN, "workbookPr"))
			continue;
		value = xml_attribute(&x, "date1904");
		b->is_1904 = value && (*value == '1' || *value == 't');
	}
	return xml_end(&x, EXTRACT_OK);
}

static enum extract_status end_string(struct workbook *b)
{
	size_t *ends =
		array_with_room(b->string_ends, b->string_count, sizeof(*ends));

	if (!ends)
		return EXTRACT_LIMIT;
	b->string_ends = ends;
	ends[b->string_count++] = b->strings.len;
	return EXTRACT_OK;
}

enum extract_status workbook_read_strings(struct workbook *b,
					  const struct buf *source)
{
	enum extract_status status = EXTRACT_OK;
	bool in_text = false, is_spoken = false; /* how it is pronounced */
	struct xml x;

	xml_begin(&x, source);
	while (!status && xml_next(&x)) {
		if (x.event == XML_TEXT) {
			if (in_text && !is_spoken &&
			    append_unescaped(&b->strings, x.data, x.len))
				status = EXTRACT_LIMIT;
			continue;
		}
		in_text = xml_is(&x, XML_BEGIN, "t");
		if (!strcmp(x.data, "rPh"))
			is_spoken = x.event == XML_BEGIN;
		if (xml_is(&x, XML_END, "si"))
			status = end_string(b);
	}
	return xml_end(&x, status);
}

/* Whether the formats of the workbook's own that were read say so. */
static bool is_own_date(const struct workbook *b, long id)
{
	const char *at = b->codes.data, *end = at + b->codes.len;

	for (; at < end; at += strlen(at) + 1)
		if (strtol(at, NULL, 10) == id)
			return is_date_code(at + strcspn(at, " "));
	return false;
}

static enum extract_status add_style(struct workbook *b, const char *format)
{
	const long id = format ? strtol(format, NULL, 10) : 0;
	bool *all =
		array_with_room(b->is_date_style, b->style_count, sizeof(*all));

	if (!all)
		return EXTRACT_LIMIT;
	b->is_date_style = all;
	all[b->style_count++] = is_date_format(id) || is_own_date(b, id);
	return EXTRACT_OK;
}

enum extract_status workbook_read_styles(struct workbook *b,
					 const struct buf *source)
{
	enum extract_status status = EXTRACT_OK;
	const char *id, *code;
	bool is_cells = false;
	struct xml x;

	xml_begin(&x, source);
	while (!status && xml_next(&x)) {
		if (x.event == XML_TEXT)
			continue;
		if (!strcmp(x.data, "cellXfs"))
			is_cells = x.event == XML_BEGIN;
		if (x.event == XML_END)
			continue;
		if (is_cells && !strcmp(x.data, "xf"))
			status = add_style(b, xml_attribute(&x, "numFmtId"));
		if (strcmp(x.data, "numFmt"))
			continue;
		id = xml_attribute(&x, "numFmtId");
		code = xml_attribute(&x, "formatCode");
		if (id && code &&
		    (buf_append_format(&b->codes, "%s %s", id, code) ||
		     buf_append(&b->codes, "", 1)))
			status = EXTRACT_LIMIT;
	}
	return xml_end(&x, status);
}

/* ---- a sheet ---- */

struct cell {
	char type; /* 's'hared, 'n'umber, 'b'oolean; others are as they are */
	size_t style;
	struct buf value;
};

static void begin_cell(struct cell *c, const struct xml *x)
{
	const char *type = xml_attribute(x, "t");
	const char *style = xml_attribute(x, "s");

	c->type = !type || !strcmp(type, "n") ? 'n' :
		  !strcmp(type, "s")          ? 's' :
		  !strcmp(type, "b")          ? 'b' :
						'-';
	c->style = style ? strtoul(style, NULL, 10) : 0;
	buf_clear(&c->value);
}

static int append_cell(struct buf *out, const struct workbook *b,
		       const struct cell *c)
{
	const char *value = c->value.data;
	size_t i, begin;

	switch (c->type) {
	case 's':
		i = strtoul(value, NULL, 10);
		if (i >= b->string_count)
			return 0;
		begin = i ? b->string_ends[i - 1] : 0;
		return buf_append(out, b->strings.data + begin,
				  b->string_ends[i] - begin);
	case 'b':
		return buf_append_text(out, *value == '1' ? "TRUE" : "FALSE");
	case 'n':
		if (c->style < b->style_count && b->is_date_style[c->style])
			return append_date(out, value, b->is_1904);
		return cell_append_number(out, value);
	default:
		return append_unescaped(out, value, c->value.len);
	}
}

enum extract_status workbook_read_sheet(const struct workbook *b,
					struct document *d,
					const struct buf *source)
{
	enum extract_status status = EXTRACT_OK;
	struct cell c = { .type = '-' };
	struct buf text = { 0 };
	bool in_value = false;
	struct xml x;

	xml_begin(&x, source);
	while (!status && xml_next(&x)) {
		if (x.event == XML_TEXT) {
			if (in_value && buf_append(&c.value, x.data, x.len))
				status = EXTRACT_LIMIT;
			continue;
		}
		in_value = xml_is(&x, XML_BEGIN, "v") ||
			   xml_is(&x, XML_BEGIN, "t");
		if (xml_is(&x, XML_BEGIN, "c")) {
			begin_cell(&c, &x);
		} else if (xml_is(&x, XML_END, "c") && c.value.len) {
			buf_clear(&text);
			if (append_cell(&text, b, &c) ||
			    buf_append(&text, "\t", 1))
				status = EXTRACT_LIMIT;
			else
				status = document_text(d, text.data, text.len);
		} else if (xml_is(&x, XML_END, "row")) {
			status = document_text(d, "\n", 1);
		}
	}
	buf_release(&c.value);
	buf_release(&text);
	return xml_end(&x, status);
}
