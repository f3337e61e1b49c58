/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/elsewhere.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/datagram.h"
#include "core/base/hex.h"
#include "core/search/similar_request.h"
#include "fs/fs.h"
#include "fs/similar/listing.h"
#include "fs/similar/listing_query.h"
#include "fs/similar/node.h"

#define SOCKET_PATH "share/socket"

/* kin-share cuts an answer that is longer than the pipe. */
enum { PIECE = 1 << 16, PIPE_BYTES = 1 << 20 };

struct elsewhere_query {
	struct listing_query *q;
	struct file_digests file;
	struct search_hits hits;
	char **targets; /* owned; as many as hits */
	bool is_complete, is_cut;
};

int elsewhere_init(struct elsewhere *e)
{
	int err = -pthread_mutex_init(&e->lock, NULL);

	e->catalog_fd = -1;
	return err ? err : -pthread_cond_init(&e->ended, NULL);
}

void elsewhere_release(struct elsewhere *e)
{
	if (e->catalog_fd >= 0)
		(void)close(e->catalog_fd);
	(void)pthread_cond_destroy(&e->ended);
	(void)pthread_mutex_destroy(&e->lock);
}

void elsewhere_set_catalog(struct fs *fs, const char *directory)
{
	if (fs->similar)
		fs->similar->elsewhere.catalog_fd =
			open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void elsewhere_stop(struct fs *fs)
{
	struct elsewhere *e = fs->similar ? &fs->similar->elsewhere : NULL;

	if (!e)
		return;
	(void)pthread_mutex_lock(&e->lock);
	while (e->running)
		(void)pthread_cond_wait(&e->ended, &e->lock);
	(void)pthread_mutex_unlock(&e->lock);
}

static void answer_free(struct elsewhere_query *q)
{
	size_t i;

	for (i = 0; i < q->hits.count; i++) {
		free(q->hits.hits[i].path);
		free(q->targets[i]);
	}
	free(q->hits.hits);
	free(q->targets);
	file_digests_release(&q->file);
	free(q);
}

/* ---- the query ---- */

/* Reads until the end of the answer or ELSEWHERE_WAIT_S. */
static int read_all(int fd, struct buf *out)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t end_ms = clock_now_ms() + ELSEWHERE_WAIT_S * 1000, left;
	ssize_t len = 1;
	int err = 0;

	while (!err && len > 0 && (left = end_ms - clock_now_ms()) > 0) {
		if (poll(&p, 1, (int)left) <= 0)
			continue;
		err = buf_reserve(out, PIECE);
		len = err ? 0 : read(fd, out->data + out->len, PIECE);
		if (len > 0)
			out->len += (size_t)len;
	}
	return err;
}

/* ---- the answer ---- */

/* Makes a name for a directory entry of a host and a path. */
static void replace_slashes(char *name)
{
	for (; *name; name++)
		if (*name == '/')
			*name = '_';
}

static int add_link(struct elsewhere_query *q, int score, const char *host,
		    const char *path)
{
	const char *base = strrchr(path, '/');
	struct search_hit *hits =
		array_with_room(q->hits.hits, q->hits.count, sizeof(*hits));
	char **targets;

	if (!hits)
		return -ENOMEM;
	q->hits.hits = hits;
	targets = array_with_room(q->targets, q->hits.count, sizeof(*targets));
	if (!targets)
		return -ENOMEM;
	q->targets = targets;
	hits += q->hits.count;
	*hits = (struct search_hit){ .verdict.score = score };
	if (asprintf(&hits->path, "%s:%s", host, base ? base + 1 : path) < 0)
		return -ENOMEM;
	if (asprintf(&targets[q->hits.count], "%s:%s", host, path) < 0) {
		free(hits->path);
		return -ENOMEM;
	}
	replace_slashes(hits->path);
	q->hits.count++;
	return 0;
}

/* A copy without a path (kin-share --no-paths) is listed as "not told". */
static int take_copy(struct elsewhere_query *q, int score, const json_t *copy)
{
	const char *host = json_string_value(json_object_get(copy, "host"));
	const char *path = json_string_value(json_object_get(copy, "path"));
	const char *hex = json_string_value(json_object_get(copy, "path_hex"));
	size_t len = hex ? strlen(hex) / 2 : 0;
	char *bytes = calloc(len + 1, 1), *label = strdup(host ? host : "?");
	int err = bytes && label ? 0 : -ENOMEM;

	if (!err && hex && !hex_decode(hex, 2 * len, (uint8_t *)bytes, len))
		path = bytes;
	if (!err) {
		replace_slashes(label);
		err = add_link(q, score, label, path ? path : "not told");
	}
	free(bytes);
	free(label);
	return err;
}

