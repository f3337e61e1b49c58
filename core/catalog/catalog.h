/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_CATALOG_H
#define CORE_CATALOG_CATALOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/digest/digest.h"
#include "core/digest/short_sketch.h"
#include "core/digest/sif/sif.h"

/*
 * What kinfs remembers about a tree, on LMDB.
 *
 * It is a cache of the truth on disk: a scan and hashing make every record
 * again.  So it is never repaired; a catalog that cannot be trusted is set
 * aside and a new one begun.
 *
 * Tables, by key (catalog_impl.h has the bytes):
 *
 *   files       device, inode, generation -> identity, state, content
 *   names       parent directory, name -> file or directory
 *   links       file, parent directory, name: names, the other way round
 *   contents    id -> size and fixed-size digests; ids are never used twice
 *   texts, sketches, short_sketches, text_sketches  id -> the digests that vary
 *               in length
 *   identities  XXH128, size -> id
 *   copies      id, file: which files have a content
 *   pending     file: its digests are still to be made
 *
 * Transactions.  One thread writes at a time, a second one waits for it; any
 * number read, each from its own snapshot, and no reader waits for a writer.  A
 * transaction belongs to the thread that began it.  Reads may run inside a
 * write transaction and see its changes.  Readers keep old pages from being
 * used again, and catalog_grow() waits for all of them, so a transaction is
 * held for a batch of work and never while a thread waits for something else.
 *
 * Crashes.  A commit is synced before it returns, and LMDB writes it to pages
 * that are not in use: after kill -9 or power loss the last commit is there and
 * nothing of the next one.  A catalog that was closed has a seal (seal.h),
 * which goes before the first change after it; a data file without one is
 * inspected and copied by a child process before it is used (inspect.h).
 *
 * Opening may take as long as reading the file.  A daemon serves files
 * meanwhile: transactions of other threads wait, or ask catalog_is_open().
 *
 * One process has a catalog open, which a lock in its directory ensures.  An
 * open catalog without transactions survives fork(): one of the two processes
 * may go on with it when the other exits without catalog_free().
 *
 * The catalog never reads a file of the tree, never lets LMDB see a file that
 * was not checked, and never depends on LMDB's format.
 */
struct catalog;
struct catalog_txn;

/* Tells a file from all others.  The root of SOURCE is a directory like any
 * other. */
struct file_key {
	uint64_t inode;
	uint32_t device;     /* 0: that of SOURCE; else a hash of st_dev */
	uint32_t generation; /* hash of the file handle; 0: there is none */
};

/* Tells a state of a file's content from all others. */
struct file_identity {
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;
};

enum file_state {
	FILE_PENDING,   /* known, no valid digests */
	FILE_FRESH,     /* content holds the digests of identity */
	FILE_FAILED,    /* reading it failed with error at that identity */
	FILE_DIRECTORY, /* a directory: no identity, no content */
};

struct file_record {
	struct file_identity identity;
	enum file_state state;
	int error;        /* positive errno, FILE_FAILED only */
	uint32_t content; /* content id, FILE_FRESH only; never 0 then */
};

static inline bool file_key_equal(const struct file_key *a,
				  const struct file_key *b)
{
	return a->inode == b->inode && a->device == b->device &&
	       a->generation == b->generation;
}

static inline bool file_identity_equal(const struct file_identity *a,
				       const struct file_identity *b)
{
	return a->size == b->size && a->mtime_ns == b->mtime_ns &&
	       a->ctime_ns == b->ctime_ns;
}

/* ---- opening ---- */

struct catalog_options {
	const char *directory; /* made (0700), with parents, when missing */
	const char *source;    /* absolute path, stored for the reader */
	uint32_t digest_set;   /* a change of the set makes all files pending */
	const char *holder;    /* what the caller uses it for: a message to
				* processes that find it busy; or NULL */
	uint64_t map_bytes;    /* 0: default; grows by itself when full */
	bool existing;         /* none is made (-ENOENT), and source and
				  digest_set stay what they were */
};

/*
 * Opens a catalog, in the calling thread; it may take long.
 *
 * -EBUSY        another process has it open, see catalog_holder()
 * -EUCLEAN      damaged, or not a catalog
 * -EMEDIUMTYPE  of another version of LMDB or kinfs
 * -ENOSPC, -EACCES, ...  as the system says
 */
int catalog_open(const struct catalog_options *options, struct catalog **out);
void catalog_free(struct catalog *c);

