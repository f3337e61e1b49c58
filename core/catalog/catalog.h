/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_CATALOG_H
#define CORE_CATALOG_CATALOG_H

#include <dirent.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/digest/digest.h"
#include "core/digest/sketch/sketch.h"

/*
 * The database of a tree's files, names, contents and digests, on LMDB.
 *
 * It is a cache: a scan and hashing can make every record again.  So it is
 * never repaired; a damaged catalog is set aside and a new one is begun.
 *
 * It knows files and directories with their names, the contents of files with
 * their digests, and the texts of documents (catalog_impl.h has the tables).
 * Files with the same content share one; its id is never used again.  Contents
 * are the same if their identities are, which are made with a secret key of the
 * catalog (core/digest/identity.c).  All that is said of exact copies in SOURCE
 * goes by the id of a content: listings, groups, a score of 100.
 *
 * Transactions.  One thread writes at a time; others that want to write wait.
 * Any number of threads read, each from its own snapshot, and do not wait for a
 * writer.  A transaction belongs to the thread that began it.  Reads inside a
 * write transaction see its changes.  A reader keeps old pages from being
 * reused, and catalog_pack() waits for all readers.  So a transaction is held
 * for a batch of work, and never while a thread waits for something else.
 *
 * Crashes.  A commit is synced before it returns, and LMDB writes it to unused
 * pages: after kill -9 or power loss the last commit is complete and nothing of
 * the next one is there.  A catalog that was closed has a seal, which
 * is removed before the next change.  A data file without a seal is inspected
 * and copied by a child process before it is used (inspect.c).
 *
 * Opening may take as long as reading the whole file.  A daemon serves files
 * meanwhile; transactions of other threads wait until the catalog is open,
 * unless they check catalog_is_open() first.
 *
 * Damage.  An open catalog may turn out to be damaged: a record is not what was
 * written, as its sum tells; or a part of the file cannot be read any more (a
 * bad block of the disk; another program cut the file).  Then the call returns
 * -EUCLEAN, and so do all later ones if LMDB cannot be used any more (env.c).
 * A thread that waits in catalog_await_damage() replaces the catalog by a new
 * one while the process goes on.
 *
 * A lock in its directory ensures that one process has a catalog open.  After
 * fork(), one of the two processes may go on with an open catalog that has no
 * transactions, if the other exits without catalog_free().
 *
 * The catalog never reads a file of the tree, never gives LMDB a file that was
 * not checked, and never depends on LMDB's file format.
 */
struct catalog;
struct catalog_txn;

/* Identifies a file or directory. */
struct file_key {
	uint64_t inode;
	uint32_t device;     /* see core/source/source.h */
	uint16_t generation; /* hash of the file handle; 0: there is none */
};

/* Identifies a state of a file's content. */
struct file_identity {
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;
};

enum file_state {
	FILE_PENDING,   /* the digests are still to be made */
	FILE_FRESH,     /* content has the digests for identity */
	FILE_FAILED,    /* the file could not be read at identity */
	FILE_DIRECTORY, /* a directory; identity and content are zero */
};

struct file_record {
	struct file_identity identity;
	uint32_t content; /* content id, FILE_FRESH only; never 0 then */
	uint16_t state;
	uint16_t error; /* positive errno, FILE_FAILED only */
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
	const char *source;    /* absolute path, for catalog_source() */
	uint32_t digest_set;   /* with another one the catalog begins anew */
	/* The key of SOURCE, and a number of its filesystem.  With another
	 * number the catalog begins anew; but where keys have a device, because
	 * inode numbers are made up, the new root takes the place of the former
	 * one.  So it does if another directory of one filesystem is SOURCE
	 * now.  No inode: not told. */
	struct file_key root;
	uint64_t filesystem;
	const char *holder; /* text for catalog_holder(); or NULL */
	/* Of what makes texts: with another one than before all are made again.
	 * 0: none are made. */
	uint32_t text_version;
};

