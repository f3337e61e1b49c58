/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include "core/extract/parsers.h"

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

/* ---- parts ---- */

struct package_part *package_find(const struct package *p, const char *name)
{
	struct package_part *found = NULL;
	size_t i;

	for (i = 0; i < p->count; i++) {
		if (!strcmp(p->parts[i].name, name))
			return &p->parts[i];
		if (!found && !strcasecmp(p->parts[i].name, name))
			found = &p->parts[i];
	}
	return found;
}

void package_want(const struct package *p, const char *name)
{
	struct package_part *part = package_find(p, name);

	if (part)
		part->is_wanted = true;
}

/* Appends a reference to a path, a step at a time. */
static int append_steps(struct buf *path, const char *at)
{
	char c;
	int low;

	while (*at && *at != '#' && *at != '?') {
		if (!strncmp(at, "./", 2)) {
			at += 2;
			continue;
		}
		if (!strncmp(at, "../", 3)) {
			at += 3;
			path->len -= path->len > 0;
			while (path->len && path->data[path->len - 1] != '/')
				path->len--;
			continue;
		}
		do {
			low = *at == '%' && text_hex_digit(at[1]) >= 0 ?
				      text_hex_digit(at[2]) :
				      -1;
			c = *at == '\\' ? '/' : *at;
			if (low >= 0)
				c = (char)(text_hex_digit(at[1]) << 4 | low);
			if (buf_append(path, &c, 1))
				return -1;
			at += low >= 0 ? 3 : 1;
		} while (c != '/' && *at && *at != '#' && *at != '?');
	}
	return buf_append(path, "", 1);
}

struct package_part *package_follow(const struct package *p, const char *from,
				    const char *reference)
{
	const char *slash = *reference == '/' ? NULL : strrchr(from, '/');
	struct package_part *part = NULL;
	struct buf path = { 0 };

	if (!buf_append(&path, from, slash ? (size_t)(slash + 1 - from) : 0) &&
	    !append_steps(&path, reference + (*reference == '/')))
		part = package_find(p, path.data);
	buf_release(&path);
	return part;
}

enum extract_status package_read(struct document *d,
				 const struct extract_input *in)
{
	static enum extract_status (*const readers[])(
		struct document *, const struct extract_input *,
		struct package *) = { epub_read, odf_read, ooxml_read };
	struct package p = { 0 };
	enum extract_status status = package_open(in, &p);
	size_t i;

	if (!status) {
		status = EXTRACT_UNSUPPORTED;
		d->result.unread = count_unread(&p);
		for (i = 0; i < COUNT(readers); i++)
			if (status == EXTRACT_UNSUPPORTED)
				status = readers[i](d, in, &p);
		if (status == EXTRACT_UNSUPPORTED)
			d->result.unread = 0;
	}
	package_release(&p);
	return status;
}
