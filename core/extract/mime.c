/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/extract/parsers.h"

/*
 * Mail: a header, an empty line, a body.  The body of a multipart is entities of
 * that form between lines with a boundary.
 */

enum { VALUE_MAX = 1024, PARTS_DEPTH = 16, PARTS_MAX = 1000 };

/* A range of the mail, borrowed. */
struct mime_range {
	const char *at, *end;
};

/* ---- headers ---- */

/* Takes a line off, without its end. */
static struct mime_range take_line(struct mime_range *r)
{
	const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
	struct mime_range line = { r->at, end ? end : r->end };

	r->at = end ? end + 1 : r->end;
	if (line.end > line.at && line.end[-1] == '\r')
		line.end--;
	return line;
}

static bool is_named(struct mime_range line, const char *name)
{
	size_t len = strlen(name);

	return (size_t)(line.end - line.at) > len && line.at[len] == ':' &&
	       !strncasecmp(line.at, name, len);
}

/* The value of a header, unfolded; "" when there is none. */
static const char *find_header(struct mime_range head, const char *name,
			       char value[VALUE_MAX])
{
	struct mime_range line;
	bool is_in = false;
	size_t len = 0, n;

	while (head.at < head.end) {
		line = take_line(&head);
		if (line.at < line.end && (*line.at == ' ' || *line.at == '\t'))
			line.at++;
		else if (is_in)
			break;
		else if ((is_in = is_named(line, name)))
			line.at += strlen(name) + 1;
		while (line.at < line.end &&
		       (*line.at == ' ' || *line.at == '\t'))
			line.at++;
		if (!is_in)
			continue;
		if (len)
			value[len++] = ' ';
		n = (size_t)(line.end - line.at);
		n = n < VALUE_MAX - 2 - len ? n : VALUE_MAX - 2 - len;
		memcpy(value + len, line.at, n);
		len += n;
		if (len >= VALUE_MAX - 2)
			break;
	}
	value[len] = '\0';
	return value;
}

/* "name=value" or "name="value"" of a header; false: there is none. */
static bool find_parameter(const char *header, const char *name, char *out,
			   size_t room)
{
	const char *at = header;
	size_t len = strlen(name), i = 0;
	bool is_quoted;

	while ((at = strchr(at, ';'))) {
		at += 1 + strspn(at + 1, " \t");
		if (strncasecmp(at, name, len) || at[len] != '=')
			continue;
		at += len + 1;
		is_quoted = *at == '"';
		at += is_quoted;
		while (*at && i < room - 1 &&
		       (is_quoted ? *at != '"' : !strchr("; \t", *at)))
			out[i++] = *at++;
		out[i] = '\0';
		return i > 0;
	}
	return false;
}

/* Takes the header off. */
static struct mime_range take_head(struct mime_range *r)
{
	struct mime_range head = { r->at, r->at }, line;

	while (r->at < r->end) {
		head.end = r->at;
		line = take_line(r);
		if (line.at == line.end)
			break;
		head.end = r->at;
	}
	return head;
}

/* ---- transfer encodings ---- */

static enum extract_status decode_base64(struct mime_range r, struct buf *out)
{
	uint32_t bits = 0, count = 0;
	uint8_t code;

	if (buf_reserve(out, (size_t)(r.end - r.at)))
		return EXTRACT_LIMIT;
	for (; r.at < r.end && *r.at != '='; r.at++) {
		code = base64_codes[(uint8_t)*r.at];
		if (!code)
			continue;
		bits = bits << 6 | (code - 1u);
		count += 6;
		if (count >= 8) {
			count -= 8;
			out->data[out->len++] = (char)(bits >> count);
		}
	}
	return EXTRACT_OK;
}

/* In headers "_" is a space. */
static enum extract_status decode_quoted(struct mime_range r, bool in_header,
					 struct buf *out)
{
	int high, low;