/*
 * Opens a catalog in steps, as the process works on while it is opened.
 *
 * catalog_begin() takes the lock and starts the check of the data file.  It is
 * quick, and a new catalog is open at once.  The process must have a single
 * thread, because it may fork.
 *
 * catalog_finish() waits for the result of the check and opens the file.  If it
 * returns -EUCLEAN or -EMEDIUMTYPE, catalog_replace() moves the file aside (to
 * the path in aside_out) and begins a new one.
 *
 * catalog_admit() ends the opening, with err if it failed.  Until then only the
 * thread that called catalog_finish() can begin a transaction; other threads
 * wait.  After an error all transactions fail with it.
 *
 * catalog_await_damage() waits until the open catalog is found to be damaged;
 * -ECANCELED: catalog_cancel() was called.  From that moment on it is as before
 * catalog_admit(): the thread calls catalog_replace(), or not, and
 * catalog_admit().  No other thread is in a transaction then.  The new catalog
 * goes on with the ids of contents where the damaged one ended.
 *
 * -EBUSY        another process has it open, see catalog_holder()
 * -EUCLEAN      damaged, or not a catalog
 * -EMEDIUMTYPE  of another version of LMDB or kinfs
 * -ENOSPC, -EACCES, ...  errors of the system
 */
int catalog_begin(const struct catalog_options *options, struct catalog **out);
int catalog_finish(struct catalog *c);
int catalog_replace(struct catalog *c, struct buf *aside_out);
void catalog_admit(struct catalog *c, int err);
int catalog_await_damage(struct catalog *c);
void catalog_free(struct catalog *c);

/* The caller got -EUCLEAN.  Should be called before its transaction ends:
 * otherwise the catalog may have been replaced already, and is once more. */
void catalog_found_damage(struct catalog *c);

/* Makes catalog_finish() and catalog_await_damage() return -ECANCELED soon;
 * from any thread. */
void catalog_cancel(struct catalog *c);

/* Whether the opening has ended without error, and the catalog is not damaged.
 * Never waits. */
bool catalog_is_open(struct catalog *c);

/* Why the opening or the replacement has failed; 0: it has not.  Never
 * waits. */
int catalog_failure(struct catalog *c);

/* Waits until catalog_admit(), for timeout_ms at most. */
void catalog_wait_open(struct catalog *c, unsigned timeout_ms);

/* The key for DIGEST_IDENTITY; constant until catalog_free().  Every other
 * process than the owner's must not see it. */
const struct digest_key *catalog_key(const struct catalog *c);

/* The process that has a catalog open, or had it open last; appends its
 * options->holder ("" for NULL).  -ENOENT: there was none. */
int catalog_holder(const char *directory, pid_t *pid_out,
		   struct buf *holder_out);

/* Appends the user's state directory of kinfs: /var/lib/kinfs for root, else
 * below $XDG_STATE_HOME or ~/.local/state.  -ENOENT: neither is set. */
int catalog_state_directory(struct buf *out);

/* Appends the default directory for the catalog of source (an absolute path).
 * -ENOENT as above. */
int catalog_default_directory(const char *source, struct buf *out);

/* Makes the directory and its parents (0700) if they are missing. */
int catalog_make_directories(const char *directory);

/* ---- catalogs of directories that were asked about once (asked.c) ---- */

/*
 * A question about a directory that is in no mount mounts it for that time, on
 * CATALOG_MOUNT_DIRECTORY in the directory of the catalog.  A file beside it
 * is locked, flock(), exclusively by the process that mounts or unmounts, and
 * shared by all that ask; its time is that of the last question.  It has the path
 * of SOURCE if the catalog was made in this way: such a one is removed when nobody
 * has asked for CATALOG_KEPT_DAYS.
 */
#define CATALOG_MOUNT_DIRECTORY "mount"
enum { CATALOG_KEPT_DAYS = 90 };

/* Opens that file, which is made if it is missing; a negative errno.  -EPERM:
 * the directory is not the user's own. */
int catalog_open_asked(const char *directory);
/* The caller has locked it exclusively, and kinfs is not running. */
int catalog_note_asked(const char *directory, int asked, const char *source);

/* Those that were made in this way. */
struct catalog_asked {
	/* The one at hand. */
	char *directory, *source;
	uint64_t bytes; /* of the data file */
	time_t when;    /* it was last asked or written */

	char *state;
	DIR *list;
};

/* To be ended in any case. */
int catalog_asked_begin(struct catalog_asked *a);
bool catalog_asked_next(struct catalog_asked *a);
void catalog_asked_end(struct catalog_asked *a);

