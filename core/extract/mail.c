/* SPDX-License-Identifier: Apache-2.0 */
#include <gmime/gmime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/extract/parsers.h"

/*
 * Mail and mailboxes, as GMime takes them apart.  Character sets are for ICU:
 * GMime's need files that a confined process cannot open.
 */

enum { PARTS_DEPTH = 16, CHARSET_MAX = 40 };

/* ---- headers ---- */

/* A word of a header, "=?charset?Q?text?=". */
struct encoded_word {
	char charset[CHARSET_MAX];
	bool is_base64;
	const char *text;
	size_t len;
	const char *end;
};

/* Whether a text begins with one. */
static bool take_word(const char *at, struct encoded_word *out)
{
	const char *kind = strchr(at + 2, '?');
	const char *text = kind && kind[1] && kind[2] == '?' ? kind + 3 : NULL;
	const char *end = text ? strstr(text, "?=") : NULL;

	if (!end)
		return false;
	/* A language may stand behind a star. */
	(void)snprintf(out->charset, sizeof(out->charset), "%.*s",
		       (int)strcspn(at + 2, "*?"), at + 2);
	out->is_base64 = (kind[1] | 32) == 'b';
	out->text = text;
	out->len = (size_t)(end - text);
	out->end = end + 2;
	return true;
}

static int decode_word(const struct encoded_word *w, struct buf *out)
{
	GMimeEncoding step;
	size_t i;

	g_mime_encoding_init_decode(
		&step, w->is_base64 ? GMIME_CONTENT_ENCODING_BASE64 :
				      GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE);
	if (buf_reserve(out, g_mime_encoding_outlen(&step, w->len)))
		return -1;
	i = out->len;
	out->len += g_mime_encoding_step(&step, w->text, w->len,
					 out->data + out->len);
	for (; !w->is_base64 && i < out->len; i++)
		if (out->data[i] == '_')
			out->data[i] = ' ';
	return 0;
}

static enum extract_status give_collected(struct document *d,
					  const char *charset,
					  struct buf *bytes)
{
	enum extract_status status =
		text_read_as(d, EXTRACT_TEXT, *charset ? charset : NULL,
			     (const uint8_t *)bytes->data, bytes->len);

	buf_clear(bytes);
	return status;
}

/* Words of one character set that follow each other are one text: a character
 * may begin in one and end in the next. */
static enum extract_status give_header(struct document *d, const char *value)
{
	const char *at = value, *begin;
	enum extract_status status = EXTRACT_OK;
	struct encoded_word w = { .charset = "" };
	char charset[CHARSET_MAX] = "";
	struct buf bytes = { 0 };

	while (!status && (begin = strstr(at, "=?")) && take_word(begin, &w)) {
		if (at == value || at + strspn(at, " \t\r\n") < begin) {
			status = give_collected(d, charset, &bytes);
			*charset = '\0';
			if (buf_append(&bytes, at, (size_t)(begin - at)))
				status = EXTRACT_LIMIT;
		}
		if (!status && strcasecmp(charset, w.charset)) {
			status = give_collected(d, charset, &bytes);
			memcpy(charset, w.charset, sizeof(charset));
		}
		if (!status && decode_word(&w, &bytes))
			status = EXTRACT_LIMIT;
		at = w.end;
	}
	if (!status)
		status = give_collected(d, charset, &bytes);
	if (!status &&
	    (buf_append_text(&bytes, at) || buf_append_text(&bytes, "\n")))
		status = EXTRACT_LIMIT;
	if (!status)
		status = give_collected(d, "", &bytes);
	buf_release(&bytes);
	return status;
}

/* ---- parts ---- */

static enum extract_status read_object(struct document *d, GMimeObject *object,
				       unsigned depth);

/* An attachment is named by its file, or else by its type. */
static enum extract_status read_attachment(struct document *d, GMimePart *part,
					   const struct buf *bytes)
{
	const char *name = g_mime_part_get_filename(part);
	char *type;
	enum extract_status status;

	if (name && *name)
		return member_read(d, name, (const uint8_t *)bytes->data,
				   bytes->len);
	type = g_mime_content_type_get_mime_type(
		g_mime_object_get_content_type(GMIME_OBJECT(part)));
	status = member_read(d, type, (const uint8_t *)bytes->data, bytes->len);
	g_free(type);
	return status;
}

