/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_ASK_H
#define CORE_SHARE_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/digest/digest.h"
#include "core/share/db.h"

/*
 * Requests as lines of JSON, and their answers: how kin and kinfs ask.  A
 * request is a datagram to SHARE_SOCKET in the share's directory, and brings a
 * descriptor that the answer is written to: a mount may send, but may not
 * connect to anything.  kin-share ask reads requests from its standard input.
 *
 *   {"similar":{"size":N,"digests":{"xxh128":"...","sif":"..."}},
 *    "threshold":60,"limit":256,"all":false}
 *   {"groups":{"min_size":N}}
 *   {"status":true}					(of the socket alone)
 *
 * similar is answered by a line for each content, best first:
 *   {"score":97,"size":N,"digests":{...},
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
};

/* Writes the answer to a request, which may be NULL.  0, or a negative errno
 * when out cannot be written to. */
struct json_t;
int ask_answer(struct ask *a, const struct json_t *request, FILE *out);

/* Writes a line, and the last one; reason "": the answer is complete. */
int ask_print(FILE *out, struct json_t *value);
int ask_print_end(FILE *out, const char *reason);

/* ---- groups.c ---- */

/* Prints the groups; reason_out: "" or why they are not complete. */
int ask_groups(struct share_db *db, uint64_t min_size, FILE *out,
	       char *reason_out, size_t reason_room);

/* ---- question.c ---- */

/*
 * What the hosts of a shared catalog have that resembles a content.
 *
 *  1. Which contents have values of its sketch: its anchors, and some below the
 *     limit.  A value of more than QUESTION_COMMON contents is boilerplate.
 *  2. The sketches of those with most values, and of the content itself; scored
 *     as in a mount (core/index/judge.h).
 *  3. Where those with a score of at least the threshold are.
 *
 * Each step is one statement.  One that fails is repeated with a statement for
 * each value or content: a server that is gone costs what it alone has, and the
 * answer says that it is not complete.
 */
#define QUESTION_VALUES 24
#define QUESTION_COMMON 128
/* With more, one of them is boilerplate. */
#define QUESTION_POSTINGS (QUESTION_VALUES * QUESTION_COMMON)
#define QUESTION_CANDIDATES 200
#define QUESTION_COPIES 1000

struct question {
	const struct digests *digests; /* sif as text, if there is one */
	int threshold;                 /* 1..100 */
	size_t limit;                  /* contents in the answer */
	unsigned wait_ms;              /* for all of it */
	bool boilerplate;              /* also what is alike in nothing else */
	const char *but;     /* NULL, or the id of a host: without it */
	int64_t share_limit; /* of the shared catalog */
};

/* Prints the contents, best score first; reason_out: "" or why they are not
 * complete.  The connection is closed when nothing could be said. */
int ask_question(struct share_db *db, const struct question *q, FILE *out,
		 char *reason_out, size_t reason_room);

#endif
