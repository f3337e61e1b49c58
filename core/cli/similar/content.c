/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/content.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/cli.h"
#include "core/extract/client.h"
#include "core/extract/sniff.h"

enum { READ_BYTES = 1 << 20 };

static int read_all(int fd, struct buf *out)
{
	ssize_t count = 1;
	int err = 0;

	while (!err && count > 0) {
		err = buf_reserve(out, READ_BYTES);
		if (err)
			break;
		count = read(fd, out->data + out->len, READ_BYTES);
		if (count < 0)
			return -errno;
		out->len += (size_t)count;
		if (out->len > CONTENT_MOST)
			err = -EFBIG;
	}
	return err;
}

/* The text of a document, or of the members of an archive.  What cannot be read
 * ends it. */
static int read_text(int fd, uint32_t owner, struct buf *out)
{
	struct extract_client *client;
	struct extract_piece piece = { .type = EXTRACT_PIECE_MEMBER };
	int err = extract_open(NULL, &client);

	if (err)
		return err;
	err = extract_begin(client, fd, owner, &extract_limits_default);
	while (!err && piece.type != EXTRACT_PIECE_END) {
		err = extract_next(client, &piece);
		if (err)
			break;
		if (piece.type == EXTRACT_PIECE_TEXT ||
		    piece.type == EXTRACT_PIECE_BYTES)
			err = buf_append(out, piece.data, piece.len);
		else if (piece.type == EXTRACT_PIECE_MEMBER_END)
			err = buf_append(out, "\n", 1);
		if (!err && out->len > CONTENT_MOST)
			err = -EFBIG;
	}
	extract_free(client);
	return err;
}

int content_read(const char *path, struct content *out)
{
	uint8_t head[SNIFF_BYTES];
	struct stat st;
	ssize_t len;
	int fd, err = reader_open(path, true, &fd);

	*out = (struct content){ 0 };
	if (err)
		return err;
	len = pread(fd, head, sizeof(head), 0);
	if (len < 0 || fstat(fd, &st))
		err = -errno;
	if (!err && sniff_is_document(head, (size_t)len)) {
		err = read_text(fd, st.st_uid, &out->bytes);
		out->has_lines = true;
	}
	/* Without a text that can be read the bytes are what there is. */
	if (!err && !out->bytes.len) {
		err = read_all(fd, &out->bytes);
		out->has_lines = !memchr(head, '\0', (size_t)len);
	}
	close(fd);
	if (err)
		return err;
	return folded_init(&out->folded, out->bytes.data, out->bytes.len);
}

void content_release(struct content *c)
{
	folded_release(&c->folded);
	buf_release(&c->bytes);
}

int content_compare(const struct content *own, const char *path, size_t least,
		    struct content *other, struct passage **out,
		    size_t *count_out)
{
	int err = content_read(path, other);

	*out = NULL;
	*count_out = 0;
	return err ? err :
		     passages_find(&own->folded, &other->folded, least, out,
				   count_out);
}

/* Lines of a text, else bytes: "40-52", "@8000-10752". */
static void format_range(const struct content *c, size_t begin, size_t end,
			 char out[TEXT_SIZE_ROOM * 2])
{
	if (c->has_lines)
		(void)snprintf(out, TEXT_SIZE_ROOM * 2, "%zu-%zu",
			       folded_line(&c->folded, begin),
			       folded_line(&c->folded, end - 1));
	else
		(void)snprintf(out, TEXT_SIZE_ROOM * 2, "@%zu-%zu", begin, end);
}

json_t *passage_json(const struct content *a, const struct content *b,
		     const struct passage *p)
{
	char lines[TEXT_SIZE_ROOM * 2], there[TEXT_SIZE_ROOM * 2];

	format_range(a, p->a, p->a_end, lines);
	format_range(b, p->b, p->b_end, there);
	return json_pack("{s:s, s:I, s:I, s:I, s:s, s:I, s:I}", "lines", lines,
			 "begin", (json_int_t)p->a, "end", (json_int_t)p->a_end,
			 "size", (json_int_t)(p->a_end - p->a), "there", there,
			 "there_begin", (json_int_t)p->b, "there_end",
			 (json_int_t)p->b_end);
}