/* 1: the last line was read. */
static int take_line(struct elsewhere_query *q, const json_t *line)
{
	const json_t *copies = json_object_get(line, "copies");
	int score = (int)json_integer_value(json_object_get(line, "score"));
	const char *reason;
	size_t i;
	int err = 0;

	if (json_object_get(line, "end")) {
		reason = json_string_value(json_object_get(line, "reason"));
		q->is_cut = reason && !strcmp(reason, "cut");
		q->is_complete =
			json_is_true(json_object_get(line, "complete"));
		return 1;
	}
	if (score < 0 || score > 100)
		return -EBADMSG;
	for (i = 0; i < json_array_size(copies) && !err; i++)
		err = take_copy(q, score, json_array_get(copies, i));
	return err;
}

static int take_answer(struct elsewhere_query *q, const struct buf *text)
{
	const char *at = text->data, *end = at, *stop;
	json_t *line;
	int err = 0;

	if (text->len)
		end = at + text->len;
	while (!err && at < end &&
	       (stop = memchr(at, '\n', (size_t)(end - at)))) {
		line = json_loadb(at, (size_t)(stop - at), 0, NULL);
		err = take_line(q, line);
		json_decref(line);
		at = stop + 1;
	}
	return err < 0 ? err : 0;
}

/* In its sandbox the daemon can send datagrams but cannot connect.  So the
 * answer comes through a pipe, whose write end is sent with the query.
 *
 * Only -ENOMEM is an error; after others the listing is incomplete. */
static int ask_share(struct elsewhere_query *q)
{
	const struct fs *fs = q->q->fs;
	json_t *request = similar_request_new(&q->file.digests,
					      fs->options.threshold, false);
	char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	struct buf answer = { 0 };
	int ends[2], err = text ? 0 : -ENOMEM;

	json_decref(request);
	if (!err && pipe2(ends, O_CLOEXEC))
		err = -errno;
	if (!err) {
		(void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
		err = datagram_send(fs->similar->elsewhere.catalog_fd,
				    SOCKET_PATH, text, strlen(text), ends[1]);
		(void)close(ends[1]);
		if (!err)
			err = read_all(ends[0], &answer);
		(void)close(ends[0]);
	}
	if (!err)
		err = take_answer(q, &answer);
	buf_release(&answer);
	free(text);
	return err == -ENOMEM ? err : 0;
}

/* ---- the thread of a query ---- */

static int make_listing(struct elsewhere_query *q, struct listing **out)
{
	struct listing *l;
	size_t i;
	int err = listing_from_hits(&q->hits, q->q->node->depth, &l);

	if (err)
		return err;
	for (i = 0; i < l->count; i++) {
		free(l->items[i].target);
		l->items[i].target = q->targets[i];
		l->items[i].path = q->targets[i];
		q->targets[i] = NULL;
	}
	err = listing_set_state(l, &q->file, !q->is_complete && !q->is_cut,
				!q->is_complete, SIZE_MAX);
	if (err)
		listing_unref(l);
	else
		*out = l;
	return err;
}

static void *elsewhere_run(void *arg)
{
	struct elsewhere_query *q = arg;
	struct elsewhere *e = &q->q->fs->similar->elsewhere;
	struct listing *l = NULL;
	int err = 0;

	if (q->file.state == DIGESTS_FRESH && q->file.digests.size)
		err = ask_share(q);
	if (!err)
		err = make_listing(q, &l);
	listing_query_end(q->q, err, l);
	answer_free(q);
	(void)pthread_mutex_lock(&e->lock);
	e->running--;
	(void)pthread_cond_broadcast(&e->ended);
	(void)pthread_mutex_unlock(&e->lock);
	return NULL;
}

int list_elsewhere(struct listing_query *query, int fd)
{
	struct elsewhere *e = &query->fs->similar->elsewhere;
	struct elsewhere_query *q;
	pthread_t thread;
	int err;

	if (!query->caller.trusted)
		return -EACCES;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->q = query;
	err = engine_ask(query->fs->engine, fd, DIGEST_ALL, &q->file);
	(void)pthread_mutex_lock(&e->lock);
	if (!err && e->running == ELSEWHERE_MAX)
		err = -EAGAIN;
	if (!err)
		err = -pthread_create(&thread, NULL, elsewhere_run, q);
	if (!err) {
		e->running++;
		(void)pthread_detach(thread);
	}
	(void)pthread_mutex_unlock(&e->lock);
	if (err)
		answer_free(q);
	return err;
}
