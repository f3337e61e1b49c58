/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_ASK_H
#define CORE_SHARE_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/share/db.h"

/*
 * Requests as lines of JSON, and their answers: how kin and kinfs ask.  A
 * request is a datagram to SHARE_SOCKET in the share's directory, and brings a
 * descriptor that the answer is written to: a mount may send, but may not
 * connect to anything.  kin-share ask, for programs without a mount, reads
 * requests from its standard input.
 *
 *   {"relation":"alike","size":N,"digests":{"xxh128":"...","sif":"..."},
 *    "threshold":60,"limit":256}
 *   {"relation":"groups","min_size":N}
 *   {"relation":"status"}				(of the socket alone)
 *
 * The first, or one with the relation all, is a question as a mount is asked
 * (core/client/question.h).  It is answered by a line for each content, best
 * first: the verdict, and
 *   {"score":97, ... ,"size":N,"digests":{...},
 *    "copies":[{"host":"ada","id":"uuid","path":"/a","mtime":S}]}
 * groups by lines as kin groups --json prints them, with hosts, status by its
 * fields; a path that is no UTF-8 is "path_hex".  The last line of each answer:
 *   {"end":true,"complete":false,"reason":"..."}
 */
#define SHARE_SOCKET "socket"
#define ASK_BYTES_MAX ((size_t)128 << 10)
#define SHARE_WAIT_MS 2000

struct ask {
	struct share_db *db; /* opened when it is needed */
	const char *conninfo;
	unsigned wait_ms; /* of a question */
	const char *but;  /* NULL, or the id of a host that is left out */
	bool is_checked;  /* the tables are of this version */
	int64_t share_limit;
	char reason[512]; /* why the answer is not complete; "": it is */
};

/* Appends the answer to a request, which may be NULL: to memory, so that a
 * reader may take as long as it likes.  -ENOMEM. */
struct json_t;
int ask_answer(struct ask *a, struct json_t *request, struct buf *out);

/* Appends the last line; reason "": the answer is complete. */
int ask_end(struct buf *out, const char *reason);

/* Keeps the first reason: what failed in the database, unless err is -ENOMEM, or
 * -EINVAL for a request that is not understood. */
void ask_note(struct ask *a, int err);

/* ---- groups.c ---- */

/* Appends the groups.  With an error the rest is missing. */
int ask_groups(struct ask *a, uint64_t min_size, struct buf *out);

#endif
