/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/extract/parsers.h"

/* A zip is the document whose parts it has. */
static const struct {
	enum extract_kind kind;
	const char *part, *prefix; /* a part, and one that begins so */
	enum extract_status (*read)(struct document *,
				    const struct extract_input *,
				    struct package *);
} packages[] = {
	{ EXTRACT_DOCX, "[Content_Types].xml", "word/document", ooxml_read },
	{ EXTRACT_XLSX, "[Content_Types].xml", "xl/workbook.xml", ooxml_read },
	{ EXTRACT_PPTX, "[Content_Types].xml", "ppt/presentation.xml",
	  ooxml_read },
	{ EXTRACT_ODF, "META-INF/manifest.xml", "content.xml", odf_read },
	{ EXTRACT_EPUB, "META-INF/container.xml", "mimetype", epub_read },
};

static bool has_prefix(const struct package *p, const char *prefix)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		if (!strncmp(p->parts[i].name, prefix, strlen(prefix)))
			return true;
	return false;
}

enum extract_status package_read(struct document *d,
				 const struct extract_input *in)
{
	struct package p = { 0 };
	enum extract_status status = package_open(in, &p);
	size_t i;

	if (!status) {
		status = EXTRACT_UNSUPPORTED;
		for (i = 0; i < sizeof(packages) / sizeof(packages[0]); i++)
			if (package_find(&p, packages[i].part) &&
			    has_prefix(&p, packages[i].prefix)) {
				d->result.kind = packages[i].kind;
				status = packages[i].read(d, in, &p);
				break;
			}
	}
	package_release(&p);
	return status;
}
