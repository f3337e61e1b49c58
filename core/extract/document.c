/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/extract/parsers.h"

/* An Office file with a password is this format around it, with a stream of
 * that name in UTF-16. */
static enum extract_status ole_read(const uint8_t *data, size_t len)
{
	static const char name[] =
		"E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g";

	return memmem(data, len, name, sizeof(name)) ? EXTRACT_ENCRYPTED :
						       EXTRACT_UNSUPPORTED;
}

/* ---- a document ---- */

static enum extract_status read_loaded(struct document *d, const uint8_t *data,
				       size_t len)
{
	switch (d->result.kind) {
	case EXTRACT_RTF:
		return rtf_read(d, data, len);
	case EXTRACT_MAIL:
		return mail_read(d, data, len);
	case EXTRACT_ODF:
		return odf_read_flat(d, data, len);
	case EXTRACT_OLE:
		return ole_read(data, len);
	case EXTRACT_UNKNOWN:
		return text_read_as(d, EXTRACT_UNKNOWN, NULL, data, len);
	default:
		return EXTRACT_UNSUPPORTED;
	}
}

/* A PDF is only named: kin-extract-pdf reads it. */
static enum extract_status read_kind(struct document *d,
				     const struct extract_input *in)
{
	enum extract_status status;
	const uint8_t *data;
	uint8_t *owned;
	size_t len;

	if (d->result.kind == EXTRACT_UNREAD)
		return EXTRACT_UNSUPPORTED;
	if (in->size > d->out->limits.input)
		return EXTRACT_LIMIT;
	if (d->result.kind == EXTRACT_PDF)
		return EXTRACT_OK;
	if (d->result.kind == EXTRACT_ZIP) {
		status = package_read(d, in);
		if (status != EXTRACT_UNSUPPORTED)
			return status;
	}
	if (d->result.kind >= EXTRACT_ZIP)
		return archive_read_members(d, in);
	/* Text that is too long need not be read. */
	if (d->result.kind == EXTRACT_UNKNOWN &&
	    in->size > 4 * d->out->limits.text)
		return EXTRACT_LIMIT;
	status = input_load(in, &data, &len, &owned);
	if (!status)
		status = read_loaded(d, data, len);
	free(owned);
	return status;
}

static enum extract_kind kind_of(const struct extract_input *in, size_t most)
{
	static uint8_t head[SNIFF_MAIL_BYTES];
	const size_t len = input_read(in, 0, head, most);
	const enum extract_kind kind = sniff_kind(head, len);

	if (kind == EXTRACT_UNKNOWN && most < sizeof(head) &&
	    sniff_may_be_mail(head, len))
		return kind_of(in, sizeof(head));
	return kind;
}

enum extract_status document_read(struct document *d,
				  const struct extract_input *in)
{
	enum extract_status status;

	/* libarchive crashes when it is asked about an empty file. */
	if (!in->size)
		return EXTRACT_NO_TEXT;
	d->result.kind = kind_of(in, SNIFF_BYTES);
	status = read_kind(d, in);
	if (status == EXTRACT_OK)
		status = document_flush(d);
	return status;
}

void reader_read(struct extract_output *o, const struct extract_input *in)
{
	struct document d = document_new(o, 0);

	d.result.status = document_read(&d, in);
	output_end(o, &d.result);
	document_release(&d);
}

/* ---- members ---- */

enum { NAME_BYTES = 4096 }; /* of a name, at most */

bool member_is_document(const struct document *d, enum extract_kind kind)
{
	if (kind >= EXTRACT_ZIP || kind == EXTRACT_MAIL)
		return d->depth < d->out->limits.depth;
	return kind != EXTRACT_UNKNOWN && kind != EXTRACT_UNREAD;
}

enum extract_status member_begin(struct document *d, const char *name,
				 struct document *member_out)
{
	size_t len = name ? strlen(name) : 0;

	if (document_flush(d) == EXTRACT_LIMIT ||
	    ++d->out->members > d->out->limits.members)
		return EXTRACT_LIMIT;
	*member_out = document_new(d->out, d->depth + 1);
	if (len)
		output_data(d->out, EXTRACT_FRAME_MEMBER, name,
			    len < NAME_BYTES ? len : NAME_BYTES);
	else
		output_data(d->out, EXTRACT_FRAME_MEMBER, "?", 1);
	return EXTRACT_OK;
}

enum extract_status member_end(struct document *d, struct document *member)
{
	const struct extract_output *o = d->out;

	if (member->result.status == EXTRACT_OK)
		d->is_visible = true;
	output_end(d->out, &member->result);
	document_release(member);
	return o->inflated > o->limits.inflated ||
			       o->members > o->limits.members ?
		       EXTRACT_LIMIT :
		       EXTRACT_OK;
}

/* What says something as it is, is given out as it is. */
static enum extract_status read_member(struct document *m, const uint8_t *data,
				       size_t len)
{
	const struct extract_input in = { .fd = -1, .data = data, .size = len };
	enum extract_kind kind = sniff_kind(data, len);
	enum extract_status status = EXTRACT_UNSUPPORTED;

	if (kind == EXTRACT_PDF) {
		m->result.kind = kind;
		output_data(m->out, EXTRACT_FRAME_PDF, data, len);
		return EXTRACT_OK;
	}
	if (kind == EXTRACT_UNKNOWN && utf8_is_text(data, len))
		m->result.kind = EXTRACT_TEXT;
	else if (kind == EXTRACT_UNKNOWN || member_is_document(m, kind))
		status = document_read(m, &in);
	if (status != EXTRACT_UNSUPPORTED)
		return status;
	m->result.size = len;
	output_data(m->out, EXTRACT_FRAME_BYTES, data, len);
	return EXTRACT_OK;
}

enum extract_status member_read(struct document *d, const char *name,
				const uint8_t *data, size_t len)
{
	struct document m;
	enum extract_status status = member_begin(d, name, &m);

	if (status)
		return status;
	m.result.status = len ? read_member(&m, data, len) : EXTRACT_NO_TEXT;
	if (m.result.status)
		m.result.unread = len;
	return member_end(d, &m);
}

/* The largest file, what is inflated of it, and the libraries. */
const uint64_t reader_memory = 1 << 30;

int reader_warm_up(void)
{
	glib_be_quiet();
	json_object_seed(0); /* reads random bytes */
	return text_warm_up() || archive_warm_up() || mail_warm_up() ? -1 : 0;
}
