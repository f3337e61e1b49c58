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
 * and publications to withdraw.  Sending a batch twice changes nothing more
 * than sending it once.
 */
#define SHARE_BATCH_CONTENTS 1000
#define SHARE_BATCH_FILES 4000

struct batch_copy {
	struct share_publication publication;
	char *path;       /* owned; absolute; NULL: it is not told */
	int64_t mtime_ns; /* not told without a path */
};

struct batch_content {
	uint8_t uuid[DB_UUID_BYTES];
	uint64_t size, simhash;
	bool has_simhash, has_traits;
	uint8_t traits[16];
	uint8_t *sketch; /* owned; NULL: it has none */
	size_t sketch_len;
};

struct batch_posting {
	uint64_t value;
	uint8_t content[DB_UUID_BYTES];
};

struct share_batch {
	struct batch_copy *copies;
	size_t copy_count;
	struct share_publication *gone; /* to be withdrawn */
	size_t gone_count;
	struct batch_content *contents;
	size_t content_count;
	struct batch_posting *postings;
	size_t posting_count;
};

/* Empties it and frees what it holds. */
void batch_clear(struct share_batch *b);

static inline bool batch_is_full(const struct share_batch *b)
{
	return b->content_count >= SHARE_BATCH_CONTENTS ||
	       b->copy_count + b->gone_count >= SHARE_BATCH_FILES;
}

/* Takes the path on success. */
int batch_add_copy(struct share_batch *b, const struct share_publication *p,
		   char *path, int64_t mtime_ns);
int batch_add_gone(struct share_batch *b, const struct share_publication *p);

/* sketch may be NULL, and is cut.  limit: see schema.h. */
int batch_add_content(struct share_batch *b, const struct digests *d,
		      struct sketch *sketch, int64_t limit);

/* Sends the batch; the host's token in the database becomes next_token.
 * -ESTALE: the database has not the epoch and token of the identity; nothing
 * was done. */
int batch_send(const struct share_batch *b, struct share_db *db,
	       const struct share_identity *identity);

/* A file as the database has it. */
#define DB_FILE_BYTES 16
void batch_format_file(const struct file_key *key, uint8_t out[DB_FILE_BYTES]);

/* Of a time that the database can represent: the nearest one. */
int64_t batch_time_us(int64_t ns);

#endif
