/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLIENT_QUESTION_H
#define CORE_CLIENT_QUESTION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/client/client.h"
#include "core/digest/digest.h"
#include "core/index/judge.h"

/*
 * A question about a file or a directory, and the lines of its answer: how a
 * mount is asked (.query, fs/similar/query_text.h) and a kin-share
 * (core/share/ask.h).  Both sides make and read the objects here.
 *
 *   {"relation":"alike","path":"docs/a"}
 *   {"relation":"within","size":N,"digests":{"sif":"...","xxh128":"..."}}
 *
 * The relation (default: alike) is a name of index_relation_names, or
 *
 *   base         the file that is the best base for a delta of the one that is
 *                asked about; the file at the path "with" is always considered
 *   directories  directories that are alike; only of a path
 *
 * What is asked about is a path below the root of the mount, or a content that
 * need not be there: its bytes, and each digest in its text form.  "with", a path:
 * but for a base the answer is that file or directory alone, whatever the verdict
 * is.  "threshold", "share_min" and "limit" (of hits) stand for the options of
 * the mount.  "ignore": pairs that the user ignores are left out, or of the file
 * at "with" have "ignored".
 *
 * A line of the answer, best first, has the verdict as it was made:
 *
 *   {"score":97,"distinctive":96,"reason":"listed","bytes":N,"by":"bytes",
 *    "path":"docs/b"}
 */
enum question_kind { QUESTION_FILES, QUESTION_BASE, QUESTION_DIRECTORIES };

/* Nobody asks for more hits than these: they take memory of the daemon. */
enum { QUESTION_LIMIT_MAX = 4096 };

struct question {
	enum question_kind kind;
	const char *path;         /* NULL: digests */
	struct digests digests;   /* with the size */
	const char *with;         /* or NULL */
	struct judge_rules rules; /* 0: that of the mount */
	size_t limit;             /* 0: that of the mount */
	bool ignore;
};

/* -EINVAL: the object has a key that is not known, or a value that is not valid;
 * or neither a path nor size and digests, or a sketch that cannot be compared with
 * those here.  -ENOMEM.  The caller releases it. */
int question_parse(struct json_t *object, struct question *out);
void question_release(struct question *q);

/* Whether the object asks for that, which may be another relation than those of a
 * question. */
bool question_is_for(const struct json_t *object, const char *relation);

/* NULL without memory.  What the question has may be borrowed. */
struct json_t *question_make(const struct question *q);

/* A new object; NULL without memory.  Reads what that has: -EBADMSG. */
struct json_t *verdict_to_json(const struct verdict *v);
int verdict_from_json(const struct json_t *line, struct verdict *out);

/* The answer of a mount. */
struct answer {
	struct lines lines;
	/* Of the hit at hand. */
	struct verdict verdict;
	char *path; /* owned, the caller may take it; below the root */
	bool ignored;
	/* Behind the last one; state: borrowed; or NULL. */
	bool complete, cut;
	const char *state;
};

/* To be closed in any case. */
int question_ask(struct answer *a, const struct mount *m,
		 const struct question *q);

/* As client_next(). */
int answer_next(struct answer *a);
void answer_close(struct answer *a);

/* Asks, and reads to the end: 1: there was a hit, which *a has; 0: none. */
int question_ask_one(struct answer *a, const struct mount *m,
		     const struct question *q);

#endif