	if (buf_reserve(out, (size_t)(r.end - r.at)))
		return EXTRACT_LIMIT;
	for (; r.at < r.end; r.at++) {
		if (*r.at == '_' && in_header) {
			out->data[out->len++] = ' ';
			continue;
		}
		if (*r.at != '=') {
			out->data[out->len++] = *r.at;
			continue;
		}
		high = r.end - r.at > 2 ? text_hex_digit(r.at[1]) : -1;
		low = r.end - r.at > 2 ? text_hex_digit(r.at[2]) : -1;
		if (high >= 0 && low >= 0) {
			out->data[out->len++] = (char)(high << 4 | low);
			r.at += 2;
		} else {
			/* The line goes on. */
			while (r.at + 1 < r.end && *r.at != '\n')
				r.at++;
		}
	}
	return EXTRACT_OK;
}

static enum extract_status give_text(struct document *d, const char *charset,
				     const struct buf *bytes, bool is_html)
{
	enum extract_status status;
	struct buf text = { 0 };

	if (!bytes->len)
		return EXTRACT_OK;
	status = text_decode(charset, (const uint8_t *)bytes->data, bytes->len,
			     &text, &d->result.flags);
	if (!status && text.len)
		status = is_html ? html_read(d, text.data, text.len) :
				   document_text(d, text.data, text.len);
	buf_release(&text);
	return status;
}

/* "=?charset?Q?text?=" among text. */
static enum extract_status give_header(struct document *d, const char *value)
{
	enum extract_status status = EXTRACT_OK;
	const char *begin, *kind, *text, *end;
	struct buf bytes = { 0 };
	char charset[40];

	while (!status && (begin = strstr(value, "=?"))) {
		kind = strchr(begin + 2, '?');
		text = kind && kind[1] ? kind + 3 : NULL;
		end = text && text[-1] == '?' ? strstr(text, "?=") : NULL;
		if (!end)
			break;
		(void)snprintf(charset, sizeof(charset), "%.*s",
			       (int)(kind - begin - 2), begin + 2);
		buf_clear(&bytes);
		status = (kind[1] | 32) == 'b' ?
				 decode_base64((struct mime_range){ text, end },
					       &bytes) :
				 decode_quoted((struct mime_range){ text, end },
					       true, &bytes);
		if (!status && begin > value + strspn(value, " "))
			status = document_text(d, value,
					       (size_t)(begin - value));
		if (!status)
			status = give_text(d, charset, &bytes, false);
		value = end + 2;
	}
	if (!status && utf8_is_text((const uint8_t *)value, strlen(value)))
		status = document_text(d, value, strlen(value));
	buf_release(&bytes);
	return status ? status : document_text(d, "\n", 1);
}

/* ---- entities ---- */

static enum extract_status read_entity(struct document *d, struct mime_range r,
				       unsigned depth);

/* Takes a part off; false: there is none.  A boundary's line begins with
 * "--". */
static bool take_part(struct mime_range *r, const char *boundary,
		      struct mime_range *out)
{
	size_t len = strlen(boundary);
	struct mime_range line;
	bool is_in = false;

	while (r->at < r->end) {
		line = take_line(r);
		if ((size_t)(line.end - line.at) < len + 2 ||
		    memcmp(line.at, "--", 2) ||
		    memcmp(line.at + 2, boundary, len))
			continue;
		if (is_in) {
			out->end = line.at;
			r->at = line.at; /* begins the next one */
			return true;
		}
		if (line.end - line.at >= (ptrdiff_t)len + 4 &&
		    !memcmp(line.at + 2 + len, "--", 2))
			return false;
		is_in = true;
		out->at = r->at;
	}
	out->end = r->end;
	return is_in;
}

static bool is_plain(struct mime_range part)
{
	char type[VALUE_MAX];
	struct mime_range head = take_head(&part);

	return !strncasecmp(find_header(head, "Content-Type", type),
			    "text/plain", 10);
}

/* Of alternatives the plain one, or the first.  Of what is signed, what was
 * signed. */
