/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_SESSION_H
#define CORE_SHARE_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/catalog/catalog.h"
#include "core/digest/digest.h"
#include "core/digest/sketch/sketch.h"
#include "core/share/db.h"
#include "core/share/schema.h"

/* ---- state.c ---- */

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

struct share_state {
	struct share_identity identity; /* stored by share_state_write() */
	uint64_t count;                 /* publications */
	struct MDB_env *env;
	unsigned meta, publications; /* databases of LMDB */
	int lock_fd;
};

int share_state_open(const char *directory, struct share_state **out);
void share_state_close(struct share_state *s);

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

/* ---- batch.c ---- */

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

/* ---- session.c ---- */

/* What is shared. */
struct share_rules {
	struct share_names globs; /* of paths relative to SOURCE; none: all */
	bool none;                /* nothing is shared */
	bool no_paths;            /* contents and their number alone */
	char label[256];          /* of the host; at least one character */
};

/*
 * One catalog that is published: follows it, and sends what changed.
 *
 * session_greet() on each new connection asks whether the database has of this
 * host what the state says.  Both sides keep the random token of the last
 * batch, and the state also that of a batch that was sent and not yet answered;
 * any other token means that one side was emptied or went back to a backup.
 * Then a new epoch begins: the publications are forgotten, everything is sent
 * again, and last the copies of earlier epochs are deleted.
 *
 * A pass visits files and puts those into batches whose publications differ
 * from what they should have: all files and all publications, or the files that
 * changed since the last pass.  What changes behind it is recorded as dirty and
 * visited by the next one.  A file that is being hashed keeps its publication
 * until its digests are known.
 *
 * Nothing of a session is used by two threads, but for the figures.
 */
struct session {
	/* Set by the owner; borrowed. */
	const char *directory; /* of the catalog */
	const struct share_rules *rules;
	const atomic_bool *stop;

	char *share_directory; /* owned */
	char *source;          /* owned; absolute */
	struct file_key root;  /* of source */
	struct catalog *catalog;
	struct share_state *state;
	char host[DB_UUID_TEXT + 1];
	int64_t limit; /* of the shared catalog */

	/* The pass under way. */
	enum {
		PASS_NONE,
		PASS_FILES,        /* of all: by their contents */
		PASS_PUBLICATIONS, /* then those of files that are gone */
		PASS_CHANGES,      /* of what changed */
		PASS_END           /* but for the last batch */
	} step;
	bool is_full;           /* it is one over everything */
	bool is_blind;          /* as if nothing were published */
	struct dirty_mark mark; /* it covers changes up to there */
	uint32_t content;       /* PASS_FILES: the next one */
	struct file_key key;    /* the last one of the other steps */
	bool has_key;
	uint64_t visited, all; /* files, for a progress bar */
	struct catalog_txn *txn;
	char *path; /* of the file that is visited, if it is told; owned */
	struct file_key *work; /* files still to be visited; owned */
	size_t work_count;
	struct share_batch batch;
	struct sketch *sketch; /* room; owned */

	/* Of a catalog that has not recorded a change yet: what the last full
	 * pass saw. */
	uint64_t snapshot;
	/* Read by other threads. */
	atomic_ullong published, batches;
	atomic_bool is_current;
};

/* -EBUSY: another kin-share publishes it; or as catalog_follow(). */
int session_open(struct session *s);
void session_close(struct session *s);

/* The catalog alone, for a blind pass; s->host is what session_open() left.
 * -ENODATA: it was never published from here. */
int session_peek(struct session *s);

int session_greet(struct session *s, struct share_db *db, int64_t limit);

/* 1: a batch was sent, and there may be more; 0: everything is published.
 * -ESTALE: session_greet() is to be called again.  -EAGAIN: the catalog was
 * replaced: session_open() again. */
int session_publish(struct session *s, struct share_db *db);

/* Everything is to be published again, as if it never had been. */
int session_refill(struct session *s);

/* ---- feed.c ---- */

/* Goes on with a pass until the batch is full.  1: the batch is to be sent and
 * cleared, and the call repeated; 0: the pass has come to its end. */
int feed_fill(struct session *s);

/* Forgets the pass that is under way. */
void feed_restart(struct session *s);

#endif