/* Base64 that was put together of several: each may end with padding. */
static int decode_base64(const GByteArray *raw, struct buf *out)
{
	const char *at, *end, *next;
	GMimeEncoding step;

	if (!raw->len)
		return 0;
	if (buf_reserve(out, raw->len + 3))
		return -1;
	end = (const char *)raw->data + raw->len;
	for (at = (const char *)raw->data; at < end; at = next) {
		next = memchr(at, '=', (size_t)(end - at));
		next = next ? next : end;
		while (next < end && *next == '=')
			next++;
		g_mime_encoding_init_decode(&step,
					    GMIME_CONTENT_ENCODING_BASE64);
		out->len += g_mime_encoding_flush(
			&step, at, (size_t)(next - at), out->data + out->len);
	}
	return 0;
}

/* The content of a part without its transfer encoding. */
static int decode_part(GMimePart *part, struct buf *out)
{
	GMimeDataWrapper *content = g_mime_part_get_content(part);
	GMimeStream *stream;
	GByteArray *bytes;
	bool is_base64;
	int err;

	if (!content)
		return 0;
	is_base64 = g_mime_data_wrapper_get_encoding(content) ==
		    GMIME_CONTENT_ENCODING_BASE64;
	if (is_base64)
		g_mime_data_wrapper_set_encoding(content,
						 GMIME_CONTENT_ENCODING_BINARY);
	stream = g_mime_stream_mem_new();
	(void)g_mime_data_wrapper_write_to_stream(content, stream);
	if (is_base64) /* an alternative is read twice */
		g_mime_data_wrapper_set_encoding(content,
						 GMIME_CONTENT_ENCODING_BASE64);
	bytes = g_mime_stream_mem_get_byte_array(GMIME_STREAM_MEM(stream));
	err = is_base64 ? decode_base64(bytes, out) :
			  buf_append(out, bytes->data, bytes->len);
	g_object_unref(stream);
	return err;
}

static bool is_encrypted(GMimeContentType *type, const struct buf *bytes)
{
	static const char pgp[] = "-----BEGIN PGP MESSAGE-----";

	if (g_mime_content_type_is_type(type, "application", "pkcs7-mime"))
		return !g_strcmp0(
			g_mime_content_type_get_parameter(type, "smime-type"),
			"enveloped-data");
	return bytes->len >= strlen(pgp) &&
	       !memcmp(bytes->data, pgp, strlen(pgp));
}

static enum extract_status read_part(struct document *d, GMimePart *part)
{
	GMimeObject *object = GMIME_OBJECT(part);
	GMimeContentType *type = g_mime_object_get_content_type(object);
	const char *where = g_mime_object_get_disposition(object);
	bool is_html = g_mime_content_type_is_type(type, "text", "html");
	enum extract_status status = EXTRACT_OK;
	struct buf bytes = { 0 };

	if (decode_part(part, &bytes))
		status = EXTRACT_LIMIT;
	else if (is_encrypted(type, &bytes))
		status = EXTRACT_ENCRYPTED;
	else if ((is_html ||
		  g_mime_content_type_is_type(type, "text", "plain")) &&
		 g_ascii_strcasecmp(where ? where : "", "attachment"))
		status = text_read_as(
			d, is_html ? EXTRACT_HTML : EXTRACT_TEXT,
			g_mime_content_type_get_parameter(type, "charset"),
			(const uint8_t *)bytes.data, bytes.len);
	else
		status = read_attachment(d, part, &bytes);
	buf_release(&bytes);
	return status ? status : document_text(d, "\n", 1);
}

/* How many bytes of text an alternative has. */
static uint64_t measure(const struct document *d, GMimeObject *object,
			unsigned depth)
{
	static struct extract_output nowhere = { .fd = -1 };
	struct document probe = document_new(&nowhere, d->depth);
	uint64_t size;

	nowhere.limits = d->out->limits;
	nowhere.inflated = nowhere.members = 0;
	if (!read_object(&probe, object, depth))
		(void)document_flush(&probe);
	size = probe.is_visible ? probe.result.size : 0;
	document_release(&probe);
	return size;
}

/*
 * The alternative that has the text: the one with most of it, or a plain one
 * with at least half as much, as HTML repeats names of links and pictures.  A
 * plain part of one sentence, "your program does not show HTML", is less.
 */
