/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_STATE_H
#define CORE_SHARE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/catalog/catalog.h"
#include "core/catalog/dirty.h"
#include "core/share/db.h"

/*
 * What a share remembers of one catalog, in an LMDB file of its own beside that
 * of the catalog: its name, and what it published.
 *
 * A publication is a pair of a file and a content.  It is recorded as "sent"
 * before the database is told and as "known" after the database has it, so
 * whatever the database may have of this host is recorded here at any moment.
 * A file has one publication, and more while an old one is to be withdrawn.
 *
 * One process at a time has the state of a catalog open (-EBUSY).  It may be
 * lost: then everything is published again under a new epoch.
 */
struct share_state;

struct share_identity {
	uint8_t host[DB_UUID_BYTES]; /* random; kept for as long as the file */
	uint64_t epoch; /* of what is published now; 0: nothing ever was */
	uint64_t token; /* random; the database has it since the last batch */
	uint64_t next_token;    /* the database may have it: a batch was sent */
	bool is_filled;         /* everything was published in this epoch, */
	bool is_swept;          /* and that of earlier ones was withdrawn */
	struct dirty_mark done; /* changes up to there are published */
	uint64_t rules;         /* hash of what is shared, at that time */
};

struct share_publication {
	struct file_key file;
	uint8_t content[DB_UUID_BYTES];
	bool is_known;
	uint64_t hash; /* of the path and times that were published */
};

/* A file as the database and the state have it. */
#define SHARE_FILE_BYTES 16
void share_file_store(const struct file_key *key, uint8_t *p);

int share_state_open(const char *directory, struct share_state **out);
void share_state_close(struct share_state *s);

/* The identity, for reading and changing; stored by share_state_write(). */
struct share_identity *share_state_identity(struct share_state *s);

/* Stores the identity, and puts and removes publications, all or nothing.
 * clear: all that are there are removed first. */
int share_state_write(struct share_state *s, bool clear,
		      const struct share_publication *put, size_t put_count,
		      const struct share_publication *gone, size_t gone_count);

/* Publications in order of files and contents, at most max: those of_file; or
 * those of all files behind it (NULL: of all). */
int share_state_read(struct share_state *s, const struct file_key *file,
		     bool of_file, struct share_publication *out, size_t max,
		     size_t *count_out);

/* How many publications there are. */
uint64_t share_state_count(const struct share_state *s);

#endif
