/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_ASK_H
#define CORE_SHARE_ASK_H

#include <stdbool.h>
#include <stdio.h>

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
 *   {"status":true}
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
	unsigned wait_ms;   /* of a question */
	const uint8_t *but; /* NULL, or a host that is left out */
	bool is_checked;    /* the tables are of this version */
	int64_t share_limit;
	/* Appends the fields of a status to a JSON object; or NULL. */
	struct json_t *(*status)(void *arg);
	void *arg;
};

/* Writes the answer to a request.  0, or a negative errno when out cannot be
 * written to. */
int ask_answer(struct ask *a, const char *line, size_t len, FILE *out);

/* ---- ask_groups.c ---- */

/* Prints the groups; why_out: "" or why they are not complete. */
int ask_groups(struct share_db *db, uint64_t min_size, FILE *out, char *why_out,
	       size_t why_room);

/* ---- lines ---- */

struct json_t;
/* Prints a line and drops the value. */
int ask_print(FILE *out, struct json_t *value);
/* A string, with question marks for what is no ASCII when it is no UTF-8. */
struct json_t *ask_text(const char *text);
/* Sets "path" or "path_hex" of an object; NULL: neither. */
int ask_set_path(struct json_t *object, const char *path);

#endif
