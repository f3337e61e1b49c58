/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXTRACT_CLIENT_H
#define CORE_EXTRACT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/extract/extract.h"

/*
 * The text of a descriptor.
 *
 *	extract_open(NULL, &client);             before threads and sandboxes
 *	extract_begin(client, fd, uid, &extract_limits_default);
 *	do
 *		err = extract_next(client, &piece);
 *	while (!err && piece.type != EXTRACT_PIECE_END);
 *	extract_free(client);
 *
 * What a file does to the process that reads it stays there: a crash, a loop or
 * nonsense is a result (EXTRACT_DAMAGED, EXTRACT_LIMIT), and the next file gets
 * a new process.  Pieces that came before count only when the result at the end
 * is EXTRACT_OK, those of a member when that member's is.  A caller that
 * compares texts asks for as much evidence as its measure needs: a text of ten
 * words is EXTRACT_OK, too.
 *
 * A client is for one thread at a time.  A thread more takes another one, of the
 * same starter.
 */
struct extract_client;

enum extract_piece_type {
	EXTRACT_PIECE_TEXT,       /* whole characters of UTF-8 */
	EXTRACT_PIECE_BYTES,      /* of a member that is no document */
	EXTRACT_PIECE_MEMBER,     /* data: its name; pieces of it follow */
	EXTRACT_PIECE_MEMBER_END, /* result: of the innermost member */
	EXTRACT_PIECE_END,        /* result: of the file */
};

struct extract_piece {
	enum extract_piece_type type;
	const uint8_t *data; /* until the next call */
	size_t len;
	struct extract_result result;
};

/*
 * Forks the process that starts the others, so that the caller itself needs
 * neither fork() nor execve() nor kill() later; root's becomes nobody.  It ends
 * with the caller.  kin-extract, kin-extract-pdf and kin-extract-picture are in that
 * directory; NULL: where the caller's own program is.  -ENOENT: there is no
 * kin-extract; what another one would read is EXTRACT_UNSUPPORTED without it.
 */
int extract_open(const char *directory, struct extract_client **out);
/* Another client with the same starter.  background: its processes run when nobody
 * else wants the processor.  Any thread may call it. */
int extract_open_more(const struct extract_client *c, bool background,
		      struct extract_client **out);
void extract_free(struct extract_client *c);

/* Pictures are EXTRACT_UNSUPPORTED, as without kin-extract-picture; for all clients
 * of the starter, before they begin. */
void extract_refuse_pictures(struct extract_client *c);

/* Once stop() returns true, which is called a few times a second, a file that is
 * being read ends with EXTRACT_LIMIT. */
void extract_stop_when(struct extract_client *c, bool (*stop)(void *arg),
		       void *arg);

/*
 * The descriptor, of a regular file that can be read, stays the caller's and
 * open until the end.  A process serves files of one owner: another one gets a
 * new process.  What was begun before and not read to its end is dropped.
 * -EIO: no process could be started.
 */
int extract_begin(struct extract_client *c, int fd, uint32_t owner,
		  const struct extract_limits *limits);

/* The next piece; waits for it.  -EIO as above. */
int extract_next(struct extract_client *c, struct extract_piece *out);

#endif