/*
 * catalog_open() in steps, for a process that has other things to do meanwhile.
 *
 * catalog_begin() takes the lock and starts the check of the data file; it is
 * quick, and a new catalog is open at once.  The process must have one thread.
 * catalog_finish() waits for the verdict and opens the file.  When it says
 * -EUCLEAN or -EMEDIUMTYPE, catalog_replace() moves the file aside (to the path
 * in aside_out) and begins a new one.  catalog_admit() ends the opening, with
 * the error when there was one.  Until then transactions of all threads but
 * the one that called catalog_finish() wait; after an error they fail with it.
 */
int catalog_begin(const struct catalog_options *options, struct catalog **out);
int catalog_finish(struct catalog *c);
int catalog_replace(struct catalog *c, struct buf *aside_out);
void catalog_admit(struct catalog *c, int err);

/* Makes catalog_finish() return -ECANCELED soon; from any thread. */
void catalog_cancel(struct catalog *c);

/* Whether transactions need not wait, and do not fail for an error of the
 * opening.  Never waits. */
bool catalog_is_open(struct catalog *c);

/* Waits until catalog_admit(), at most for that time. */
void catalog_wait_open(struct catalog *c, unsigned timeout_ms);

/* The process that has a catalog open, or had it open last, and what it said as
 * the holder ("" for nothing), which is appended.  -ENOENT when none said. */
int catalog_holder(const char *directory, pid_t *pid_out,
		   struct buf *holder_out);

/* Appends the directory of everything that kinfs keeps for the caller:
 * /var/lib/kinfs for root, else below XDG_STATE_HOME or ~/.local/state.
 * -ENOENT without a home. */
int catalog_state_directory(struct buf *out);

/* Appends the directory where the catalog of source (an absolute path) is
 * kept when nothing else is said.  -ENOENT when neither XDG_STATE_HOME nor
 * HOME says where. */
int catalog_default_directory(const char *source, struct buf *out);

/* Makes the directory and its parents (0700) as far as they are missing. */
int catalog_make_directories(const char *directory);

/* When the catalog in a directory was last written, in seconds since 1970. */
int catalog_last_written(const char *directory, int64_t *seconds_out);

/*
 * Opens a catalog that another process may have open, to read it.  The data
 * file is not checked: when it is damaged the calling process may crash, so
 * only one that can be started again does this.  When catalog_follow_holds() is
 * false the file was replaced, and what is read is old: the caller frees the
 * catalog and opens it again.  -ENOENT: there is none; -EAGAIN: it was replaced
 * just now.
 */
int catalog_follow(const char *directory, struct catalog **out);
bool catalog_follow_holds(const struct catalog *c);

/* Damage that came to light late: the next catalog_open() that is not of
 * options->existing says -EUCLEAN. */
int catalog_mark_damaged(const struct catalog *c);

/* After much was read all over it: what is in memory of the file is the
 * system's again and no longer this process's (it stays cached, and comes back
 * without being read). */
int catalog_trim_rss(struct catalog *c);

/* Bytes of the data file, up to the last page that was ever in use. */
int catalog_bytes(struct catalog *c, uint64_t *bytes_out);

/* ---- transactions ---- */

/* Whatever walks over many records in txn fails with -ECANCELED once stop is
 * true. */
void catalog_stop_when(struct catalog_txn *txn, const atomic_bool *stop);

int catalog_read(struct catalog *c, struct catalog_txn **out);
int catalog_write(struct catalog *c, struct catalog_txn **out);
void catalog_abort(struct catalog_txn *txn);

/* Two reading transactions with one number see the same records. */
uint64_t catalog_snapshot(const struct catalog_txn *txn);

/*
 * What a write transaction did to the set of contents, for the index.
 * Filled by a successful commit; ids are never used twice.
 */
struct catalog_changes {
	uint32_t *added; /* ascending */
	size_t added_count;
	uint32_t *removed; /* never one that is also in added */
	size_t removed_count;
};

void catalog_changes_release(struct catalog_changes *changes);

/*
 * Commits, durably (synced), and frees txn in every case.  On failure nothing
 * of it happened; -ENOSPC when the disk is full.  out may be NULL.
 *
 * When the map was too small the writing functions, or the commit itself,
 * return -E2BIG: abort (unless it was the commit), catalog_grow(), and repeat
 * the work.  After any error but -ENOENT and -EINVAL every further call in
 * the write transaction fails with that error, the commit too.
 */
int catalog_commit(struct catalog_txn *txn, struct catalog_changes *out);

/* Doubles the map.  Waits for this process's open transactions to end (new
 * ones wait meanwhile), so the calling thread must have none.  -ENOMEM when
 * the address space has no room; everything else still works then. */