/* Removes the files of a catalog, but none that others keep beside it.  -EBUSY: it
 * is in use; -ENOENT: there is none. */
int catalog_remove(const char *directory);

/* Removes those that nobody has asked for long. */
void catalog_clean(void);

/* ---- following ---- */

/*
 * Opens a catalog for reading while another process may write to it.  The data
 * file is not checked, and a damaged one may crash the process; so this is for
 * processes that are restarted then.  catalog_follow_holds() is false when the
 * file has been replaced: the caller frees the catalog and opens it again.
 * -ENOENT: there is no catalog; -EAGAIN: it was just being replaced.
 */
int catalog_follow(const char *directory, struct catalog **out);
bool catalog_follow_holds(const struct catalog *c);

/* Unmaps the pages of the data file from this process (MADV_DONTNEED), after
 * many of them were read.  They stay in the page cache. */
int catalog_trim_rss(struct catalog *c);

/*
 * Writes the records to a new data file, in the order of their keys, and goes
 * on with that: where keys came in any order, pages are half empty.  Does
 * nothing unless the file has grown by a quarter since.  Other threads read and
 * write meanwhile; they wait only while the files are exchanged.  Called by one
 * thread.  -EAGAIN: another thread wrote.  After any error but a failure to
 * open the new file everything is as before.
 */
int catalog_pack(struct catalog *c);

/* Bytes of the data file, as of the last commit. */
uint64_t catalog_bytes(const struct catalog *c);

/* ---- transactions ---- */

int catalog_read(struct catalog *c, struct catalog_txn **out);
int catalog_write(struct catalog *c, struct catalog_txn **out);
void catalog_abort(struct catalog_txn *txn);

/* Read transactions with equal numbers see the same records. */
uint64_t catalog_snapshot(const struct catalog_txn *txn);

/*
 * The contents that a transaction added and removed, for the index.  Filled in
 * by a successful commit.
 */
struct catalog_event;
struct catalog_changes {
	/* Those from the one id on and below the other that are still there. */
	uint64_t added_begin, added_end;
	uint32_t *removed; /* owned; of earlier transactions */
	size_t removed_count;
	struct catalog_event *events; /* in the order of the changes */
	size_t event_count, event_bytes;
	bool events_lost; /* there were too many */
};

void catalog_changes_release(struct catalog_changes *changes);

/*
 * Commits durably (synced), and frees txn in every case.  On failure nothing is
 * changed.  -ENOSPC: the disk or LMDB's map is full.  out may be NULL.
 *
 * After any error except -ENOENT and -EINVAL, every further call in the write
 * transaction fails with that error, the commit as well.
 */
int catalog_commit(struct catalog_txn *txn, struct catalog_changes *out);

/* How the content of a file was last changed. */
struct catalog_change {
	int64_t when_ns; /* the ctime of the file when it was hashed */
	int32_t kept;    /* per cent of the earlier content; -1: not known */
	/* 1: the earlier content was that of another file of the same name. */
	int32_t replaced;
};

/*
 * A change of the tree by a watched transaction, for readers that follow the
 * tree.
 *
 * The tree is the set of the paths of all files whose content is known, or was
 * known before they became pending.  Every change of the set has an event, in
 * the order of the changes, whatever made it: a name, a digest, a directory
 * that went away.  So the tree before the transaction and its events give the
 * tree after it.
 *
 * A directory that gets another path is one event.  Two that are exchanged are
 * three: one of them has a path that does not exist meanwhile.
 */
enum catalog_event_kind {
	TREE_NAMED,           /* path is that of a file */
	TREE_UNNAMED,         /* path is no longer that of the file */
	TREE_CHANGED,         /* the file has another content */
	TREE_DIRECTORY_MOVED, /* from is path now, with all that is below it */
};

/* Of a file with more names, so many paths are told of a change. */
#define EVENT_PATHS 64

/* Bytes of the events of a transaction, about 500,000 of them.  Beyond that
 * they are lost: the removal of a large tree must not take all memory. */
#define EVENT_BYTES_MAX ((size_t)64 << 20)

