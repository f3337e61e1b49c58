/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
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

/* Pictures, films and attachments; not a thumbnail, which shows the text. */
static const char *const unread_parts[] = {
	"*/media/*",
	"*/embeddings/*",
	"Pictures/*",
	"media/*",
	"ObjectReplacements/*",
	"*.[jJ][pP][gG]",
	"*.[jJ][pP][eE][gG]",
	"*.[pP][nN][gG]",
	"*.[gG][iI][fF]",
	"*.[sS][vV][gG]",
	"*.[wW][eE][bB][pP]",
	"*.[mM][pP][34]",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_unread(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(unread_parts) && !strcasestr(name, "thumbnail");
	     i++)
		if (!fnmatch(unread_parts[i], name, 0))
			return true;
	return false;
}

static uint64_t count_unread(const struct package *p)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < p->count; i++)
		sum += is_unread(p->parts[i].name) ? p->parts[i].size : 0;
	return sum;
}

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
		for (i = 0; i < COUNT(packages); i++)
			if (package_find(&p, packages[i].part) &&
			    has_prefix(&p, packages[i].prefix)) {
				d->result.kind = packages[i].kind;
				d->result.unread = count_unread(&p);
				status = packages[i].read(d, in, &p);
				break;
			}
	}
	package_release(&p);
	return status;
}
