/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/extract/xml.h"

static const struct xml_rule odf_rules[] = {
	{ "p", XML_COLLECT | XML_LINE },
	{ "h", XML_COLLECT | XML_LINE },
	{ "tab", XML_TAB },
	{ "s", XML_TAB },
	{ "line-break", XML_TAB },
	{ "tracked-changes", XML_SKIP }, /* has what was deleted */
	{ "annotation", XML_SKIP },
	{ "title", XML_SKIP }, /* of a drawing */
	{ "desc", XML_SKIP },
	{ "binary-data", XML_SKIP },
	{ NULL, 0 },
};

static bool is_wanted(const char *name)
{
	return !strcmp(name, "content.xml") || !strcmp(name, "meta.xml") ||
	       !strcmp(name, "META-INF/manifest.xml");
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

enum extract_status odf_read(struct document *d, const struct extract_input *in,
			     struct package *p)
{
	enum extract_status status = package_load(d, in, p, is_wanted);
	const struct package_part *meta = package_find(p, "meta.xml");
	char *date;

	if (!status)
		status = find_encryption(
			&package_find(p, "META-INF/manifest.xml")->content);
	if (status)
		return status;
	date = meta ? xml_find(&meta->content, "date") : NULL;
	d->result.date = date_of_w3c(date);
	free(date);
	if (!package_find(p, "content.xml"))
		return EXTRACT_DAMAGED;
	return xml_read_text(d, &package_find(p, "content.xml")->content,
			     odf_rules);
}
