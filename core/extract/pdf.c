/* SPDX-License-Identifier: Apache-2.0 */
#include <poppler.h>
#include <stdlib.h>
#include <string.h>

#include "core/extract/poppler_data.h"
#include "core/extract/parsers.h"

/* kin-extract-pdf: the only source that knows of poppler. */

enum { PAGES_MAX = 5000 };

/* Loads what the library keeps as long as one document is open. */
static PopplerDocument *anchor;

/* ---- text ---- */

/* A line that ends with a hyphen goes on in the next one, when that begins with
 * a small letter: the hyphen goes. */
static bool is_broken_word(const char *line_end, const char *begin)
{
	const char *before = g_utf8_find_prev_char(begin, line_end);
	const char *next = line_end;

	if (!before || !g_unichar_isalpha(g_utf8_get_char(before)))
		return false;
	next = g_utf8_next_char(next);
	while (*next == '\r' || *next == '\n')
		next++;
	return next > g_utf8_next_char(line_end) &&
	       g_unichar_islower(g_utf8_get_char(next));
}

/*
 * Where a font does not tell what its signs mean, the library takes their numbers
 * for characters: signs that are rare stand for letters.  Of ciphered texts they
 * are 13 percent of the visible characters and more, of texts at most 7, and of
 * programs in C 11.
 */
enum { ODD_SHARE = 8, VISIBLE_LEAST = 100 };

struct signs {
	size_t visible, odd;
};

static void count_sign(struct signs *s, gunichar c)
{
	const bool is_control = c < ' ' && (!c || !strchr("\t\n\f\r", (int)c));
	const bool is_rare = c < 0x80 && g_unichar_isgraph(c) &&
			     !g_unichar_isalnum(c) &&
			     !strchr(".,;:'\"()-/!?_", (int)c);

	s->visible += is_control || g_unichar_isgraph(c);
	s->odd += is_control || is_rare || c == 0xfffd ||
		  g_unichar_type(c) == G_UNICODE_PRIVATE_USE;
}

/* Joins words, takes out what is for the layout; in place. */
static size_t clean_text(char *text, struct signs *signs)
{
	char *to = text;
	const char *at, *next;
	gunichar c;

	for (at = text; *at; at = next) {
		next = g_utf8_next_char(at);
		c = g_utf8_get_char(at);
		count_sign(signs, c);
		if (c == '\f' || c == '\r')
			c = '\n';
		if ((c == '-' || c == 0x2010 || c == 0xad) &&
		    is_broken_word(at, text)) {
			next += strspn(next, "\r\n");
			continue;
		}
		if (text_is_layout(c))
			continue;
		to += g_unichar_to_utf8(c, to);
	}
	return (size_t)(to - text);
}

/* In canonical composition, with plain characters in place of compatible ones. */
static char *normalize(const char *raw)
{
	gunichar decomposed[G_UNICHAR_MAX_DECOMPOSITION_LENGTH];
	GString *simple = g_string_new(NULL);
	gsize i, count;
	gunichar c;
	char *text;

	for (; *raw; raw = g_utf8_next_char(raw)) {
		c = g_utf8_get_char(raw);
		count = text_is_compatible(c) ?
				g_unichar_fully_decompose(
					c, TRUE, decomposed,
					G_UNICHAR_MAX_DECOMPOSITION_LENGTH) :
				0;
		for (i = 0; i < count; i++)
			g_string_append_unichar(simple, decomposed[i]);
		if (!count)
			g_string_append_unichar(simple, c);
	}
	text = g_utf8_normalize(simple->str, -1, G_NORMALIZE_DEFAULT_COMPOSE);
	g_string_free(simple, TRUE);
	return text;
}

static enum extract_status read_page(struct document *d, PopplerPage *page,
				     struct signs *signs)
{
	char *raw = poppler_page_get_text(page), *text = NULL;
	enum extract_status status = EXTRACT_OK;
	size_t len;

	if (raw && g_utf8_validate(raw, -1, NULL))
		text = normalize(raw);
	if (text) {
		len = clean_text(text, signs);
		if (len)
			status = document_put(d, text, len);
		if (!status)
			status = document_put(d, "\n", 1);
	} else {
		d->result.flags |= EXTRACT_PARTIAL;
	}
	g_free(text);
	g_free(raw);
	return status;
}

static enum extract_status read_pages(struct document *d, PopplerDocument *pdf)
{
	int i, count = poppler_document_get_n_pages(pdf);
	enum extract_status status = EXTRACT_OK;
	struct signs signs = { 0 };
	PopplerPage *page;

	if (count > PAGES_MAX)
		return EXTRACT_LIMIT;
	for (i = 0; i < count && !status; i++) {
		page = poppler_document_get_page(pdf, i);
		if (!page) {
			d->result.flags |= EXTRACT_PARTIAL;
			continue;
		}
		status = read_page(d, page, &signs);
		g_object_unref(page);
	}
	if (signs.visible >= VISIBLE_LEAST &&
	    signs.odd * ODD_SHARE > signs.visible)
		d->result.flags |= EXTRACT_DEGRADED;
	return status || d->is_visible ? status : EXTRACT_NO_TEXT;
}

/* ---- what is no text ---- */

/*
 * A stream counts as not read if it says that it is a picture or an attachment; or
 * if it is compressed and larger than what draws a page of text: drawings, and forms
 * in XML.  Fonts with their tables, and what tells of colours and objects, do not.
 */
