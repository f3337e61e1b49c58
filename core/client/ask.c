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

/* A mount that is read-only, where .query is open for reading, takes a query by
 * ioctl(). */
static int put_piece(int fd, char *data, size_t len)
{
	ssize_t done = write(fd, data, len);

	if (done < 0 && errno == EBADF && !ioctl(fd, QUERY_IOCTL(len), data))
		return 0;
	if (done < 0)
		return -errno;
	return (size_t)done == len ? 0 : -EIO;
}

static int put_query(int fd, const struct buf *query)
{
	size_t at, len;
	int err = 0;

	for (at = 0; at < query->len && !err; at += len) {
		len = query->len - at;
		if (len > QUERY_PIECE_MAX)
			len = QUERY_PIECE_MAX;
		err = put_piece(fd, query->data + at, len);
	}
	return err;
}

/* Another user's mount could lead to any file by symbolic links. */
static int open_query(const char *listings)
{
	const int flags = O_NOFOLLOW | O_CLOEXEC;
	int directory = open(listings, O_PATH | O_DIRECTORY | flags), fd, err;
	struct stat st;

	if (directory < 0)
		return -errno;
	fd = openat(directory, ".query", O_RDWR | flags);
	if (fd < 0 && errno == EROFS)
		fd = openat(directory, ".query", O_RDONLY | flags);
	err = fd < 0 ? -errno : 0;
	close(directory);
	if (err || (!fstat(fd, &st) && S_ISREG(st.st_mode)))
		return err ? err : fd;
	close(fd);
	return -EBADMSG;
}

int client_answer(struct lines *l, FILE *in)
{
	*l = (struct lines){ .in = in };
	return in && !setvbuf(in, NULL, _IOFBF, 1 << 16) ? 0 : -ENOMEM;
}

int client_ask(struct lines *l, const char *listings, json_t *query)
{
	struct buf text = { 0 };
	int err = json_append_line(&text, query), fd;

	*l = (struct lines){ 0 };
	fd = err ? err : open_query(listings);
	if (fd >= 0) {
		err = put_query(fd, &text);
		if (!err)
			err = client_answer(l, fdopen(fd, "re"));
		if (err && !l->in)
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

/* For jansson: the line at hand, up to its end. */
static size_t read_line(void *to, size_t room, void *arg)
{
	struct lines *l = arg;
	char *text = to;
	size_t len = 0;
	int c;

	while (len < room && !l->is_whole && l->len < CLIENT_LINE_MAX) {
		c = getc_unlocked(l->in);
		l->is_whole = c == EOF || c == '\n';
		if (c != EOF)
			text[len++] = (char)c;
		l->len += c != EOF;
	}
	return len;
}

int lines_next(struct lines *l)
{
	char rest[1024];
	json_error_t error = { 0 };

	json_decref(l->line);
	errno = 0;
	l->len = 0;
	l->is_whole = false;
	l->line = json_load_callback(read_line, l, 0, &error);
	l->number += l->len > 0;
	if (l->line && l->is_whole && !ferror(l->in))
		return 1;
	json_decref(l->line);
	l->line = NULL;
	while (read_line(rest, sizeof(rest), l))
		;
	if (ferror(l->in))
		return errno ? -errno : -EIO;
	if (!l->len)
		return 0;
	if (json_error_code(&error) == json_error_out_of_memory)
		return -ENOMEM;
	return l->is_whole ? -EINVAL : -EFBIG;
}

void lines_close(struct lines *l)
{
	json_decref(l->line);
	if (l->in)
		(void)fclose(l->in);
	*l = (struct lines){ 0 };
}

/* ---- the answer ---- */

int client_next(struct lines *l)
{
	int more = l->ended ? 0 : lines_next(l);

	if (more <= 0)
		return more && (more != -EINVAL || ferror(l->in)) ? more :
								    -EBADMSG;
	l->ended = json_object_get(l->line, "end") != NULL;
	return !json_is_object(l->line) ? -EBADMSG : !l->ended;
}
