/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_BATCH_H
#define CORE_SHARE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/digest.h"
#include "core/digest/sketch/sketch.h"
#include "core/share/db.h"
#include "core/share/state.h"

/*
 * What is published in one transaction of the database: about
 * SHARE_BATCH_CONTENTS contents with their postings, the files that have them,
 * and publications to withdraw, all in the form that the database takes.
 * Sending a batch twice changes nothing more than sending it once.
 */
#define SHARE_BATCH_CONTENTS 1000
#define SHARE_BATCH_FILES 4000

struct share_batch {
	struct buf contents, postings, copies; /* rows for db_copy() */
	/* Arrays: of the copies that are replaced or withdrawn. */
	struct buf old_contents, old_files;
	struct share_publication *put, *gone;
	size_t put_count, gone_count, content_count;
	uint8_t content[DB_UUID_BYTES]; /* the last one */
};

/* Empties it and frees what it holds. */
void batch_clear(struct share_batch *b);

static inline bool batch_is_full(const struct share_batch *b)
{
	return b->content_count >= SHARE_BATCH_CONTENTS ||
	       b->put_count + b->gone_count >= SHARE_BATCH_FILES;
}

/* path: absolute; NULL: neither it nor the time is told. */
int batch_add_copy(struct share_batch *b, const struct share_publication *p,
		   const char *path, int64_t mtime_ns);
int batch_add_gone(struct share_batch *b, const struct share_publication *p);

/* sketch may be NULL.  limit: see schema.h. */
int batch_add_content(struct share_batch *b, const struct digests *d,
		      const struct sketch *sketch, int64_t limit);

/* Sends the batch; the host's token in the database becomes next_token.
 * -ESTALE: the database has not the epoch and token of the identity; nothing
 * was done. */
int batch_send(const struct share_batch *b, struct share_db *db,
	       const struct share_identity *identity);

#endif
