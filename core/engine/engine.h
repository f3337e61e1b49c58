/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_ENGINE_H
#define CORE_ENGINE_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/hash/demand_pool.h"
#include "core/search/credentials.h"
#include "core/catalog/catalog.h"
#include "core/digest/digest.h"
#include "core/index/index.h"
#include "core/queue/digests_wait.h"
#include "core/queue/queue.h"
#include "core/search/groups.h"
#include "core/search/search.h"
#include "core/source/file_digests.h"
#include "core/source/source.h"

/*
 * Keeps the digests of a tree current and answers what resembles what.
 *
 * The engine puts the modules together and has little code of its own.  It owns
 * the catalog, the index and every background thread; its caller (the host: a
 * mount) tells it what happened and sends it queries.
 *
 * Modules.  Each takes a context of its own with callbacks; the files
 * X_context.c of this folder fill them in, so they are the only places where
 * one module reaches another.
 *
 *   scan     finds files that are new, changed or gone      -> queue, commit
 *   queue    what is to be hashed, in which order           -> hash
 *   hash     worker threads that digest files               -> queue, commit
 *   commit   the thread that writes the catalog             -> catalog, index
 *   search   threads that answer queries                    <- catalog, index
 *   check    compares the catalog with itself and the tree
 *
 * The life of a change.  engine_file_closed() compares the identity with what
 * is known and pushes a job (queue).  A worker takes it, digests the file,
 * looks at the identity again and posts the result (hash).  Requests that wait
 * for the file are answered with it, and it can be asked for from then on.  The
 * committer writes it with others in one transaction and tells the index
 * (commit).
 *
 * The life of a query is told in core/search/search.h.
 *
 * Threads and locks.  Every function here may be called from any thread and
 * returns at once: it never waits for hashing, for the disk under SOURCE or for
 * a commit.  What takes time is answered by a callback from one of the engine's
 * own threads; callbacks must be quick and may call the engine again.  The
 * engine has no lock of its own, each module has its own, and no module calls
 * another one with its lock held.
 *
 * What must never happen: a digest is given out for another state of the file
 * than the present one; a callback is called twice or not at all; a thread of
 * the host waits here.
 */
struct engine;

/* What the engine asks of its host. */
struct engine_host {
	void *ctx;
	/* A new O_PATH descriptor of a file the host knows by (st_dev, st_ino),
	 * or -ENOENT.  Lets files be reached that lost their name. */
	int (*open_known)(void *ctx, dev_t device, ino_t inode);
	enum source_use (*use)(void *ctx, dev_t device, ino_t inode);
	/* Waits a moment for the host to pass on all that happened before the
	 * call; false when it has not come so far.  NULL: it always has. */
	bool (*catch_up)(void *ctx);
	/* Whether the host had requests since the last call: the background
	 * pauses then.  NULL: it never has. */
	bool (*had_requests)(void *ctx);
	/* A line for the administrator. */
	void (*log)(void *ctx, const char *message);
};

struct engine_options {
	int source_fd;               /* O_PATH directory; borrowed while open */
	const char *source;          /* its absolute path */
	const char *catalog_dir;     /* borrowed during engine_open only */
	const char *holder;          /* the same; see catalog.h */
	uint32_t digest_set;         /* those that are kept */
	unsigned workers;            /* 0: one per processor */
	uint64_t min_size;           /* files below are skipped */
	uint64_t max_size;           /* files above are skipped; 0: no limit */
	const char *const *excludes; /* globs, see source_is_excluded() */
	size_t exclude_count;
	/* Bytes a second to be read in the background; 0: no limit.  Files
	 * that a request waits for do not count. */
	uint64_t rate;
	bool ac_only;          /* pause while on battery */
	const char *power_dir; /* for tests; NULL: /sys/class/power_supply */
	bool cross;            /* also other filesystems mounted below SOURCE */
	int threshold;         /* least score of a near-duplicate, 1..100 */
	uint64_t share_min;    /* of INDEX_SHARES; 0: INDEX_SHARE_MIN */
	/* What scores a listing: one of the digests that are kept, or
	 * DIGEST_COUNT: the best, which is sif less what is common. */
	enum digest_id measure;
	size_t limit; /* near-duplicates per file; exact ones not counted */
	struct engine_host host;
};

