/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLIENT_CLIENT_H
#define CORE_CLIENT_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"

/*
 * How a program that is not the daemon finds a mount and asks it.  Nothing here
 * prints.
 *
 * mount_find() tells in which kinfs mount a path is.  client_ask() sends one
 * JSON object to the file .query of its listings, or to a kin-share, and
 * client_next() reads the answer, an object a line, while it is made (their
 * form: question.h, fs/similar/query_text.h, core/share/ask.h).  To close the client in
 * between ends the query; so does a signal that ends the program.
 *
 * A mount may be another user's, who can answer anything: no line is longer
 * than CLIENT_LINE_MAX, and an answer without its last line is none.
 */

/* ---- mounts (mount.c) ---- */

#define STATUS_ATTRIBUTE "user.kinfs.status"
#define WAIT_ATTRIBUTE "user.kinfs.wait"
#define STATE_ATTRIBUTE "user.kinfs.state"
#define TEXT_ATTRIBUTE "user.kinfs.text"
#define CONTROL_ATTRIBUTE "user.kinfs.control"

struct mount {
	char *root;     /* that its files are below: point, or SOURCE */
	char *point;    /* where it is mounted, and asked */
	char *rel;      /* the path asked for, relative to root; "" for root */
	char *listings; /* the directory of near-duplicates; NULL: it has none */
	json_t *status; /* of the time when it was found */
	/* Root or the caller mounted it.  Another user's mount can say anything
	 * of itself, so nothing is done in a place that it names. */
	bool is_trusted;
};

void mount_release(struct mount *m);

/* By the options of a line of a file as /proc/self/mounts. */
bool mount_is_trusted(const char *options);

/*
 * In which kinfs mount is path?  One in no mount may be in the SOURCE of one that
 * is trusted and answers the caller: then it is that, and root is SOURCE.
 * -ENODEV: in none; -EXDEV: it was reached by a bind mount and the root itself is
 * not mounted anywhere; the errors of mount_get_status().
 */
int mount_find(const char *path, struct mount *out);

/* Whether the path that was asked for is in SOURCE, and not in the mount. */
static inline bool mount_is_of_source(const struct mount *m)
{
	return strcmp(m->root, m->point) != 0;
}

/* The part of path after the directory prefix, without a slash in front; NULL
 * when it does not lie there. */
const char *path_below(const char *path, const char *prefix);

/* The value of an attribute, NUL-terminated; of a path below the root. */
int mount_get_attribute(const char *path, const char *name, struct buf *out);
int mount_ask_attribute(const struct mount *m, const char *rel,
			const char *name, struct buf *out);

/* The parsed status; the caller drops it.  -EBADMSG when it is no JSON.  To be
 * shown: a place in it is used only through mount_get_place(). */
int mount_get_status(const char *root, json_t **out);
/* Waits for it so long at most, -ETIMEDOUT: its daemon may be stopped.  Then a
 * thread waits on until the process ends. */
int mount_get_status_within(const char *root, int seconds, json_t **out);

/* The path that the status has under the key, or under the key of an object in
 * it (NULL: none), to be freed.  NULL: the mount does not tell it, or is not
 * trusted. */
char *mount_get_place(const struct mount *m, const char *object,
		      const char *key);

/* ---- lines (ask.c) ---- */

#define CLIENT_LINE_MAX ((size_t)64 << 20)

/* JSON values, a line each: of a file, or of the answer to a query.  Zeroed but
 * for in. */
struct lines {
	FILE *in;      /* owned */
	json_t *line;  /* the last one */
	size_t number; /* of it, from 1 */
	size_t len;    /* what was read of it */
	bool is_whole; /* all of it was read */
	bool ended;    /* the answer, as it has told */
};

/* 1: a value, in l->line; 0: the end; -EINVAL: the line is not one array or
 * object; -EFBIG: it is too long; an error of reading. */
int lines_next(struct lines *l);
void lines_close(struct lines *l);

/* ---- a query (ask.c) ---- */

/* Asks in a directory of near-duplicates.  Takes query, also on failure; NULL:
 * -ENOMEM.  To be closed in any case. */
int client_ask(struct lines *l, const char *listings, json_t *query);

/* Asks the kin-share of a catalog, whose directory the descriptor is: the query
 * goes there in a datagram, with the end of a connection to which the answer is
 * written.  Takes query.  Returns the other end; -ENOENT, -ECONNREFUSED: there is
 * no kin-share. */
int client_ask_share(int catalog, json_t *query);

/* As client_ask(), for a query that was sent: reads the answer from in, which it
 * takes, also on failure; NULL: -ENOMEM. */
int client_answer(struct lines *l, FILE *in);

/* 1: a line, in l->line; 0: the last one, which has "end"; -EBADMSG: it is no
 * JSON object, or the answer ended without it; -EINVAL: the query is not known
 * there; or another error of reading. */
int client_next(struct lines *l);

#endif