static enum extract_status read_parts(struct document *d, struct mime_range r,
				      const char *type, unsigned depth)
{
	enum extract_status status = EXTRACT_OK;
	char boundary[VALUE_MAX];
	bool is_choice = !strncasecmp(type, "multipart/alternative", 21);
	bool is_signed = !strncasecmp(type, "multipart/signed", 16);
	struct mime_range all = r, part, chosen = { NULL, NULL };
	unsigned count = 0;

	if (!strncasecmp(type, "multipart/encrypted", 19))
		return EXTRACT_ENCRYPTED;
	if (!find_parameter(type, "boundary", boundary, sizeof(boundary)))
		return EXTRACT_DAMAGED;
	while (is_choice && take_part(&all, boundary, &part))
		if (!chosen.at || (is_plain(part) && !is_plain(chosen)))
			chosen = part;
	if (chosen.at)
		return read_entity(d, chosen, depth + 1);
	while (!status && take_part(&r, boundary, &part)) {
		if (++count > PARTS_MAX)
			return EXTRACT_LIMIT;
		status = read_entity(d, part, depth + 1);
		if (is_signed)
			break;
	}
	return status;
}

static bool is_type(const char *type, const char *name)
{
	return !strncasecmp(type, name, strlen(name));
}

static enum extract_status read_body(struct document *d, struct mime_range head,
				     const struct buf *bytes)
{
	char type[VALUE_MAX], where[VALUE_MAX], name[VALUE_MAX];
	char charset[40] = "us-ascii";
	bool is_html;

	(void)find_header(head, "Content-Type", type);
	(void)find_header(head, "Content-Disposition", where);
	is_html = is_type(type, "text/html");
	if (is_type(type, "application/pkcs7-mime") &&
	    strcasestr(type, "enveloped"))
		return EXTRACT_ENCRYPTED;
	if ((!*type || is_type(type, "text/plain") || is_html) &&
	    !is_type(where, "attachment")) {
		if (find_parameter(type, "charset", charset, sizeof(charset)))
			return give_text(d, charset, bytes, is_html);
		return give_text(
			d,
			utf8_is_text((uint8_t *)bytes->data, bytes->len) ?
				"utf-8" :
				charset,
			bytes, is_html);
	}
	if (!find_parameter(where, "filename", name, sizeof(name)) &&
	    !find_parameter(type, "name", name, sizeof(name)))
		(void)snprintf(name, sizeof(name), "%.*s",
			       (int)strcspn(type, ";"), type);
	return member_read(d, name, (uint8_t *)bytes->data, bytes->len);
}

static enum extract_status read_entity(struct document *d, struct mime_range r,
				       unsigned depth)
{
	struct mime_range head = take_head(&r);
	char value[VALUE_MAX];
	enum extract_status status;
	struct buf bytes = { 0 };

	if (depth > PARTS_DEPTH)
		return EXTRACT_LIMIT;
	if (is_type(find_header(head, "Content-Type", value), "multipart/"))
		return read_parts(d, r, value, depth);
	(void)find_header(head, "Content-Transfer-Encoding", value);
	if (is_type(value, "base64"))
		status = decode_base64(r, &bytes);
	else if (is_type(value, "quoted-printable"))
		status = decode_quoted(r, false, &bytes);
	else
		status = buf_append(&bytes, r.at, (size_t)(r.end - r.at)) ?
				 EXTRACT_LIMIT :
				 EXTRACT_OK;
	if (!status)
		status = read_body(d, head, &bytes);
	buf_release(&bytes);
	return status;
}

enum extract_status mime_read(struct document *d, const uint8_t *data,
			      size_t len)
{
	struct mime_range r = { (const char *)data, (const char *)data + len };
	struct mime_range all, head;
	char value[VALUE_MAX];
	enum extract_status status;

	if (len > 5 && !memcmp(data, "From ", 5))
		(void)take_line(&r);
	all = r;
	head = take_head(&r);
	d->result.date = date_of_mail(find_header(head, "Date", value));
	status = give_header(d, find_header(head, "Subject", value));
	return status ? status : read_entity(d, all, 0);
}