/*
 * Takes the catalog and starts its check.  -EBUSY: another process has it; else
 * what catalog_begin() says.  The process must have one thread.
 */
int engine_open(const struct engine_options *options, struct engine **out);

/*
 * Starts the threads, so that a program may daemonize before.  One of them
 * opens the catalog (a damaged one is set aside with a line to the log) and
 * loads the index; until it is done all files are pending.
 */
int engine_start(struct engine *e);

/* Answers every parked request with -ECANCELED, commits what is ready, joins
 * all threads, closes the catalog. */
void engine_free(struct engine *e);

/* ---- what a file is ---- */

/* source_get_key() for SOURCE. */
void engine_file_key(const struct engine *e, int fd, const struct stat *st,
		     struct file_key *out);

/* ---- digests ---- */

/* What is known of the file behind fd (O_PATH will do) right now, against its
 * present identity.  Of the digests that are texts, those that are not wanted
 * (DIGEST_BIT()s) may be missing.  Never waits.  Negative errno when fd cannot
 * be examined. */
int engine_ask(struct engine *e, int fd, uint32_t wanted,
	       struct file_digests *answer_out);

/* Whether an answer that was given holds now: the file behind fd is still in
 * the state that was hashed, or could not be read.  Cheaper than another
 * engine_ask(); false for a file without digests. */
bool engine_digests_hold(struct engine *e, int fd,
			 const struct file_digests *answer);

/*
 * Requests that take time are bounded, in all and for each user (uid): a user
 * with as many under way as are left for all others gets -EAGAIN.  What one
 * user waits for does not come before all that another waits for, however much
 * it is.
 */

/*
 * Answers the request with the digests of its file, at once if they are known.
 * A pending file moves to the head of the queue.  When this fails, done was not
 * called and is not called later.
 */
int engine_wait(struct engine *e, struct digests_wait *w);

/* Answers a parked request with -EINTR; see struct queue_ticket. */
void engine_give_up(struct engine *e, uint64_t ticket);

/*
 * A digest that is not kept, computed now; an sdhash has "stdin" in place of a
 * name.  done is called exactly once if this succeeds (demand_pool.h).  Whether
 * the file was being written is for the caller to ask, before and after.
 */
int engine_digest_on_demand(struct engine *e, const struct demand_query *q);

/* ---- what happened ---- */

/*
 * Where the times of files are not to be relied on (see times.h), the host
 * tells of every regular file that is opened for writing, before anything is
 * written.  SOURCE is such a filesystem or not; all others are.
 */
bool engine_doubts_times(const struct engine *e);
void engine_file_opened(struct engine *e, const struct file_key *key,
			const struct file_identity *identity);

/* The last writer of the regular file closed it, or its content was changed in
 * another way: hash it if its identity, seen just now, is new. */
void engine_file_closed(struct engine *e, const struct file_key *key,
			const struct file_identity *identity);

/* The host did something to the file that moved its ctime from before to after
 * and does not change its content (rename, link, chmod, ...). */
void engine_metadata_changed(struct engine *e, const struct file_key *key,
			     const struct file_identity *before,
			     const struct file_identity *after);

/* The host saw this file's stat; if it is not what the catalog knows it will
 * be hashed.  Cheap.  False when too many are to be looked at: the host shall
 * say so again the next time it sees the file. */
bool engine_file_seen(struct engine *e, const struct stat *st);

/*
 * Something was changed, but not by the host: the regular file behind fd
 * (O_PATH will do), whose stat is st, or names in that directory.  What has
 * changed is hashed, or looked for.  False: no such file is known, and its
 * directory may have it; the directory is not below SOURCE, or excluded.  These
 * two read the catalog and look at the path of the directory.
 */
