/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- input ---- */

size_t input_read(const struct extract_input *in, uint64_t at, void *to,
		  size_t len)
{
	size_t done = 0;
	ssize_t n;

	if (at >= in->size)
		return 0;
	if (len > in->size - at)
		len = (size_t)(in->size - at);
	if (in->data) {
		memcpy(to, in->data + at, len);
		return len;
	}
	while (done < len) {
		n = pread(in->fd, (char *)to + done, len - done,
			  (off_t)(at + done));
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

enum extract_status input_load(const struct extract_input *in,
			       const uint8_t **data_out, size_t *len_out,
			       uint8_t **owned_out)
{
	*owned_out = NULL;
	*len_out = (size_t)in->size;
	*data_out = in->data;
	if (in->data)
		return EXTRACT_OK;
	*owned_out = malloc(in->size ? (size_t)in->size : 1);
	if (!*owned_out)
		return EXTRACT_LIMIT;
	*len_out = input_read(in, 0, *owned_out, (size_t)in->size);
	*data_out = *owned_out;
	return EXTRACT_OK;
}

/* ---- output ---- */

/* Nobody is left to be told of an error. */
static void write_all(int fd, const void *data, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (fd >= 0 && done < len) {
		n = write(fd, (const char *)data + done, len - done);
		if (n < 0)
			_exit(1);
		done += (size_t)n;
	}
}

static void send_frame(struct extract_output *o)
{
	o->frame.head.type = o->type;
	o->frame.head.len = o->len;
	if (o->len)
		write_all(o->fd, &o->frame, sizeof(o->frame.head) + o->len);
	o->len = 0;
}

void output_ready(int fd)
{
	const struct extract_frame head = { .type = EXTRACT_FRAME_READY };

	write_all(fd, &head, sizeof(head));
}

/* Room for some bytes of a type in the frame.  Members and ends have one of
 * their own. */
static void begin_frame(struct extract_output *o, enum extract_frame_type type,
			size_t len)
{
	if (o->type != type || o->len + len > EXTRACT_FRAME_MAX ||
	    type >= EXTRACT_FRAME_MEMBER)
		send_frame(o);
	o->type = type;
}

void output_data(struct extract_output *o, enum extract_frame_type type,
		 const void *data, size_t len)
{
	const uint8_t *at = data;
	size_t part;

	while (len) {
		part = len < EXTRACT_FRAME_MAX ? len : EXTRACT_FRAME_MAX;
		/* A character stays in one frame. */
		while (type == EXTRACT_FRAME_TEXT && part < len &&
		       (at[part] & 0xc0) == 0x80)
			part--;
		begin_frame(o, type, part);
		memcpy(o->frame.data + o->len, at, part);
		o->len += (uint32_t)part;
		at += part;
		len -= part;
	}
}

void output_end(struct extract_output *o, const struct extract_result *result)
{
	output_data(o, EXTRACT_FRAME_END, result, sizeof(*result));
	send_frame(o);
}

bool output_may_inflate(struct extract_output *o, uint64_t bytes)
{
	o->inflated += bytes;
	return o->inflated <= o->limits.inflated;
}

/* ---- a document ---- */

struct document document_new(struct extract_output *out, uint32_t depth)
{
	return (struct document){
		.out = out,
		.depth = depth,
		.result.date = EXTRACT_NO_DATE,
	};
}

void document_release(struct document *d)
{
	buf_release(&d->raw);
}

bool text_is_layout(uint32_t c)
{
	return c == 0xad || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x202a && c <= 0x202e) || (c >= 0x2060 && c <= 0x2069) ||
	       c == 0xfeff || (c < 0x20 && c != '\t' && c != '\n') || c == 0x7f;
}

bool text_is_compatible(uint32_t c)
{
	return c == 0xa0 || (c >= 0x2000 && c <= 0x200a) || c == 0x202f ||
	       c == 0x205f || c == 0x3000 || (c >= 0xfb00 && c <= 0xfdff) ||
	       (c >= 0xfe70 && c <= 0xfefc) || (c >= 0xff01 && c <= 0xff5e);
}

enum extract_status document_put(struct document *d, const char *text,
				 size_t len)
{
	size_t i;

	for (i = 0; i < len && !d->is_visible; i++)
		d->is_visible = (uint8_t)text[i] > ' ';
	d->result.size += len;
	if (d->result.size > d->out->limits.text) {
		d->is_full = true;
		return EXTRACT_LIMIT;
	}
	output_data(d->out, EXTRACT_FRAME_TEXT, text, len);
	return EXTRACT_OK;
}