int catalog_grow(struct catalog *c);

/* The source and the digests that the catalog was made for. */
int catalog_source(struct catalog_txn *txn, struct buf *out);
uint32_t catalog_digest_set(struct catalog_txn *txn);

/* ---- files ---- */

int catalog_file_get(struct catalog_txn *txn, const struct file_key *key,
		     struct file_record *out);

/* 1 when a file of that number is recorded at that identity, 0 when none is.
 * Its generation need not be known: of two files that have a number one after
 * the other the second was made later, as its ctime says. */
int catalog_file_is_recorded(struct catalog_txn *txn, uint32_t device,
			     uint64_t inode,
			     const struct file_identity *identity);

/* Stores digests as the content of key at that identity; drops the file's
 * earlier content (and the content itself when this was its last copy) and
 * takes the file off the pending list.  A content that is known keeps the
 * digests it has.  -EINVAL when the sizes of identity and digests differ;
 * -EOVERFLOW when 2^32 - 1 contents have been given an id. */
int catalog_file_set_fresh(struct catalog_txn *txn, const struct file_key *key,
			   const struct file_identity *identity,
			   const struct digests *digests);

/* The file's identity changed from before to after and its content did not
 * (its ctime moved).  Nothing happens when before is not what is stored. */
int catalog_file_metadata_changed(struct catalog_txn *txn,
				  const struct file_key *key,
				  const struct file_identity *before,
				  const struct file_identity *after);

/* Puts the file on the pending list and drops its content. */
int catalog_file_set_pending(struct catalog_txn *txn,
			     const struct file_key *key,
			     const struct file_identity *identity);

/* Records that reading failed; off the pending list, no content. */
int catalog_file_set_failed(struct catalog_txn *txn, const struct file_key *key,
			    const struct file_identity *identity, int error);

/* A key that changes between file and directory (an inode number used again)
 * loses what only the other kind can have: a directory its entries, a file
 * with several names all of them. */
int catalog_directory_set(struct catalog_txn *txn, const struct file_key *key);

/* Removes the record with its content, names and pending mark.  A directory
 * goes with everything below it (a file with another name outside stays).
 * 0 when there was nothing. */
int catalog_file_remove(struct catalog_txn *txn, const struct file_key *key);

/* ---- names ---- */

/* name: 1..255 bytes, any but '/' and NUL, not terminated. */
struct catalog_name {
	const char *bytes;
	size_t len;
};

/* Makes (parent, name) mean key, which should have its record by the time of
 * the commit.  The parent becomes a directory if it is none yet.  What had
 * the name before loses it, as by catalog_name_remove().  A directory has at
 * most one name: its old one goes.  Writes no page when nothing changes.
 * -EINVAL when name is no name, or when a directory would be below itself by
 * the names that the catalog has. */
int catalog_name_set(struct catalog_txn *txn, const struct file_key *parent,
		     struct catalog_name name, const struct file_key *key);

/* Removes the name; a file or directory that has none left goes too (see
 * catalog_file_remove).  -ENOENT when there is no such name. */
int catalog_name_remove(struct catalog_txn *txn, const struct file_key *parent,
			struct catalog_name name);

/* Renames as rename(2) does: what is at the target loses that name; two names
 * of one file stay as they are.  With exchange both change places.  -ENOENT
 * when the source is unknown (the target is removed then: something unknown
 * replaced it), with exchange also when the target is (what is known has
 * moved then, and something unknown is where it was). */
int catalog_name_move(struct catalog_txn *txn, const struct file_key *parent,
		      struct catalog_name name,
		      const struct file_key *new_parent,
		      struct catalog_name new_name, bool exchange);

int catalog_name_get(struct catalog_txn *txn, const struct file_key *parent,
		     struct catalog_name name, struct file_key *out);

/* Calls each for every entry of a directory in byte order of the names until
 * it returns non-zero, and returns that.  name is valid during the call; the
 * callback must not write. */
int catalog_directory_each(struct catalog_txn *txn,
			   const struct file_key *directory,
			   int (*each)(void *arg, struct catalog_name name,
				       const struct file_key *key),
			   void *arg);

/* Calls each for every name of the file, with the directory that has it, until
 * it returns something else than 0, which is returned then. */
int catalog_link_each(struct catalog_txn *txn, const struct file_key *key,
		      int (*each)(void *arg, const struct file_key *parent,
				  struct catalog_name name),
		      void *arg);