static enum extract_status read_alternative(struct document *d,
					    GMimeMultipart *parts,
					    unsigned depth)
{
	GMimeObject *part, *longest = NULL, *plain = NULL;
	uint64_t size, most = 0, plain_size = 0;
	int i, count = g_mime_multipart_get_count(parts);

	for (i = 0; i < count; i++) {
		part = g_mime_multipart_get_part(parts, i);
		size = count > 1 ? measure(d, part, depth + 1) : 1;
		if (!longest || size > most) {
			longest = part;
			most = size;
		}
		if (!plain && g_mime_content_type_is_type(
				      g_mime_object_get_content_type(part),
				      "text", "plain")) {
			plain = part;
			plain_size = size;
		}
	}
	if (plain && plain_size >= most / 2)
		longest = plain;
	return longest ? read_object(d, longest, depth + 1) : EXTRACT_OK;
}

/* What a page has beside it in a mail, or in the file of a browser, and is no
 * member, as in a document: pictures, and what is never text. */
static bool is_picture(GMimeContentType *type)
{
	return g_mime_content_type_is_type(type, "image", "*") ||
	       g_mime_content_type_is_type(type, "audio", "*") ||
	       g_mime_content_type_is_type(type, "video", "*") ||
	       g_mime_content_type_is_type(type, "font", "*");
}

static bool is_style(GMimeContentType *type)
{
	return g_mime_content_type_is_type(type, "*", "css") ||
	       g_mime_content_type_is_type(type, "*", "javascript") ||
	       g_mime_content_type_is_type(type, "*", "x-javascript");
}

/* The size of a picture that somebody put into a mail.  Those of a page that a
 * browser saved have no identifiers, and say nothing that the page does not. */
static uint64_t picture_size(GMimeObject *object)
{
	GMimeDataWrapper *content = NULL;
	gint64 size = 0;

	if (GMIME_IS_PART(object) && g_mime_object_get_content_id(object))
		content = g_mime_part_get_content(GMIME_PART(object));
	if (content)
		size = g_mime_stream_length(
			g_mime_data_wrapper_get_stream(content));
	return size > 0 ? (uint64_t)size : 0;
}

/* Of what is signed, what was signed. */
static enum extract_status read_parts(struct document *d, GMimeMultipart *parts,
				      unsigned depth)
{
	GMimeContentType *type =
		g_mime_object_get_content_type(GMIME_OBJECT(parts));
	bool is_page =
		g_mime_content_type_is_type(type, "multipart", "related");
	enum extract_status status = EXTRACT_OK;
	int i, count = g_mime_multipart_get_count(parts);
	GMimeObject *part;

	if (g_mime_content_type_is_type(type, "multipart", "encrypted"))
		return EXTRACT_ENCRYPTED;
	if (!count)
		return EXTRACT_DAMAGED;
	if (g_mime_content_type_is_type(type, "multipart", "alternative"))
		return read_alternative(d, parts, depth);
	if (g_mime_content_type_is_type(type, "multipart", "signed"))
		count = 1;
	for (i = 0; i < count && !status; i++) {
		part = g_mime_multipart_get_part(parts, i);
		type = g_mime_object_get_content_type(part);
		if (is_page && is_picture(type))
			d->result.unread += picture_size(part);
		else if (!is_page || !is_style(type))
			status = read_object(d, part, depth + 1);
	}
	return status;
}

/* ---- mails ---- */

static enum extract_status read_message(struct document *d, GMimeMessage *mail)
{
	GMimeObject *body = g_mime_message_get_mime_part(mail);
	GMimeHeader *subject = g_mime_header_list_get_header(
		g_mime_object_get_header_list(GMIME_OBJECT(mail)), "Subject");
	const char *raw = subject ? g_mime_header_get_raw_value(subject) : NULL;
	GDateTime *date = g_mime_message_get_date(mail);
	enum extract_status status = EXTRACT_OK;

	if (date)
		d->result.date = g_date_time_to_unix(date);
	if (raw)
		status = give_header(d, raw + strspn(raw, " \t\r\n"));
	return status || !body ? status : read_object(d, body, 0);
}

/* A mail in a mailbox, or in a mail. */
static enum extract_status read_member(struct document *d, const char *name,
				       GMimeMessage *mail)
{
	struct document m;
	enum extract_status status = member_begin(d, name, &m);

	if (status)
		return status;
	m.result.kind = EXTRACT_MAIL;
	status = member_is_document(d, EXTRACT_MAIL) ? read_message(&m, mail) :
						       EXTRACT_LIMIT;
	m.result.status = status ? status : document_flush(&m);
	return member_end(d, &m);
}

