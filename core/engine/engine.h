/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_ENGINE_H
#define CORE_ENGINE_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/changes/changes.h"
#include "core/search/credentials.h"
#include "core/catalog/catalog.h"
#include "core/digest/digest.h"
#include "core/index/index.h"
#include "core/queue/hash.h"
#include "core/search/search.h"
#include "core/source/source.h"

/*
 * Keeps the digests of a tree current, and answers queries for near-duplicates.
 *
 * The engine puts its parts together and has little code of its own.  Its caller,
 * the host (a mount), reports changes to it and sends it queries.  Each part calls
 * those to its left directly; what it tells those to its right goes through struct
 * engine_listener (core/queue/listener.h).
 *
 *   catalog, index < source < queue < scan < commit < search
 *
 * Threads and queues (in brackets: how many threads; most live while there is
 * work, core/queue/crew.h):
 *
 *   host --changes--> queue of jobs --> workers [4 kinds, core/queue/queue.h]
 *     |                  ^  timer [1]      |  each reads and digests a file
 *     |                  |                 v
 *     |   scan [1] --names, files--> list of events --> committer [1]
 *     |     ^ seen files, requests              catalog (LMDB), then index
 *     |     +------------------------------------------------+ rescan
 *     +--queries--> a thread each --> waits for the committer --> 4 slots
 *                   loader [1]: at the start, and when the catalog is damaged
 *
 * The life of a change.  engine_file_closed() pushes a job for the file.  A worker
 * takes the job, digests the file and posts the result, with which the requests
 * that wait for the file are answered (core/queue/hash.h).  The committer writes
 * results in batches, a transaction each, and updates the index.  For the life of
 * a query see core/search/search.h.
 *
 * Any thread may call these functions.  They return at once: they never wait for
 * hashing or for a commit.  A request for digests that takes time is answered by a
 * callback from one of the engine's threads; callbacks must be quick and may call
 * the engine again.  Each part has a mutex of its own, which is held neither while
 * another part is called, nor while the disk is touched or a callback runs.
 *
 * The engine must never: give out a digest of a past state of a file, call a
 * callback twice or not at all, or let a thread of the host wait.
 */
struct engine;
struct extract_client;

/* The host's callbacks. */
struct engine_host {
	void *ctx;
	/* Returns a new O_PATH descriptor of a file that the host has in its
	 * inode table, or -ENOENT.  Needed for files without a name. */
	int (*open_known)(void *ctx, dev_t device, ino_t inode);
	enum source_use (*use)(void *ctx, dev_t device, ino_t inode);
	/* Waits a moment until the host has reported all changes from before
	 * the call.  False: some are still to be reported.  NULL: changes are
	 * always reported at once. */
	bool (*catch_up)(void *ctx);
	/* Whether the host had requests since the last call; background work
	 * is throttled then.  NULL: never. */
	bool (*had_requests)(void *ctx);
	/* Writes a line to the log. */
	void (*log)(void *ctx, const char *message);
};

/* All that it points to is borrowed while the engine is open. */
struct engine_options {
	int source_fd;               /* O_PATH directory */
	const char *source;          /* its absolute path */
	const char *catalog_dir;     /* see catalog.h */
	const char *holder;          /* the same; not used any more later */
	uint32_t digest_set;         /* DIGEST_BIT()s: stored in the catalog */
	unsigned workers;            /* 0: one per processor */
	uint64_t min_size;           /* files below are skipped */
	uint64_t max_size;           /* files above are skipped; 0: no limit */
	const char *const *excludes; /* globs, see source_is_excluded() */
	size_t exclude_count;
	/* Limit of bytes read a second in the background; 0: none.  Files that
	 * a request waits for are not limited. */
	uint64_t rate;
	bool cross;         /* include filesystems mounted below SOURCE */
	int threshold;      /* least score of a near-duplicate, 1..100 */
	uint64_t share_min; /* see INDEX_SHARES; 0: INDEX_SHARE_MIN */
	size_t limit; /* near-duplicates per file; exact ones not counted */
	bool no_wait; /* see struct search_context */
	/* Makes the texts of documents.  NULL: there are none, or with
	 * texts_missing there is no program that makes them. */
	struct extract_client *texts;
	bool texts_missing;
	uint32_t text_version; /* EXTRACT_VERSION */
	bool pictures;         /* these speak, too */
	struct engine_host host;
};

/*
 * Locks the catalog and starts its check.  -EBUSY: another process has locked
 * it; other errors are those of catalog_begin().  The process must have a
 * single thread, because catalog_begin() may fork.
 */
int engine_open(const struct engine_options *options, struct engine **out);

/*
 * Starts the threads; separate from engine_open(), so that a program can
 * daemonize in between.  One thread opens the catalog (it sets a damaged one
 * aside and logs that) and loads the index.  Until then all files are pending.
 */
int engine_start(struct engine *e);

/* Answers every parked request and query with -ECANCELED, and all later ones that
 * would have to wait. */
void engine_end_waits(struct engine *e);

/* As engine_end_waits(); commits what is ready, joins all threads, closes the
 * catalog. */
void engine_free(struct engine *e);

/* ---- keys ---- */

/* source_get_key() for SOURCE. */
void engine_file_key(const struct engine *e, int fd, const struct stat *st,
		     struct file_key *out);

/* ---- digests ---- */