enum { DRAWING_LEAST = 4096, DICTIONARY_MOST = 2048 };

static const char *const unread_names[] = { "/Image", "/EmbeddedFile", NULL };
static const char *const table_names[] = {
	"/Length1", "/Type1C", "/CIDFontType0C", "/OpenType", "/CMap",
	"/N",       "/XRef",   "/ObjStm",        "/Metadata", NULL,
};

/* Whether a dictionary has one of the names. */
static bool has_name(const char *at, const char *end, const char *const *names)
{
	const char *found, *from;
	size_t len;

	for (; *names; names++) {
		len = strlen(*names);
		for (from = at;
		     (found = memmem(from, (size_t)(end - from), *names, len));
		     from = found + len)
			if (found + len == end || !g_ascii_isalnum(found[len]))
				return true;
	}
	return false;
}

static bool is_unread(const char *dictionary, const char *end, size_t size)
{
	static const char *const filter[] = { "/Filter", NULL };

	if (has_name(dictionary, end, unread_names))
		return true;
	return size > DRAWING_LEAST && has_name(dictionary, end, filter) &&
	       !has_name(dictionary, end, table_names);
}

/* Streams stand in a file as they are, whatever else is compressed. */
static uint64_t count_unread(const uint8_t *data, size_t len)
{
	const char *at = (const char *)data, *end = at + len;
	const char *begin, *over, *object;
	uint64_t sum = 0;

	while ((begin = memmem(at, (size_t)(end - at), "stream", 6))) {
		over = memmem(begin + 6, (size_t)(end - begin - 6), "endstream",
			      9);
		over = over ? over : end;
		if (begin - at > DICTIONARY_MOST)
			at = begin - DICTIONARY_MOST;
		while ((object = memmem(at, (size_t)(begin - at), "obj", 3)))
			at = object + 3;
		if (is_unread(at, begin, (size_t)(over - begin)))
			sum += (uint64_t)(over - begin);
		at = over + (over < end ? 9 : 0);
	}
	return sum;
}

/* ---- a document ---- */

static int64_t date_of_pdf(PopplerDocument *pdf)
{
	GDateTime *date = poppler_document_get_modification_date_time(pdf);
	int64_t seconds = EXTRACT_NO_DATE;
	char *xmp = NULL;
	const char *at;

	if (date) {
		seconds = g_date_time_to_unix(date);
		g_date_time_unref(date);
		return seconds;
	}
	/* xmp:ModifyDate="..." or an element of that name */
	xmp = poppler_document_get_metadata(pdf);
	at = xmp ? strstr(xmp, "ModifyDate") : NULL;
	if (at)
		seconds = date_of_w3c(at + strcspn(at, "0123456789"));
	g_free(xmp);
	return seconds;
}

static enum extract_status open_pdf(const uint8_t *data, size_t len,
				    PopplerDocument **out)
{
	GBytes *bytes = g_bytes_new_static(data, len);
	enum extract_status status = EXTRACT_OK;
	GError *error = NULL;

	*out = poppler_document_new_from_bytes(bytes, NULL, &error);
	g_bytes_unref(bytes);
	if (!*out)
		status = g_error_matches(error, POPPLER_ERROR,
					 POPPLER_ERROR_ENCRYPTED) ?
				 EXTRACT_ENCRYPTED :
				 EXTRACT_DAMAGED;
	g_clear_error(&error);
	return status;
}

void reader_read(struct extract_output *o, const struct extract_input *in)
{
	struct document d = document_new(o, 0);
	PopplerDocument *pdf = NULL;
	const uint8_t *data;
	uint8_t *owned;
	size_t len;

	d.result.kind = EXTRACT_PDF;
	poppler_data_missed = false;
	d.result.status = input_load(in, &data, &len, &owned);
	if (!d.result.status)
		d.result.status = open_pdf(data, len, &pdf);
	if (pdf) {
		d.result.date = date_of_pdf(pdf);
		d.result.status = read_pages(&d, pdf);
		g_object_unref(pdf);
	}
	d.result.unread = d.result.status ? in->size : count_unread(data, len);
	free(owned);
	if (poppler_data_missed)
		d.result.flags |= EXTRACT_DEGRADED;
	output_end(o, &d.result);
	document_release(&d);
}

/* ---- before the process is confined ---- */

static const char anchor_pdf[] =
	"%PDF-1.4\n"
	"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
	"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
	"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R"
	"/Resources<</Font<</F 5 0 R>>>>>>endobj\n"
	"4 0 obj<</Length 29>>stream\n"
	"BT /F 9 Tf 1 1 Td (a-b) Tj ET\n"
	"endstream endobj\n"
	"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n"
	"trailer<</Root 1 0 R>>\n";

const uint64_t reader_memory = 1 << 30;

int reader_warm_up(void)
{
	static struct extract_output none = { .fd = -1 };
	struct document d = document_new(&none, 0);
	struct signs signs = { 0 };
	PopplerPage *page;
	char *text;

	glib_be_quiet();
	none.limits = extract_limits_default;
	if (poppler_data_load())
		return -1;
	if (open_pdf((const uint8_t *)anchor_pdf, sizeof(anchor_pdf) - 1,
		     &anchor))
		return -1;
	page = poppler_document_get_page(anchor, 0);
	if (!page || read_page(&d, page, &signs))
		return -1;
	g_object_unref(page);
	text = normalize("\xef\xac\x81");
	g_free(text);
	return 0;
}

int main(void)
{
	return serve_requests();
}