struct catalog_event {
	enum catalog_event_kind kind;
	struct file_key key;
	/* Owned; relative to SOURCE.  Of TREE_CHANGED there may be several,
	 * each behind the NUL of the one before; the last one is empty. */
	char *path;
	char *from; /* owned; NULL but for TREE_DIRECTORY_MOVED */
	uint64_t size;
	/* TREE_NAMED, TREE_UNNAMED: told by the TREE_DIRECTORY_MOVED before it
	 * already, and repeated for those who see one side of that move. */
	bool moved;
	/* TREE_NAMED: the file goes on with what the file before it had under
	 * this name: a TREE_CHANGED tells if it is another content. */
	bool inherits;
	bool pending; /* TREE_NAMED: the content is still to be hashed */
	bool same;    /* TREE_CHANGED: replaced by a file of equal content */
	struct catalog_change change; /* TREE_CHANGED */
};

/*
 * Has a transaction keep its events, which are in its changes then.  within: of
 * those who follow only what is below some paths, all of these, each with its
 * NUL; taken.  A directory that moves from or to such a place has events for
 * the files below it, too.
 */
void catalog_watch(struct catalog_txn *txn, const struct file_key *root,
		   struct buf *within);
void catalog_events_free(struct catalog_event *events, size_t count);

/* The path of SOURCE, appended. */
int catalog_source(struct catalog_txn *txn, struct buf *out);
/* Its key.  -ENOENT: it was not told. */
int catalog_root(struct catalog_txn *txn, struct file_key *out);

/* ---- files ---- */

int catalog_file_get(struct catalog_txn *txn, const struct file_key *key,
		     struct file_record *out);

/* How the record of a file compares with the file, in a transaction of its own.
 * While the catalog is not open, or cannot be read, every file differs. */
enum record_match { RECORD_NONE, RECORD_DIFFERS, RECORD_EQUAL };
enum record_match catalog_compare(struct catalog *c, const struct file_key *key,
				  const struct file_identity *identity);

/* 1: a file with that inode number and identity has a record; 0: none has.  The
 * generation need not be known: a later file with the same inode number has a
 * later ctime. */
int catalog_file_is_recorded(struct catalog_txn *txn, uint32_t device,
			     uint64_t inode,
			     const struct file_identity *identity);

/* Sets the content of a file, and removes the file from the pending list.  The
 * earlier content is removed if this was its last copy.  A content that is
 * already stored keeps its digests.  -EINVAL: the sizes of identity and digests
 * differ; -EOVERFLOW: all 2^32 - 1 content ids have been used. */
int catalog_file_set_fresh(struct catalog_txn *txn, const struct file_key *key,
			   const struct file_identity *identity,
			   const struct digests *digests);

/*
 * Replaces the record of a file or directory by one of another state: of a file
 * that is pending, or cannot be read, and loses its content; or of a directory.
 * Of a file that is fresh only the identity may be another one than before.
 * -EINVAL: that has another size, or error is not of FILE_FAILED.
 *
 * When a key changes between file and directory (a reused inode number), the
 * entries of the old directory are removed, or the names of the old file if it
 * had several.
 */
int catalog_file_set(struct catalog_txn *txn, const struct file_key *key,
		     const struct file_record *r);

/* How the content of a file was last changed.  -ENOENT: it was not. */
int catalog_change_get(struct catalog_txn *txn, const struct file_key *key,
		       struct catalog_change *out);

/* 1: the file has a content, or had one and is pending now; 0: neither.  The
 * paths of such files are the tree that is told to those who follow it. */
int catalog_content_was_known(struct catalog_txn *txn,
			      const struct file_key *key);

/* Removes the record with its content, names and pending mark; of a directory,
 * everything below it as well, except for files that have another name
 * elsewhere.  It is no error if there is no record. */
int catalog_file_remove(struct catalog_txn *txn, const struct file_key *key);

/* ---- names ---- */

/* name: 1..255 bytes, any but '/' and NUL, not terminated. */
struct catalog_name {
	const char *bytes;
	size_t len;
};

/* Gives key the name in the directory parent; key must have a record by the
 * commit.  parent is made a directory if it is none.  Another file loses that
 * name, as by catalog_name_remove(); a directory loses its old name, as it has
 * only one.  Writes nothing if the name is that of key already.  -EINVAL: the
 * name is not valid, or the directory would be below itself. */
int catalog_name_set(struct catalog_txn *txn, const struct file_key *parent,
		     struct catalog_name name, const struct file_key *key);

