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

/* Marks what is encrypted; it may be fonts alone. */
static enum extract_status find_encrypted(const struct package *p)
{
	struct package_part *part = package_find(p, "META-INF/encryption.xml");
	const char *path;
	struct xml x;

	if (!part)
		return EXTRACT_OK;
	xml_begin(&x, &part->content);
	while (xml_next(&x)) {
		if (!xml_is(&x, XML_BEGIN, "CipherReference"))
			continue;
		path = xml_attribute(&x, "URI");
		part = path ? package_follow(p, "", path) : NULL;
		if (part)
			part->is_encrypted = true;
	}
	return xml_end(&x, EXTRACT_OK);
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

/* The parts of the spine in its order, each once; NULL, which the array may have
 * too, for those that are not there. */
static struct package_part **find_chapters(const struct package *p,
					   const struct book *b,
					   const char *root)
{
	const size_t count = json_array_size(b->spine);
	struct package_part **chapters = calloc(count + 1, sizeof(*chapters));
	const char *id, *reference;
	size_t i;

	for (i = 0; chapters && i < count; i++) {
		id = json_string_value(json_array_get(b->spine, i));
		reference = json_string_value(json_object_get(b->items, id));
		if (reference)
			chapters[i] = package_follow(p, root, reference);
		if (chapters[i])
			chapters[i]->is_wanted = true;
	}
	return chapters;
}

static enum extract_status read_chapters(struct document *d,
					 struct package_part **chapters,
					 size_t count)
{
	enum extract_status status = EXTRACT_OK;
	struct package_part *part;
	size_t i;

	for (i = 0; i < count && !status; i++) {
		part = chapters[i];
		if (!part)
			d->result.flags |= EXTRACT_PARTIAL;
		else if (part->is_encrypted)
			status = EXTRACT_ENCRYPTED;
		else if (part->is_wanted)
			status = text_read_as(
				d, EXTRACT_HTML, NULL,
				(const uint8_t *)part->content.data,
				part->content.len);
		if (part)
			part->is_wanted = false; /* it may come again */
		if (!status)
			status = document_text(d, "\n", 1);
	}
	return status;
}

/* A part that leads to the next ones. */
static enum extract_status load_part(struct document *d,
				     const struct extract_input *in,
				     struct package *p,
				     struct package_part *part)
{
	if (!part)
		return EXTRACT_DAMAGED;
	part->is_wanted = true;
	return package_load(d, in, p);
}

enum extract_status epub_read(struct document *d,
			      const struct extract_input *in, struct package *p)
{
	struct package_part *part = package_find(p, "META-INF/container.xml");
	struct book b = { json_object(), json_array(), { 0 } };
	struct package_part **chapters = NULL;
	enum extract_status status = EXTRACT_UNSUPPORTED;
	char *root = NULL;

	if (part) {
		d->result.kind = EXTRACT_EPUB;
		package_want(p, "META-INF/encryption.xml");
		status = load_part(d, in, p, part);
	}
	if (!status)
		status = find_encrypted(p);
	if (!status)
		status = find_root(&part->content, &root);
	part = root ? package_follow(p, "", root) : NULL;
	if (!status)
		status = load_part(d, in, p, part);
	if (!status)
		status = read_book(&part->content, &b);
	if (!status) {
		d->result.date = date_of_w3c(b.date.data);
		chapters = find_chapters(p, &b, part->name);
		status = chapters ? package_load(d, in, p) : EXTRACT_LIMIT;
	}
	if (!status)
		status = read_chapters(d, chapters, json_array_size(b.spine));
	free(chapters);
	json_decref(b.items);
	json_decref(b.spine);
	buf_release(&b.date);
	free(root);
	return status;
}