static enum extract_status read_object(struct document *d, GMimeObject *object,
				       unsigned depth)
{
	GMimeMessage *mail;

	if (depth > PARTS_DEPTH)
		return EXTRACT_LIMIT;
	if (GMIME_IS_MULTIPART(object))
		return read_parts(d, GMIME_MULTIPART(object), depth);
	if (GMIME_IS_PART(object))
		return read_part(d, GMIME_PART(object));
	mail = GMIME_IS_MESSAGE_PART(object) ?
		       g_mime_message_part_get_message(
			       GMIME_MESSAGE_PART(object)) :
		       NULL;
	return mail ? read_member(d, "message", mail) : EXTRACT_OK;
}

/* ---- files ---- */

static GMimeMessage *parse(const char *text, size_t len)
{
	GMimeStream *stream = g_mime_stream_mem_new_with_buffer(text, len);
	GMimeParser *parser = g_mime_parser_new_with_stream(stream);
	GMimeMessage *mail = g_mime_parser_construct_message(parser, NULL);

	g_object_unref(parser);
	g_object_unref(stream);
	return mail;
}

/*
 * Whether a mail of a mailbox begins: "From somebody Wed May  1 14:00:00 2024",
 * or without the date, and then a field.  A sentence that begins with "From"
 * lacks one of these: not every program that writes mailboxes quotes it.
 */
static bool is_mail_begin(const char *at, const char *end)
{
	const char *line = memchr(at, '\n', (size_t)(end - at)), *colon;

	if (!line || line - at < 5 || memcmp(at, "From ", 5))
		return false;
	colon = memchr(at, ':', (size_t)(line - at));
	if (colon ? !g_ascii_isdigit(colon[-1]) || !g_ascii_isdigit(colon[1]) :
		    memchr(at + 5, ' ', (size_t)(line - at - 5)) != NULL)
		return false;
	for (at = ++line; line<end && * line> ' ' && *line <= '~'; line++)
		if (*line == ':')
			return line > at;
	return false;
}

/* Each mail of a mailbox is a member, and named by its number. */
static enum extract_status read_mailbox(struct document *d, const char *at,
					const char *end)
{
	enum extract_status status = EXTRACT_OK;
	const char *next, *line;
	GMimeMessage *mail;
	char name[16];
	unsigned i;

	for (i = 1; !status && at < end; i++, at = next) {
		line = memchr(at, '\n', (size_t)(end - at));
		at = next = line ? line + 1 : end;
		while (next < end && !is_mail_begin(next, end)) {
			line = memchr(next, '\n', (size_t)(end - next));
			next = line ? line + 1 : end;
		}
		mail = parse(at, (size_t)(next - at));
		if (!mail) {
			d->result.flags |= EXTRACT_PARTIAL;
			continue;
		}
		(void)snprintf(name, sizeof(name), "%u", i);
		status = read_member(d, name, mail);
		g_object_unref(mail);
	}
	return status;
}

/* Apple's mails begin with the number of their bytes; a list of properties
 * follows. */
static size_t counted_length(const uint8_t *data, size_t begin, size_t len)
{
	char number[24];
	size_t count;

	if (!begin || *data < '0' || *data > '9')
		return len;
	(void)snprintf(number, sizeof(number), "%.*s",
		       (int)(begin < 23 ? begin : 23), (const char *)data);
	count = strtoul(number, NULL, 10);
	return count < len - begin ? begin + count : len;
}

enum extract_status mail_read(struct document *d, const uint8_t *data,
			      size_t len)
{
	const size_t begin = sniff_mail_begin(data, len);
	const char *text = (const char *)data + begin;
	enum extract_status status;
	GMimeMessage *mail;

	len = counted_length(data, begin, len) - begin;
	if (sniff_is_mailbox(text, len))
		return read_mailbox(d, text, text + len);
	mail = parse(text, len);
	if (!mail)
		return EXTRACT_DAMAGED;
	status = read_message(d, mail);
	g_object_unref(mail);
	return status;
}

/* Registers GMime's types, and asks once for what it asks for in a header. */
int mail_warm_up(void)
{
	static const char text[] =
		"From: =?koi8-r?q?=c1?= <a@example.org>\nSubject: x\n"
		"Date: Wed, 1 May 2024 14:00:00 +0200\nMIME-Version: 1.0\n"
		"Content-Type: multipart/mixed; boundary=a\n\n--a\n\nx\n--a\n"
		"Content-Type: a/b; name*=koi8-r''%c1\n\nx\n--a--\n";
	static struct extract_output out = { .fd = -1 };
	struct document d = document_new(&out, 0);
	enum extract_status status;

	out.limits = extract_limits_default;
	g_mime_init();
	status = mail_read(&d, (const uint8_t *)text, sizeof(text) - 1);
	document_release(&d);
	return status ? -1 : 0;
}