/* Removes the name; a file or directory without another name is removed, as by
 * catalog_file_remove().  -ENOENT: there is no such name. */
int catalog_name_remove(struct catalog_txn *txn, const struct file_key *parent,
			struct catalog_name name);

/* Renames as rename(2) does, with exchange as RENAME_EXCHANGE.  Does nothing if
 * both are names of one file.  -ENOENT: the source has no record, and the name
 * of the target is removed; or, with exchange, one of the two has no record,
 * and the other one is renamed. */
int catalog_name_move(struct catalog_txn *txn, const struct file_key *parent,
		      struct catalog_name name,
		      const struct file_key *new_parent,
		      struct catalog_name new_name, bool exchange);

int catalog_name_get(struct catalog_txn *txn, const struct file_key *parent,
		     struct catalog_name name, struct file_key *out);

/* ---- names that could not be looked at ---- */

/* The name in the directory could not be looked at, for a positive errno; or
 * the name is empty, and the directory could not be listed.  What is known of
 * the name and of what is below it stays.  Ends when the name is set, moved or
 * removed, or with the record of the directory. */
int catalog_unread_set(struct catalog_txn *txn,
		       const struct file_key *directory,
		       struct catalog_name name, int error);

/* Why; -ENOENT: it could. */
int catalog_unread_get(struct catalog_txn *txn,
		       const struct file_key *directory,
		       struct catalog_name name, int *error_out);

/* All in the directory could. */
int catalog_unread_clear(struct catalog_txn *txn,
			 const struct file_key *directory);

/* All such names, those of a directory one after the other; see "walks". */
struct catalog_walk;
int catalog_unread_begin(struct catalog_txn *txn, struct catalog_walk **out);
int catalog_unread_next(struct catalog_walk *w, struct file_key *directory_out,
			int *error_out);

/*
 * Where inode numbers are made up, everything has another key after the
 * filesystem was mounted again.  The new directory takes the place of the
 * former one, which loses its name and its paths, and is kept until the names
 * in the new directory have been compared with those in it.
 *
 *   catalog_take_place()   key takes the place of former.  -EINVAL: former is
 *                          above it.
 *   catalog_former_find()  What had that name before and is not key: in the
 *                          directory, or in former ones.  -ENOENT.
 *   catalog_file_adopt()   The file gets the record of another one.  -EINVAL:
 *                          that is not fresh, or key is, or is a directory.
 *   catalog_former_drop()  Removes the former directory with all that is still
 *                          in it.
 */
int catalog_take_place(struct catalog_txn *txn, const struct file_key *key,
		       const struct file_key *former);
int catalog_former_find(struct catalog_txn *txn,
			const struct file_key *directory,
			struct catalog_name name, const struct file_key *key,
			struct file_key *out);
int catalog_file_adopt(struct catalog_txn *txn, const struct file_key *key,
		       const struct file_key *former);
int catalog_former_drop(struct catalog_txn *txn,
			const struct file_key *directory);

/* ---- walks ---- */

/*
 * A walk over records, in order.  X_begin() makes it.  X_next() returns 1 with
 * the next record, 0 at the end, or a negative errno; pointers that it sets are
 * valid until the next call.  catalog_walk_end() frees it, and NULL, too; until
 * then the transaction must not write or end.
 */
struct catalog_walk;

void catalog_walk_end(struct catalog_walk *w);

/* The entries of a directory, in byte order of the names. */
int catalog_entries_begin(struct catalog_txn *txn,
			  const struct file_key *directory,
			  struct catalog_walk **out);
int catalog_entries_next(struct catalog_walk *w, struct catalog_name *name_out,
			 struct file_key *key_out);

/* The names of a file, each with its directory. */
int catalog_links_begin(struct catalog_txn *txn, const struct file_key *key,
			struct catalog_walk **out);
int catalog_links_next(struct catalog_walk *w, struct file_key *parent_out,
		       struct catalog_name *name_out);

/* The paths of a file, relative to SOURCE ("a/b/c"); root is the key of SOURCE,
 * whose path is "".  Names that are not below root are left out. */
int catalog_paths_begin(struct catalog_txn *txn, const struct file_key *root,
			const struct file_key *key, struct catalog_walk **out);
int catalog_paths_next(struct catalog_walk *w, const char **path_out);

