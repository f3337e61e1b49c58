/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/extract/xml.h"

/* A book: container.xml names the package document, whose spine has the
 * chapters in order, as the identifiers of items of its manifest. */

struct book {
	json_t *items; /* identifier to path */
	json_t *spine; /* identifiers */
	struct buf date;
};

static enum extract_status find_root(const struct buf *container, char **out)
{
	enum extract_status status = EXTRACT_OK;
	const char *path;
	struct xml x;

	xml_begin(&x, container);
	while (!status && !*out && xml_next(&x)) {
		if (!xml_is(&x, XML_BEGIN, "rootfile"))
			continue;
		path = xml_attribute(&x, "full-path");
		*out = path ? strdup(path) : NULL;
		status = path && !*out ? EXTRACT_LIMIT : EXTRACT_OK;
	}
	return xml_end(&x, status);
}

/* Fonts are scrambled, which is no encryption of the text. */
static enum extract_status find_cipher(const struct buf *encryption)
{
	enum extract_status status = EXTRACT_OK;
	const char *method;
	struct xml x;

	xml_begin(&x, encryption);
	while (!status && xml_next(&x)) {
		if (!xml_is(&x, XML_BEGIN, "EncryptionMethod"))
			continue;
		method = xml_attribute(&x, "Algorithm");
		if (method && !strstr(method, "embedding") &&
		    !strstr(method, "pdf/enc#RC"))
			status = EXTRACT_ENCRYPTED;
	}
	return xml_end(&x, status);
}

static enum extract_status read_book(const struct buf *source, struct book *b)
{
	const char *id, *href, *chapter, *property;
	bool in_date = false;
	int failed = 0;
	struct xml x;

	xml_begin(&x, source);
	while (!failed && xml_next(&x)) {
		if (x.event == XML_TEXT && in_date)
			failed = buf_append(&b->date, x.data, x.len);
		if (x.event == XML_TEXT)
			continue;
		in_date = false;
		if (x.event == XML_END)
			continue;
		id = xml_attribute(&x, "id");
		href = xml_attribute(&x, "href");
		chapter = xml_attribute(&x, "idref");
		property = xml_attribute(&x, "property");
		if (!strcmp(x.data, "item") && id && href)
			failed = json_object_set_new(b->items, id,
						     json_string(href));
		else if (!strcmp(x.data, "itemref") && chapter)
			failed = json_array_append_new(b->spine,
						       json_string(chapter));
		in_date = !strcmp(x.data, "meta") && property &&
			  !strcmp(property, "dcterms:modified");
	}
	return xml_end(&x, failed ? EXTRACT_LIMIT : EXTRACT_OK);
}

/* "%20" in a reference. */
static void decode_href(char *href)
{
	char *to = href;
	int high, low;

	for (; *href && *href != '#'; href++) {
		high = *href == '%' ? text_hex_digit(href[1]) : -1;
		low = high >= 0 ? text_hex_digit(href[2]) : -1;
		*to++ = (char)(low >= 0 ? high << 4 | low : *href);
		href += low >= 0 ? 2 : 0;
	}
	*to = '\0';
}

/* Below the folder of the package document; NULL. */
static struct package_part *find_chapter(const struct package *p,
					 const char *root, const char *href)
{
	const char *slash = strrchr(root, '/');
	const size_t folder = slash ? (size_t)(slash + 1 - root) : 0;
	struct package_part *part = NULL;
	struct buf path = { 0 };

	if (href && !buf_append(&path, root, folder) &&
	    !buf_append_text(&path, href)) {
		decode_href(path.data + folder);
		part = package_find(p, path.data);
	}
	buf_release(&path);
	return part;
}

static enum extract_status read_chapters(struct document *d,
					 const struct package *p,
					 const struct book *b, const char *root)
{
	enum extract_status status = EXTRACT_OK;
	struct package_part *part;
	const char *id;
	size_t i;

	for (i = 0; i < json_array_size(b->spine) && !status; i++) {
		id = json_string_value(json_array_get(b->spine, i));
		part = find_chapter(
			p, root,
			json_string_value(json_object_get(b->items, id)));
		if (!part)
			d->result.flags |= EXTRACT_PARTIAL;
		else
			status = text_read_as(
				d, EXTRACT_HTML, NULL,
				(const uint8_t *)part->content.data,
				part->content.len);
		if (!status)
			status = document_text(d, "\n", 1);
	}
	return status;
}

static bool is_wanted(const char *name)
{
	static const char *const ends[] = { ".xhtml", ".html", ".htm", ".xml",
					    ".opf" };
	size_t i, len = strlen(name);

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (len > strlen(ends[i]) &&
		    !strcmp(name + len - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

enum extract_status epub_read(struct document *d,
			      const struct extract_input *in, struct package *p)
{
	enum extract_status status = package_load(d, in, p, is_wanted);
	struct package_part *part;
	struct book b = { json_object(), json_array(), { 0 } };
	char *root = NULL;

	part = package_find(p, "META-INF/encryption.xml");
	if (!status && part)
		status = find_cipher(&part->content);
	if (!status)
		status = find_root(
			&package_find(p, "META-INF/container.xml")->content,
			&root);
	part = root ? package_find(p, root) : NULL;
	if (!status)
		status = part ? read_book(&part->content, &b) : EXTRACT_DAMAGED;
	if (!status) {
		d->result.date = date_of_w3c(b.date.data);
		status = read_chapters(d, p, &b, root);
	}
	json_decref(b.items);
	json_decref(b.spine);
	buf_release(&b.date);
	free(root);
	return status;
}
