/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/datagram.h"
#include "core/base/json.h"
#include "fs/fs.h"
#include "fs/similar/similar_impl.h"

/*
 * The view .elsewhere of a file: its near-duplicates on other hosts, for the
 * owner of the mount.
 *
 *   .elsewhere/097_ada:report.txt -> ada:/home/ada/report.txt
 *
 * The links lead nowhere on this host.  The mount sends a query as a datagram
 * (core/share/ask.h) to its kin-share, which answers.  The job waits for it,
 * ELSEWHERE_WAIT_S at most; nothing else does.  If there is no kin-share, or it
 * cannot answer, the state of the listing is "incomplete".
 */
enum { ELSEWHERE_WAIT_S = 3 };

#define SOCKET_PATH "share/socket"

/* kin-share cuts an answer that is longer than the pipe. */
enum { PIECE = 1 << 16, PIPE_BYTES = 1 << 20 };

struct elsewhere_query {
	const struct fs *fs;
	struct file_digests file;
	struct listing *listing;
	bool is_complete, is_cut;
};

/* ---- the answer ---- */

/* A host and a path become part of the name of a directory entry. */
static void replace_slashes(char *name)
{
	for (; *name; name++)
		if (*name == '/')
			*name = '_';
}

/* A copy without a path (kin-share --no-paths) is listed as "not told". */
static int take_copy(struct elsewhere_query *q, int score, const json_t *copy)
{
	const char *host =
		json_string_value(json_object_get(copy, "host")) ?: "?";
	char *path = json_get_path(copy, "path"), *name = NULL, *target = NULL;
	const char *shown = path ? path : "not told",
		   *slash = strrchr(shown, '/');

	if (asprintf(&name, "%s:%s", host, slash ? slash + 1 : shown) < 0)
		name = NULL;
	if (name)
		replace_slashes(name);
	if (name &&
	    asprintf(&target, "%.*s:%s", (int)strlen(host), name, shown) < 0)
		target = NULL;
	free(path);
	if (target)
		path = listing_make_name(score, name);
	free(name);
	return target ? listing_add(q->listing, path, target) : -ENOMEM;
}

/* Reads the lines of the answer up to that with "end". */
static int take_answer(struct elsewhere_query *q, const struct buf *text)
{
	const char *at = text->data, *end = at, *stop;
	bool ended = false;
	int err = 0;

	if (text->len)
		end = at + text->len;
	while (!err && !ended && at < end &&
	       (stop = memchr(at, '\n', (size_t)(end - at)))) {
		json_t *line = json_loadb(at, (size_t)(stop - at), 0, NULL);
		const json_t *copies = json_object_get(line, "copies");
		const char *reason =
			json_string_value(json_object_get(line, "reason"));
		int score =
			(int)json_integer_value(json_object_get(line, "score"));
		size_t i;

		ended = json_object_get(line, "end");
		if (ended) {
			q->is_cut = reason && !strcmp(reason, "cut");
			q->is_complete =
				json_is_true(json_object_get(line, "complete"));
		} else if (score < 0 || score > 100) {
			err = -EBADMSG;
		}
		for (i = 0; !ended && i < json_array_size(copies) && !err; i++)
			err = take_copy(q, score, json_array_get(copies, i));
		json_decref(line);
		at = stop + 1;
	}
	return err;
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

/* In its sandbox the daemon can send datagrams but cannot connect.  So the
 * answer comes through a pipe, whose write end is sent with the query.
 *
 * Only -ENOMEM is an error; after others the listing is incomplete. */
static int ask_share(struct elsewhere_query *q)
{
	const struct fs *fs = q->fs;
	const struct digests *d = &q->file.digests;
	/* NULL makes json_pack() fail. */
	json_t *request = json_pack(
		"{s:{s:I, s:o}, s:i}", "similar", "size", (json_int_t)d->size,
		"digests", digests_to_json(d, ~DIGEST_BIT(DIGEST_SDHASH)),
		"threshold", fs->options.threshold);
	char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	struct buf answer = { 0 };
	int ends[2], err = text ? 0 : -ENOMEM;

	json_decref(request);
	if (!err && pipe2(ends, O_CLOEXEC))
		err = -errno;
	if (!err) {
		(void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
		err = datagram_send(fs->similar->catalog_fd, SOCKET_PATH, text,
				    strlen(text), ends[1]);
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

int list_elsewhere(struct listing_query *query, int fd, struct listing **out)
{
	struct elsewhere_query q = { .fs = query->fs };
	int err;

	if (!query->caller.trusted)
		return -EACCES;
	err = engine_ask(query->fs->engine, fd, DIGEST_ALL, &q.file);
	if (err)
		return err;
	err = listing_new(out);
	q.listing = *out;
	if (!err && q.file.state == DIGESTS_FRESH && q.file.digests.size)
		err = ask_share(&q);
	if (!err)
		err = listing_finish(*out) ?:
					     listing_set_state(*out, &q.file,
							       !q.is_complete && !q.is_cut,
							       !q.is_complete, SIZE_MAX);
	file_digests_release(&q.file);
	return err;
}