/* The path that a name in parent has or would have.  -ENOENT: parent is not
 * below root. */
int catalog_name_path(struct catalog_txn *txn, const struct file_key *root,
		      const struct file_key *parent, struct catalog_name name,
		      struct buf *out);

/* ---- contents ---- */

/* The id of the content with that identity; if d has none, because it is from
 * elsewhere, of the first one with that XXH128 and size.  -ENOENT. */
int catalog_content_find(struct catalog_txn *txn, const struct digests *d,
			 uint32_t *out);

/* The fixed-size digests of a content, and of the others those that are wanted:
 * DIGEST_BIT()s, and CONTENT_TEXT for the sketch of its text.  The caller
 * releases out, unless it wanted none.  -ENOENT. */
#define CONTENT_TEXT DIGEST_BIT(DIGEST_COUNT)
#define CONTENT_ALL (DIGEST_ALL | CONTENT_TEXT)
int catalog_content_get(struct catalog_txn *txn, uint32_t content,
			uint32_t wanted, struct digests *out);

/* The sif of a content, or the sketch of a text.  -ENOENT also when it has
 * none. */
int catalog_sketch_get(struct catalog_txn *txn, uint32_t id,
		       struct sketch *out);

/* All of these, in ascending order of id, as sketch_pack() made them, which is
 * not checked. */
int catalog_sketches_begin(struct catalog_txn *txn, struct catalog_walk **out);
int catalog_sketches_next(struct catalog_walk *w, uint32_t *id_out,
			  const uint8_t **packed_out, size_t *len_out);

/* The files of all contents from that id on, in order of id, device, inode,
 * generation. */
int catalog_copies_begin(struct catalog_txn *txn, uint32_t content,
			 struct catalog_walk **out);
int catalog_copies_next(struct catalog_walk *w, uint32_t *content_out,
			struct file_key *key_out);

/* The first file with that content after *after (NULL: the first of all), which
 * need not exist.  -ENOENT at the end. */
int catalog_copy_after(struct catalog_txn *txn, uint32_t content,
		       const struct file_key *after, struct file_key *out);

/* ---- texts ---- */

/*
 * A content that is a document or an archive (struct digests.is_document) may
 * have a text that its bytes do not show, or members.  The sketch of that has
 * an id like a content, from the same sequence, so that it is one more entry of
 * the index; its owner is the content.  Ids of sketches are in
 * struct catalog_changes, too.
 *
 * A picture has hashes in place of a text; they are kept in the same way.
 */
enum text_state {
	TEXT_PENDING,   /* still to be made */
	TEXT_YES,       /* there is a sketch */
	TEXT_NONE,      /* no other text than its bytes, or too little */
	TEXT_ENCRYPTED, /* a password is needed */
	TEXT_FAILED,    /* why says more */
	TEXT_PICTURE,   /* there are hashes of a picture */
	TEXT_STATES
};
enum { TEXT_UNREADABLE = 0 }; /* no program reads this format */

struct content_text {
	int64_t date;    /* that the document has; TEXT_NO_DATE */
	uint32_t sketch; /* its id; TEXT_YES and TEXT_PICTURE, else 0 */
	uint16_t state;
	uint16_t why; /* the caller's; TEXT_FAILED: or TEXT_UNREADABLE */
};
#define TEXT_NO_DATE INT64_MIN

/* -ENOENT: the content is no document. */
int catalog_text_get(struct catalog_txn *txn, uint32_t content,
		     struct content_text *out);

/* Ends the waiting of a pending text.  What is kept gets a new id: with TEXT_YES a
 * sketch, as sketch_pack() made it, with TEXT_PICTURE a struct picture_hashes.  Does
 * nothing if the content has such. */
int catalog_text_set(struct catalog_txn *txn, uint32_t content,
		     const struct content_text *text, const void *kept,
		     size_t len);

/* By the id.  -ENOENT: it is not that of a picture. */
int catalog_picture_get(struct catalog_txn *txn, uint32_t id,
			struct picture_hashes *out);

/* All pictures, in ascending order of id; see "walks". */
int catalog_pictures_begin(struct catalog_txn *txn, struct catalog_walk **out);
int catalog_pictures_next(struct catalog_walk *w, uint32_t *id_out,
			  struct picture_hashes *out);

/* The content whose text has the sketch with that id.  -ENOENT: the id is no
 * such id. */