/* Calls each with every path of the file, relative to the root ("a/b/c"),
 * not starting with '/', NUL-terminated.  root is the key of SOURCE itself;
 * its own path is "".  Names whose chain does not reach root are passed over.
 * The callback must not write. */
int catalog_path_each(struct catalog_txn *txn, const struct file_key *root,
		      const struct file_key *key,
		      int (*each)(void *arg, const char *path), void *arg);

/* 1 if the file has a path, 0 if no chain of names reaches root; or a negative
 * errno. */
int catalog_has_path(struct catalog_txn *txn, const struct file_key *root,
		     const struct file_key *key);

/* ---- contents ---- */

/* The id of the content with that XXH128 and size.  -ENOENT. */
int catalog_content_find(struct catalog_txn *txn, const struct digests *d,
			 uint32_t *out);

/* Without the texts (NULL, their bits cleared): nothing to release.
 * -ENOENT. */
int catalog_content_brief(struct catalog_txn *txn, uint32_t content,
			  struct digests *out);

/* The caller releases out.  -ENOENT. */
int catalog_content_get(struct catalog_txn *txn, uint32_t content,
			struct digests *out);

/* The same, of the texts only those whose bits are in wanted: others are not
 * read, and not in out->set. */
int catalog_content_some(struct catalog_txn *txn, uint32_t content,
			 uint32_t wanted, struct digests *out);

/* Every content in ascending order of id, without the texts. */
int catalog_content_each(struct catalog_txn *txn,
			 int (*each)(void *arg, uint32_t content,
				     const struct digests *d),
			 void *arg);

/* Its sif alone, which is what is compared.  -ENOENT also when it has none. */
int catalog_sketch_get(struct catalog_txn *txn, uint32_t content,
		       struct sif_sketch *out);

/* The sif8 of a content.  -ENOENT also when it has none. */
int catalog_short_sketch_get(struct catalog_txn *txn, uint32_t content,
			     struct short_sketch *out);

/* Every content that has one, in ascending order of id, with the values in full
 * alone (sif_unpack_in_full()). */
int catalog_sketch_each(struct catalog_txn *txn,
			int (*each)(void *arg, uint32_t content,
				    const struct sif_sketch *sketch),
			void *arg);

/* The sketch of the text of a content (digest/text/text_sif.h), and those of
 * all contents that have one, as catalog_sketch_each() has them. */
int catalog_text_sketch_get(struct catalog_txn *txn, uint32_t content,
			    struct sif_sketch *out);
int catalog_text_sketch_each(struct catalog_txn *txn,
			     int (*each)(void *arg, uint32_t content,
					 const struct sif_sketch *sketch),
			     void *arg);

/* What it returns ends the walk when it is not 0, and is returned. */
typedef int catalog_copy_fn(void *arg, uint32_t content,
			    const struct file_key *key);

/* The files with that content, in order of device, inode, generation. */
int catalog_copies_each(struct catalog_txn *txn, uint32_t content,
			catalog_copy_fn *each, void *arg);

/* The files of every content whose id is not below the given one, in order of
 * id, device, inode, generation. */
int catalog_copies_from(struct catalog_txn *txn, uint32_t content,
			catalog_copy_fn *each, void *arg);

/* ---- pending ---- */

/* The first pending file after *after (NULL: from the start), in order of
 * device, inode, generation.  after need not be pending, or exist.  -ENOENT
 * at the end. */
int catalog_pending_next(struct catalog_txn *txn, const struct file_key *after,
			 struct file_key *key_out, struct file_record *out);

struct catalog_counts {
	uint64_t files; /* regular files with a record */
	uint64_t directories;
	uint64_t fresh;
	uint64_t failed;
	uint64_t pending;
	uint64_t pending_bytes;
	uint64_t contents;
	uint64_t content_bytes; /* of distinct contents, once each */
};

/* Kept up to date by every write: constant time. */
int catalog_counts(struct catalog_txn *txn, struct catalog_counts *out);

/* Cross-checks every record against every other one.  0 when they agree;
 * -EUCLEAN with one line a finding appended to report.  root may be NULL.
 * Files without a name are in order; names of no record are not. */
int catalog_check(struct catalog_txn *txn, const struct file_key *root,
		  struct buf *report);

/* Calls each for every file and directory that no path leads to from root,
 * until it returns non-zero, and returns that.  The callback must not
 * write. */
int catalog_orphans_each(struct catalog_txn *txn, const struct file_key *root,
			 int (*each)(void *arg, const struct file_key *key,
				     const struct file_record *record),
			 void *arg);

/* How many names there are. */
int catalog_names_count(struct catalog_txn *txn, uint64_t *out);

#endif
