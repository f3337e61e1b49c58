/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/client/question.h"
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
 * cannot answer, the state of the listing is "incomplete".  So it is when the
 * answer has more than ELSEWHERE_MOST bytes: they come from other hosts.
 */
enum {
	ELSEWHERE_WAIT_S = 3,
	PIECE = 1 << 16,
	ELSEWHERE_MOST = 16 << 20,
	LOOK_MS = 100
};

struct elsewhere_query {
	const struct listing_query *query;
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

static int take_line(struct elsewhere_query *q, const json_t *line)
{
	const json_t *copies = json_object_get(line, "copies");
	json_int_t score = json_integer_value(json_object_get(line, "score"));
	size_t i;
	int err = score < 0 || score > 100 ? -EBADMSG : 0;

	for (i = 0; i < json_array_size(copies) && !err; i++)
		err = take_copy(q, (int)score, json_array_get(copies, i));
	return err;
}

/* Whether nobody waits for the answer any more, or the daemon ends. */
static bool is_given_up(const struct listing_query *q)
{
	return atomic_load(&q->park.ticket.given_up) ||
	       atomic_load(engine_searcher(q->fs->engine)->context.stopping);
}

/* Reads until the end of the answer, ELSEWHERE_WAIT_S or ELSEWHERE_MOST. */
static int read_all(const struct listing_query *q, int fd, struct buf *out)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t end_ms = clock_now_ms() + ELSEWHERE_WAIT_S * 1000, left;
	ssize_t len = 1;
	int err = 0;

	while (!err && len > 0 && out->len < ELSEWHERE_MOST &&
	       !is_given_up(q) && (left = end_ms - clock_now_ms()) > 0) {
		if (poll(&p, 1, left < LOOK_MS ? (int)left : LOOK_MS) <= 0)
			continue;
		err = buf_reserve(out, PIECE);
		len = err ? 0 : read(fd, out->data + out->len, PIECE);
		if (len > 0)
			out->len += (size_t)len;
	}
	return err;
}

/* Only -ENOMEM is an error; after others the listing is incomplete. */
static int ask_share(struct elsewhere_query *q)
{
	const struct fs *fs = q->query->fs;
	const struct question question = {
		.digests = q->file.digests,
		.rules = { .relation = INDEX_ALIKE,
			   .threshold = fs->options.threshold },
	};
	int fd = client_ask_share(fs->similar->catalog_fd,
				  question_make(&question));
	struct lines c = { 0 };
	struct buf answer = { 0 };
	const char *reason;
	int err = fd < 0 ? fd : read_all(q->query, fd, &answer);

	if (fd >= 0)
		(void)close(fd);
	if (!err && answer.len)
		err = client_answer(&c, fmemopen(answer.data, answer.len, "r"));
	else if (!err)
		err = -EBADMSG;
	while (!err && (err = client_next(&c)) == 1)
		err = take_line(q, c.line);
	if (!err) {
		reason = json_string_value(json_object_get(c.line, "reason"));
		q->is_cut = reason && !strcmp(reason, "cut");
		q->is_complete =
			json_is_true(json_object_get(c.line, "complete"));
	}
	lines_close(&c);
	buf_release(&answer);
	return err == -ENOMEM ? err : 0;
}

int list_elsewhere(struct listing_query *query, int fd, struct listing **out)
{
	struct elsewhere_query q = { .query = query };
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