int catalog_text_owner(struct catalog_txn *txn, uint32_t sketch,
		       uint32_t *content_out);

/* How many texts are pending, as of the last commit. */
uint64_t catalog_pending_texts(const struct catalog *c);

/* The first content after that id whose text is of a format for which there was
 * no program.  -ENOENT. */
int catalog_text_unreadable(struct catalog_txn *txn, uint32_t after,
			    uint32_t *out);

/*
 * To whom a text is told.  Contents are shared, so a document that one user
 * writes may have a text at once, because another user has the same document.
 * Nobody is to learn that, so a file with a document has no text, for users who
 * cannot read all files, until it has been made from that file in its turn, or
 * from another file of the same owner: until then the file is untold.
 */

/* The first untold file after *key of *content, in the order of contents.
 * -ENOENT. */
int catalog_text_untold(struct catalog_txn *txn, uint32_t *content,
			struct file_key *key);
/* The text of the file's content may be told. */
int catalog_text_tell(struct catalog_txn *txn, uint32_t content,
		      const struct file_key *key);
/* 1: it may be told of that file. */
int catalog_text_is_told(struct catalog_txn *txn, uint32_t content,
			 const struct file_key *key);
/* How many files are untold, as of the last commit; and how often one became so
 * since the catalog was opened. */
uint64_t catalog_untold_texts(const struct catalog *c);
uint64_t catalog_untold_added(const struct catalog *c);

/* ---- pending ---- */

/* The first pending file after *after (NULL: the first of all), in order of
 * device, inode, generation.  *after need not exist.  -ENOENT at the end. */
int catalog_pending_next(struct catalog_txn *txn, const struct file_key *after,
			 struct file_key *key_out, struct file_record *out);

struct catalog_counts {
	uint64_t files; /* regular files with a record */
	uint64_t directories;
	uint64_t fresh;
	uint64_t failed;
	uint64_t unread; /* names of catalog_unread_set() */
	uint64_t pending;
	uint64_t pending_bytes;
	uint64_t contents;
	uint64_t content_bytes; /* of all contents */
	uint64_t texts;         /* contents with the sketch of a text */
	uint64_t pending_texts; /* contents whose text is still to be made */
	/* Contents whose text failed, but those of TEXT_UNREADABLE. */
	uint64_t failed_texts;
};

/* Takes constant time. */
int catalog_counts(struct catalog_txn *txn, struct catalog_counts *out);

/* ---- what kin-share has to publish ---- */

/*
 * The set of files that changed since a share (kin-share) published them last.
 *
 * It is a set, not a log: a file that changed a hundred times has one entry,
 * with the number of its last change.  The entry is written in the transaction
 * of the change.  A directory gets an entry when it is renamed, or when its key
 * becomes that of a directory.
 *
 * Changes are recorded only if the catalog's directory has a subdirectory
 * CATALOG_SHARE_DIRECTORY; otherwise a write transaction costs one access().
 * Write transactions that record changes are numbered.  The numbers are valid
 * for one incarnation, a random number.  After a reader has read everything in
 * a snapshot, the later changes are exactly the entries of the same incarnation
 * with greater numbers than the snapshot's.
 *
 * A share cannot write to the catalog.  It acknowledges a number in a file.
 * Later write transactions remove entries up to that number, at most a few
 * thousand each.
 */
#define CATALOG_SHARE_DIRECTORY "share"

struct dirty_mark {
	uint64_t incarnation; /* 0: no change has been recorded */
	uint64_t change;      /* number of the last change */
};

/* Begins to record changes: makes CATALOG_SHARE_DIRECTORY. */
int dirty_register(const struct catalog *c);

/* The last change that the transaction sees. */
int dirty_get_mark(struct catalog_txn *txn, struct dirty_mark *out);

/* A walk over the files and directories in order of their keys, from that one
 * on (NULL: all).  dirty_next() gives those with a change after that number. */
int dirty_begin(struct catalog_txn *txn, const struct file_key *from,
		struct catalog_walk **out);
int dirty_next(struct catalog_walk *w, uint64_t change,
	       struct file_key *key_out);

/* Entries up to that mark are no longer needed. */
int dirty_acknowledge(const struct catalog *c, const struct dirty_mark *mark);

#endif