/* Looks up the digests of the file behind fd (O_PATH will do), which are valid
 * only for its present identity.  wanted (DIGEST_BIT()s): digests in text form
 * that are not in it may be missing in the answer.  Of a directory it says no more
 * than that a rule skips all in it, or why it could not be listed.  Never waits.  Negative errno when fd cannot
 * be examined; -ENODATA: there is nothing to say of it. */
int engine_ask(struct engine *e, int fd, uint32_t wanted,
	       struct file_digests *answer_out);

/* Whether an earlier answer (digests, or an error of reading) is still valid:
 * the identity of the file behind fd has not changed.  Cheaper than another
 * engine_ask().  False for an answer in any other state. */
bool engine_digests_hold(struct engine *e, int fd,
			 const struct file_digests *answer);

/* What is known of the text of the regular file behind fd, as far as it is
 * committed, and to a caller that is not trusted as far as it is told of the file
 * (catalog.h); of a file that is no document TEXT_NONE.  Never waits.  -ENODATA:
 * nothing is known. */
int engine_text(struct engine *e, int fd, bool trusted,
		struct content_text *out);

/* How the content of the file behind fd was last changed, as far as that is
 * committed.  Never waits.  -ENODATA: it was not, or that is not known. */
int engine_last_change(struct engine *e, int fd, struct catalog_change *out);

/*
 * Requests that take time are bounded in number, in all and for each user
 * (uid); a user beyond that gets -EAGAIN (core/queue/quota.h).  Users are
 * served in rotation.
 */

/*
 * Answers the request with the digests of its file, at once if they are known.
 * A pending file moves to the head of the queue.  When this function fails,
 * w->done is never called.
 */
int engine_wait(struct engine *e, struct digests_wait *w);

/* Answers a parked request with -EINTR; see struct queue_ticket. */
void engine_give_up(struct engine *e, uint64_t ticket);

/* ---- changes ---- */

/*
 * On a filesystem whose timestamps do not show every change (times.h), the host
 * calls engine_file_opened() for every regular file that is opened for writing,
 * before the first write.  engine_doubts_times(): SOURCE is on such a
 * filesystem.  Filesystems mounted below SOURCE are always treated as such.
 */
bool engine_doubts_times(const struct engine *e);
void engine_file_opened(struct engine *e, const struct file_key *key,
			const struct file_identity *identity);

/* The last writer of the regular file closed it, or the content changed in
 * another way.  identity is the present one; if the catalog does not have it,
 * the file is hashed. */
void engine_file_closed(struct engine *e, const struct file_key *key,
			const struct file_identity *identity);

/* How many times a file was closed after a change. */
uint64_t engine_closings(struct engine *e);

/* An operation of the host changed the ctime of the file and not its content
 * (rename, link, chmod, ...). */
void engine_metadata_changed(struct engine *e, const struct file_key *key,
			     const struct file_identity *before,
			     const struct file_identity *after);

/* The host has read the file's stat.  A background thread compares it with the
 * catalog, and a file that differs is hashed.  Cheap.  False: too many files
 * wait for that, and the host has to report this one again later. */
bool engine_file_seen(struct engine *e, const struct stat *st);

/*
 * Another process changed a file or directory behind the mount; fd may be
 * O_PATH.  engine_file_changed() has a regular file hashed that differs from
 * its record; false: the catalog has no record of it, so the caller reports its
 * directory, too.  engine_directory_changed() has the names in the directory
 * read again; false: it is not below SOURCE, or excluded.  Both read the
 * catalog or resolve a path, so they may touch the disk.
 */
bool engine_file_changed(struct engine *e, int fd, const struct stat *st);
bool engine_directory_changed(struct engine *e, int fd, const struct stat *st);

/* Names changed in the directory parent.  Names are NUL-terminated. */
void engine_name_added(struct engine *e, const struct file_key *parent,
		       const char *name, const struct file_key *key,
		       bool directory);
void engine_name_removed(struct engine *e, const struct file_key *parent,
			 const char *name);
/* A file or directory moved from parent/name to new_parent/new_name. */
struct engine_move {
	const struct file_key *parent, *new_parent;
	const char *name, *new_name;
	const struct file_key *key; /* of the file moved; NULL: not known */
	bool directory;             /* the file moved is one */
	bool exchange;              /* RENAME_EXCHANGE: the names are swapped */
};

void engine_name_moved(struct engine *e, const struct engine_move *m);

/* ---- near-duplicates ---- */

/* For the queries of core/search/search.h and groups.h. */
struct searcher *engine_searcher(struct engine *e);

/* Tells the caller which contents change; see core/changes/changes.h.  Waits
 * until what was reported before is committed. */
int engine_watch_changes(struct engine *e, const struct search_caller *caller,
			 struct search_paths *within, const char *since,
			 struct changes_watcher **out);

/* ---- state and control ---- */

/* Starts a scan of the whole tree, or restarts the running one. */
void engine_rescan(struct engine *e);

/*
 * on: hashes only files that requests wait for, until the next call with
 * false.  Changes are still recorded meanwhile.
 */
void engine_pause(struct engine *e, bool on);

/* Lifts the throttle of background work for a moment (THROTTLE_HURRY_MS), or
 * until the engine is idle.  A program that waits until everything is hashed
 * calls it every second. */
void engine_hurry(struct engine *e);

/* Makes a JSON object of the engine's state; the caller releases it
 * (json_decref()).  The host adds its own state and shows both as
 * user.kinfs.status. */
struct json_t;
int engine_status(struct engine *e, struct json_t **out);

#endif
