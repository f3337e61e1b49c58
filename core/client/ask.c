/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/datagram.h"
#include "core/base/json.h"
#include "core/client/client.h"
#include "core/engine/query_ioctl.h"

#define SHARE_SOCKET_PATH "share/socket" /* below that of a catalog */

/* ---- the query ---- */

/* A mount that is read-only takes a query by ioctl(). */
static int put_piece(int fd, bool writable, char *data, size_t len)
{
	ssize_t done = writable ? write(fd, data, len) :
		       ioctl(fd, QUERY_IOCTL(len), data) < 0 ? -1 :
							       (ssize_t)len;

	if (done < 0)
		return -errno;
	return (size_t)done == len ? 0 : -EIO;
}

static int put_query(int fd, bool writable, const struct buf *query)
{
	size_t at, len;
	int err = 0;

	for (at = 0; at < query->len && !err; at += len) {
		len = query->len - at;
		if (len > QUERY_PIECE_MAX)
			len = QUERY_PIECE_MAX;
		err = put_piece(fd, writable, query->data + at, len);
	}
	return err;
}

/* Another user's mount could lead to any file by symbolic links. */
static int open_query(const char *listings, bool *writable_out)
{
	int flags = O_NOFOLLOW | O_CLOEXEC, fd, err;
	int directory = open(listings, O_PATH | O_DIRECTORY | flags);
	struct stat st;

	if (directory < 0)
		return -errno;
	fd = openat(directory, ".query", O_RDWR | flags);
	*writable_out = fd >= 0 || errno != EROFS;
	if (!*writable_out)
		fd = openat(directory, ".query", O_RDONLY | flags);
	err = fd < 0 ? -errno : 0;
	close(directory);
	if (err || (!fstat(fd, &st) && S_ISREG(st.st_mode)))
		return err ? err : fd;
	close(fd);
	return -EBADMSG;
}

int client_answer(struct client_query *c, FILE *in)
{
	*c = (struct client_query){ .lines.in = in };
	return in && !setvbuf(in, NULL, _IOFBF, 1 << 16) ? 0 : -ENOMEM;
}

int client_ask(struct client_query *c, const char *listings, json_t *query)
{
	struct buf text = { 0 };
	bool writable = true;
	int err = json_append_line(&text, query), fd;

	*c = (struct client_query){ 0 };
	fd = err ? err : open_query(listings, &writable);
	if (fd >= 0) {
		err = put_query(fd, writable, &text);
		if (!err)
			err = client_answer(c, fdopen(fd, "re"));
		if (err && !c->lines.in)
			close(fd);
	}
	buf_release(&text);
	return fd < 0 ? fd : err;
}

int client_ask_share(int catalog, json_t *query)
{
	struct buf text = { 0 };
	int ends[2], err = json_append_line(&text, query);

	if (!err && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		err = -errno;
	if (!err) {
		err = datagram_send(catalog, SHARE_SOCKET_PATH, text.data,
				    text.len, ends[1]);
		close(ends[1]);
		if (err)
			close(ends[0]);
	}
	buf_release(&text);
	return err ? err : ends[0];
}

/* ---- lines ---- */

static int reserve(struct lines *l)
{
	size_t room = 2 * l->room + 4096;
	char *text = l->len + 1 < l->room ? l->text : realloc(l->text, room);

	if (!text)
		return -ENOMEM;
	l->room = l->len + 1 < l->room ? l->room : room;
	l->text = text;
	return 0;
}

int lines_next(struct lines *l, size_t most)
{
	int c;

	l->len = 0;
	errno = 0;
	do {
		c = getc_unlocked(l->in);
		if (c == EOF || c == '\n')
			break;
		if (l->len == most)
			return -EFBIG;
		if (reserve(l))
			return -ENOMEM;
		l->text[l->len++] = (char)c;
	} while (true);
	if (ferror(l->in))
		return errno ? -errno : -EIO;
	if (c == EOF && !l->len)
		return 0;
	if (reserve(l))
		return -ENOMEM;
	l->text[l->len] = '\0';
	l->number++;
	return 1;
}

void lines_release(struct lines *l)
{
	free(l->text);
	*l = (struct lines){ 0 };
}

/* ---- the answer ---- */

int client_next(struct client_query *c)
{
	int more = c->ended ? -EBADMSG : lines_next(&c->lines, CLIENT_LINE_MAX);

	json_decref(c->line);
	c->line = NULL;
	if (more <= 0)
		return more ? more : -EBADMSG;
	c->line = json_loadb(c->lines.text, c->lines.len, 0, NULL);
	if (!json_is_object(c->line))
		return -EBADMSG;
	c->ended = json_object_get(c->line, "end") != NULL;
	return !c->ended;
}

void client_close(struct client_query *c)
{
	FILE *in = c->lines.in;

	json_decref(c->line);
	lines_release(&c->lines);
	if (in)
		(void)fclose(in);
	*c = (struct client_query){ 0 };
}