bool engine_file_changed(struct engine *e, int fd, const struct stat *st);
bool engine_directory_changed(struct engine *e, int fd, const struct stat *st);

/* Names changed.  parent keys are those of directories; names as in
 * catalog.h, terminated. */
void engine_name_added(struct engine *e, const struct file_key *parent,
		       const char *name, const struct file_key *key,
		       bool directory);
void engine_name_removed(struct engine *e, const struct file_key *parent,
			 const char *name);
/* A file or directory moved from the first name to the second one, with
 * exchange another one the other way.  key is of the former (NULL: not
 * known). */
struct engine_move {
	const struct file_key *parent, *new_parent;
	const char *name, *new_name;
	const struct file_key *key;
	bool directory;
	bool exchange;
};

void engine_name_moved(struct engine *e, const struct engine_move *m);

/* ---- what resembles what ---- */

/* Whether a hit is still what it was: the path leads to that file in that
 * state, and with the calling thread's credentials it can be read. */
bool engine_hit_holds(const struct engine *e, const char *path,
		      const struct file_key *key,
		      const struct file_identity *identity);

/* Whether the path still leads to that directory, as far as the calling
 * thread's credentials reach. */
bool engine_directory_holds(const struct engine *e, const char *path,
			    const struct file_key *key);

/*
 * Finds the files in that relation to a file; INDEX_ALIKE are its
 * near-duplicates, by the measure of the options.  Waits (parked) for the
 * file's own digests and for what was hashed before the call to be committed,
 * at most timeout_ms, then lists what there is.  done gets the hits (and
 * releases them) or a negative errno.  Every hit was opened and found unchanged
 * on disk, and is readable by caller.
 */
int engine_similar(struct engine *e, const struct search_file_query *q,
		   const struct search_caller *caller, search_hits_fn *done,
		   void *arg);

/* Finds the files in that relation to a content that need not be in the
 * tree. */
int engine_similar_to(struct engine *e, const struct digests *digests,
		      enum index_relation relation,
		      const struct search_caller *caller, search_hits_fn *done,
		      void *arg);

/*
 * The directories that resemble the one behind fd: the hits are directories,
 * and the score is the estimated percentage of the larger tree's content that
 * the other has.  Neither a directory above the asked one nor one below it is
 * a hit.  What the caller cannot read counts for nothing.
 */
int engine_directories(struct engine *e, int fd,
		       const struct search_caller *caller, search_hits_fn *done,
		       void *arg);

/*
 * Which entries of the directory behind fd are worth showing in .similar:
 * files with at least one near-duplicate, and directories with such a file
 * somewhere below.  Checked for caller as above.
 */
int engine_browse(struct engine *e, int fd, const struct search_caller *caller,
		  search_entries_fn *done, void *arg);

/* The files of the tree in groups, see core/search/groups.h. */
int engine_find_groups(struct engine *e, const struct file_groups_query *query,
		       const struct search_caller *caller,
		       struct file_groups_watch *watch);
int engine_group_files(struct engine *e, struct file_groups *groups,
		       const struct search_group_range *range,
		       const struct search_caller *caller,
		       search_group_files_fn *done, void *arg);

/* ---- state and control ---- */

/* Starts a scan of the whole tree, or lets the running one start over. */
void engine_rescan(struct engine *e);

/*
 * Hashes only files that requests wait for, until it is called again with
 * false.  What is to be hashed is still found out and remembered.
 */
void engine_pause(struct engine *e, bool on);

/* A caller waits until everything is hashed (engine_status() tells), and will
 * say so again within a second: the background does not pause for others
 * meanwhile. */
void engine_hurry(struct engine *e);

/* Starts a check of the catalog, or another one after the running one; read: of
 * all digests, too.  See check.h.  The result is in the status as "check". */
void engine_check(struct engine *e, bool read);

/* The engine's state as a new JSON object (json_decref() it); the host adds
 * what it knows and makes user.kinfs.status of it. */
struct json_t;
int engine_status(struct engine *e, struct json_t **out);

#endif
