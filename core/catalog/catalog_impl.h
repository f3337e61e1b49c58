/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_CATALOG_IMPL_H
#define CORE_CATALOG_CATALOG_IMPL_H

#include <lmdb.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/catalog/catalog.h"

/*
 * The disk format: an LMDB file with a database for each table.  Keys are
 * composite, big-endian so that they sort, and often read by prefix.  Values
 * are structs as they are in memory, without padding: LMDB's file is of one
 * byte order and word size, too.
 *
 *   meta        "catalog" -> struct catalog_meta; "source" -> path; "root" ->
 *               number of the filesystem, key of SOURCE
 *   files       file -> struct file_record
 *   names       parent file, name -> file
 *   links       file, parent file, name -> nothing: the reverse of names
 *   contents    content -> the first CONTENT_BYTES of struct digests
 *   sketches    content or text -> its sketch: see content.c
 *   digests     content -> the other digests: see content.c
 *   identities  hash 8 of xxh128 and size, the first 8 of the identity,
 *               content -> nothing
 *   copies      content, file -> nothing
 *   pending     file -> nothing
 *   dirty       file -> number of the change: see dirty.c
 *   changes     file -> struct catalog_change
 *   left        file -> what is left of its earlier content: see change.c
 *   texts       content -> struct content_text
 *   unread      directory, name -> errno: see catalog_unread_set()
 *   pictures    picture -> struct picture_hashes
 *   owners      the sketch of a text, or picture -> the content that it is of
 *   untold      content, file -> nothing: see catalog_text_untold()
 *
 * The key of a file has these parts:
 *
 *   device      OTHER_DEVICE and 4 bytes; left out if it is 0
 *   inode       the number of bytes, then the number without leading zeros
 *   generation  2 bytes
 *
 * So keys sort by device, inode and generation, and no key is a prefix of
 * another one.
 *
 * contents has a table of its own because all of it is read at every start, and
 * sketches because a query reads them without the others.  Records of contents,
 * sketches, digests and the first copy of a content are always appended, as ids
 * only grow; that fills their pages completely.
 *
 * Every record is checked when it is read; invalid bytes are -EUCLEAN.
 */
enum catalog_db {
	DB_META,
	DB_FILES,
	DB_NAMES,
	DB_LINKS,
	DB_CONTENTS,
	DB_IDENTITIES,
	DB_COPIES,
	DB_PENDING,
	DB_DIRTY,
	DB_CHANGES,
	DB_LEFT,
	DB_TEXTS,
	DB_OWNERS,
	DB_UNTOLD,
	DB_UNREAD,
	DB_PICTURES,
	DB_BLOBS, /* those of blob_append() */
	DB_SKETCHES = DB_BLOBS,
	DB_DIGESTS,
	DB_COUNT
};

#define CATALOG_VERSION 22
#define CATALOG_LOCK_FILE "lock"
#define CATALOG_DATA_FILE "data.mdb"
/* It is renamed to the data file when it is complete. */
#define CATALOG_COPY_FILE CATALOG_DATA_FILE ".new"
#define CATALOG_READERS_FILE "lock.mdb" /* LMDB's */
#define SEAL_FILE "sealed"
#define KEY_FILE "key"

#define META_KEY key_of_bytes("catalog", 7)
#define SOURCE_KEY key_of_bytes("source", 6)
#define SHARE_KEY key_of_bytes("share", 5)
#define ROOT_KEY key_of_bytes("root", 4)
#define TEXTS_KEY key_of_bytes("texts", 5)

#define FILE_KEY_BYTES_MAX 16
#define NAME_BYTES_MAX 255
/* That of a link. */
#define KEY_BYTES_MAX (2 * FILE_KEY_BYTES_MAX + NAME_BYTES_MAX)
/* More than any value has. */
#define VALUE_BYTES_MAX (64 << 10)
#define CONTENT_KEY_BYTES 4
#define CONTENT_BYTES offsetof(struct digests, is_document)
/* The digests that a content may have. */
#define DIGEST_STORED (DIGEST_KEPT | DIGEST_BIT(DIGEST_IDENTITY))
#define IDENTITY_HASH_BYTES 8
#define META_MAGIC "kinfscat"

struct catalog_meta {
	char magic[8];
	uint32_t version;
	uint32_t digest_set;
	uint64_t next_content; /* 1 + UINT32_MAX when ids are used up */
	/* Of the key with which identities are made; and the seed of the hashes
	 * in the table. */
	uint64_t key_sum;
	/* The counts that no table has by its length. */
	uint64_t directories, pending_bytes, content_bytes, pending_texts,
		failed_texts;
};

_Static_assert(sizeof(struct file_record) == 32 && CONTENT_BYTES == 68 &&
		       sizeof(struct catalog_meta) == 72 &&
		       sizeof(struct catalog_change) == 16 &&
		       sizeof(struct content_text) == 16 &&
		       sizeof(struct picture_hashes) == 76,
	       "values have no padding");

/*
 * Keeps transactions out while a packed file takes the place of the data file.
 * Every transaction is counted in inside.  The thread that packs closes the
 * gate, so that new transactions wait, and waits until inside is 0.  (With a
 * rwlock, new readers could delay it for ever.)  While the catalog is being
 * opened, only the opener can begin a transaction; so it is while a damaged one
 * is replaced (catalog_await_damage()).  Lock order: the gate, then LMDB's
 * writer lock.
 */
struct map_gate {
	pthread_mutex_t lock; /* guards the fields */
	pthread_cond_t changed;
	unsigned inside;
	bool moving;
	atomic_bool opening; /* changed under the lock, and damaged, too */
	bool has_opener;     /* opener is valid */
	pthread_t opener;
	atomic_bool damaged; /* catalog_found_damage() was called */
	bool watched; /* a thread waits for that, and replaces the catalog */
};

/* A name that was removed, and what its file left; see change.c. */
enum { LOST_NAMES = 32 };
struct lost_name {
	struct file_key parent, key;
	int64_t lost_ms;
	uint64_t lost_in; /* catalog_snapshot() */
	struct buf left;  /* owned; empty: there is no such name */
	size_t len;
	char name[NAME_BYTES_MAX];
};

/* The check of a data file by a child process, see inspect.c. */
struct inspection {
	pid_t pid; /* 0: none, or it has ended */
	int fd;    /* a socket that the child sends its result to */
};

struct catalog {
	MDB_env *env; /* NULL until the data file is opened */
	MDB_dbi dbs[DB_COUNT];
	char *directory;
	int dir;    /* its descriptor */
	char *data; /* path of the data file */
	char *copy; /* path of CATALOG_COPY_FILE */
	int lock_fd;
	/* A part of the file could not be read, so env is not used again. */
	atomic_bool lost;
	uint64_t replaced; /* how often; changed while no transaction is open */
	/* As of the last commit, or of one that is under way. */
	_Atomic uint64_t next_content, file_bytes, pending_texts, untold_texts,
		untold_added;
	struct map_gate gate;

	/* Constant after catalog_begin(). */
	char *source;
	uint32_t text_version;
	struct file_key root;
	uint64_t filesystem;
	struct digest_key key;
	uint32_t digest_set;

	/* The check, until catalog_finish(). */
	int verdict; /* 0, or an error found without a child */
	struct inspection inspection;
	atomic_bool cancelled;
	_Atomic int failed; /* error of the opening */
	size_t packed;      /* bytes of the data file when it was packed last */
	/* The seal exists.  Used by the opener, then by the writer. */
	bool sealed;

	/* dirty entries up to this change are removed; the writer's */
	uint64_t dirty_trimmed;
	struct lost_name lost_names[LOST_NAMES]; /* the writer's */
	unsigned lost_next;
	/* Set by catalog_follow(): the inode numbers of the open files. */
	ino_t data_inode, lock_inode;
};

struct catalog_txn {
	struct catalog *catalog;
	MDB_txn *mdb; /* NULL: it could not be begun */
	bool writes;
	struct buf found; /* what txn_get() and the like have found */
	struct buf blob;  /* what blob_get() has put together */
	struct blob_page {
		size_t count; /* pages; 0: not known yet */
		size_t room;  /* bytes in the last one; 0: not known */
	} pages[DB_COUNT - DB_BLOBS];
	struct catalog_meta meta, stored; /* put by the commit when changed */
	uint64_t untold_added;            /* see catalog_untold_added() */
	int failed;  /* first error of a write; the commit fails with it */
	bool shared; /* changes are recorded (dirty.c) */
	struct dirty_mark mark; /* of this transaction; 0: none yet */
	struct catalog_changes changes;
	/* Of a watched transaction; see event.c. */
	bool is_watched;
	bool told; /* what is done now has its events already */
	struct file_key root;
	struct buf within;
};

/* ---- record.c: bytes ---- */

/* The key of a record, or what the keys of some begin with. */
struct record_key {
	size_t len;
	uint8_t bytes[KEY_BYTES_MAX];
};

struct record_key key_of_bytes(const void *bytes, size_t len);
#define ANY_KEY key_of_bytes("", 0)
struct record_key key_of_file(const struct file_key *key);
/* The beginning of all keys of files with that device and inode. */
struct record_key key_of_number(uint32_t device, uint64_t inode);
struct record_key key_of_id(uint32_t id);
struct record_key key_of_identity(uint64_t seed, const struct digests *d,
				  uint32_t content);
struct record_key key_of_copy(uint32_t content, const struct file_key *key);
struct record_key key_of_name(const struct file_key *parent,
			      struct catalog_name name);
struct record_key key_of_link(const struct file_key *key,
			      const struct file_key *parent,
			      struct catalog_name name);

/* Decodes a database key or value that is a file key. */
int file_key_decode(const MDB_val *bytes, struct file_key *out);

/* False: the value has another size. */
bool value_copy(const MDB_val *value, void *out, size_t size);

int file_record_decode(const MDB_val *bytes, struct file_record *out);
int content_decode(const MDB_val *bytes, struct digests *out);
int content_id_decode(const MDB_val *bytes, uint32_t *out);

int copy_key_decode(const MDB_val *bytes, uint32_t *content_out,
		    struct file_key *key_out);

int meta_decode(const MDB_val *bytes, struct catalog_meta *out);

bool name_is_valid(struct catalog_name name);
/* "/", which no entry has: see catalog_take_place(). */
bool name_is_former(struct catalog_name name);

/* name_out points into bytes. */
int name_key_decode(const MDB_val *bytes, struct file_key *parent_out,
		    struct catalog_name *name_out);
int link_key_decode(const MDB_val *bytes, struct file_key *key_out,
		    struct file_key *parent_out, struct catalog_name *name_out);

/*
 * Every record ends with two bytes of the sum of its key and value: nearly any
 * bytes are a digest, so a page of zeros would pass for some.  The sum is
 * compared whenever a record is read, and no other function sees it.
 */
#define RECORD_SUM_BYTES 2

uint16_t record_sum(const MDB_val *key, const void *value, size_t len);

/* Takes the sum off the value.  False: it is wrong. */
bool record_take_sum(const MDB_val *key, MDB_val *value);

/* ---- txn.c: reading and writing records ---- */

extern const char *const catalog_db_names[DB_COUNT];

void map_gate_close(struct map_gate *g);
void map_gate_open(struct map_gate *g);

/* The negative errno for a result of LMDB. */
int catalog_errno(int rc);

/* As catalog_errno(), for a commit.  LMDB returns EIO after a short write; if
 * the disk is full that becomes -ENOSPC. */
int catalog_commit_errno(const struct catalog *c, int rc);

struct map_guard {
	sigjmp_buf back;
	struct map_guard *outer; /* sections can be nested */
	bool writes;
};

void map_guard_push(struct map_guard *g);
void map_guard_leave(struct map_guard *g);

/*
 * A guarded section: sets err to the result of the call, a negative errno; to
 * -EUCLEAN if the map could not be read or is damaged, and env is lost then.
 *
 * The call is of LMDB, or copies from the map to memory of our own, and nothing
 * else: no lock of ours is held and no memory of ours is allocated in it, since
 * the jump would leave both.
 */
#define GUARDED(catalog, err, call) GUARDED_AS(false, catalog, err, call)
/* The call may change pages; see env.c. */
#define GUARDED_WRITE(catalog, err, call) GUARDED_AS(true, catalog, err, call)
#define GUARDED_AS(changes, catalog, err, call)        \
	do {                                           \
		struct map_guard guard_;               \
                                                       \
		guard_.writes = (changes);             \
		map_guard_push(&guard_);               \
		if (sigsetjmp(guard_.back, 0)) {       \
			(err) = catalog_lose(catalog); \
		} else {                               \
			(err) = (call);                \
			map_guard_leave(&guard_);      \
		}                                      \
	} while (0)

/* Gives the environment up; returns -EUCLEAN. */
int catalog_lose(struct catalog *c);

/* value_out is a copy that is valid until the transaction looks for another
 * record. */
int txn_get(struct catalog_txn *txn, enum catalog_db db, struct record_key key,
	    MDB_val *value_out);

int txn_put(struct catalog_txn *txn, enum catalog_db db, struct record_key key,
	    const void *value, size_t len);
/* The key must be above every key of the database: -EUCLEAN. */
int txn_append(struct catalog_txn *txn, enum catalog_db db,
	       struct record_key key, const void *value, size_t len);
int txn_delete(struct catalog_txn *txn, enum catalog_db db,
	       struct record_key key);

/* As txn_delete(), but that there is no such key is no error. */
int txn_drop(struct catalog_txn *txn, enum catalog_db db,
	     struct record_key key);
/* A value that is copied to out.  -EUCLEAN: it has another size. */
int txn_get_value(struct catalog_txn *txn, enum catalog_db db,
		  struct record_key key, void *out, size_t size);

int meta_get(struct catalog_txn *txn, struct catalog_meta *out);
int meta_put(struct catalog_txn *txn, const struct catalog_meta *m);

int txn_stat(struct catalog_txn *txn, enum catalog_db db, MDB_stat *out);

/* Every public writing function ends with this call.  It returns err.  After an
 * error that may have left half of the work done, the transaction can only be
 * aborted. */
int txn_result(struct catalog_txn *txn, int err);

/* The records of a database whose keys begin with prefix, in order. */
struct catalog_walk {
	struct catalog_txn *txn;
	MDB_cursor *cursor;
	struct buf copy; /* of the record */
	struct record_key prefix;
	bool open_end; /* walk to the end of the database */
	bool started;
	MDB_val key;
	MDB_val value;
	struct buf built; /* a path, or a value made of pieces */
	/* Of catalog_paths_begin(). */
	struct file_key root;
	bool is_root; /* the path "" is still to be given */
};

int walk_begin(struct catalog_txn *txn, enum catalog_db db,
	       struct record_key prefix, struct catalog_walk **out);

/* 1: key and value hold the next record; 0: no more. */
int walk_next(struct catalog_walk *w);

/* The first record with that prefix, or the first one whose key is above key.
 * -ENOENT.  What is found is a copy, as by txn_get(). */
int txn_first(struct catalog_txn *txn, enum catalog_db db,
	      struct record_key prefix, MDB_val *key_out, MDB_val *value_out);
int txn_after(struct catalog_txn *txn, enum catalog_db db,
	      struct record_key key, MDB_val *key_out, MDB_val *value_out);

/* Takes another id for a content or the sketch of a text. */
int txn_take_id(struct catalog_txn *txn, uint32_t *out);

/* It is removed. */
int txn_drop_id(struct catalog_txn *txn, uint32_t id);

/* ---- content.c ---- */

/* The id must be above every one of the table. */
int blob_append(struct catalog_txn *txn, enum catalog_db db, uint32_t id,
		const void *bytes, size_t len);

/* out is valid until another record or value is looked for.  -ENOENT. */
int blob_get(struct catalog_txn *txn, enum catalog_db db, uint32_t id,
	     MDB_val *out);

/* -ENOENT. */
int blob_delete(struct catalog_txn *txn, enum catalog_db db, uint32_t id);

/* The digests in the record of the content; the set has all. */
int content_load(struct catalog_txn *txn, uint32_t content,
		 struct digests *out);

/* Finds the content or adds it; sets *out to its id. */
int content_intern(struct catalog_txn *txn, const struct digests *d,
		   uint32_t *out);

/* Adds a copy. */
int content_copy_add(struct catalog_txn *txn, uint32_t content,
		     const struct file_key *key);

/* Removes a copy; removes the content if it was the last copy. */
int content_copy_drop(struct catalog_txn *txn, uint32_t content,
		      const struct file_key *key);

/* ---- text.c ---- */

/* A new content that may have a text: it is pending. */
int text_begin(struct catalog_txn *txn, uint32_t content);

/* Adds the sketch of its text, or only the hashes of the picture, to the digests of
 * a content, if there are such. */
int text_load(struct catalog_txn *txn, uint32_t content, bool only_picture,
	      struct digests *d);

/* The file has that content: if that may have a text, the file is untold. */
int text_note_copy(struct catalog_txn *txn, uint32_t content,
		   const struct file_key *key);
/* The file is no longer untold. */
int text_tell(struct catalog_txn *txn, uint32_t content,
	      const struct file_key *key);

/* Removes what is known of the text of a content, which is removed. */
int text_forget(struct catalog_txn *txn, uint32_t content);

/* Notes with which version the texts of a new catalog are made; and at opening
 * has all be made again, if they were made with another one. */
int text_put_version(struct catalog_txn *txn);
int texts_settle(struct catalog *c);

/* ---- file.c ---- */

/* 1; 0, also without a record; or an error. */
int file_is_directory(struct catalog_txn *txn, const struct file_key *key);

/* Makes it a directory if it is none. */
int file_make_directory(struct catalog_txn *txn, const struct file_key *key);

int remove_if_nameless(struct catalog_txn *txn, const struct file_key *key);

/* ---- change.c ---- */

/* A name that a file gets in the place of another one. */
struct name_taken {
	const struct file_key *parent;
	struct catalog_name name;
};

/* Before the record of a file is replaced by new, which has another content or
 * none. */
int change_of_record(struct catalog_txn *txn, const struct file_key *key,
		     const struct file_record *new);
int change_forget(struct catalog_txn *txn, const struct file_key *key);

/* 1: the file is pending, has no content yet but an earlier one, and the tree
 * has it; else 0. */
int change_is_told(struct catalog_txn *txn, const struct file_key *key);

/* Before the file loses the name, and after it has got it. */
int change_name_lost(struct catalog_txn *txn, const struct file_key *parent,
		     struct catalog_name name, const struct file_key *key);
/* 1: the file goes on with what the one before it left; else 0. */
int change_name_taken(struct catalog_txn *txn, const struct file_key *key,
		      const struct name_taken *name);
void lost_names_release(struct catalog *c);

/* One name of a file, copied. */
struct link {
	struct file_key key;
	struct file_key parent;
	struct catalog_name name; /* points to bytes */
	char bytes[NAME_BYTES_MAX];
};

/* ---- event.c; each does nothing in a transaction that is not watched ---- */

/* A file has got the name (TREE_NAMED); or a file or directory is about to lose
 * it (TREE_UNNAMED).  inherits: see struct catalog_event. */
int event_name(struct catalog_txn *txn, enum catalog_event_kind kind,
	       const struct file_key *parent, struct catalog_name name,
	       const struct file_key *key, bool inherits);

/* The content of the file is known now (TREE_NAMED), or is about to be
 * forgotten (TREE_UNNAMED), by each of its names. */
int event_content(struct catalog_txn *txn, enum catalog_event_kind kind,
		  const struct file_key *key, uint64_t size);

/* The file has another content (NULL: an equal one, in the place of the file
 * that had its name), under that name only, or under all (NULL). */
int event_changed(struct catalog_txn *txn, const struct file_key *key,
		  const struct catalog_change *change, uint64_t size,
		  const struct name_taken *by);

/* 1: the directory is about to get the name, and its old path leads to the new
 * one; the names are changed with txn->told set.  0: it has no path yet. */
int event_directory_moves(struct catalog_txn *txn, const struct file_key *key,
			  const struct file_key *parent,
			  struct catalog_name name);

/* 1: the names are about to be exchanged, one of which is a directory's; as
 * above. */
int event_exchange(struct catalog_txn *txn, const struct link *a,
		   const struct link *b);

/* ---- name.c ---- */

int link_first(struct catalog_txn *txn, const struct file_key *key,
	       struct link *out);
int link_first_below(struct catalog_txn *txn, const struct file_key *parent,
		     struct link *out);
int link_delete(struct catalog_txn *txn, const struct file_key *parent,
		struct catalog_name name, const struct file_key *key);

/* 1: the file has two names or more; 0: one at most. */
int link_has_second(struct catalog_txn *txn, const struct file_key *key);

/* Removes all names of key except (parent, name).  parent NULL: all. */
int link_delete_others(struct catalog_txn *txn, const struct file_key *key,
		       const struct file_key *parent, struct catalog_name name);

/* The name is no more what catalog_unread_set() said of it. */
int unread_drop(struct catalog_txn *txn, const struct file_key *parent,
		struct catalog_name name);

/* ---- data_dir.c ---- */

/* Takes the lock of the directory, and writes the pid and the holder's text to
 * its file.  -EBUSY: another process has it. */
int data_dir_lock(int dir, const char *holder, int *fd_out);
void data_dir_unlock(int fd);

/* A small file of the directory.  Writing and removing are durable; what is
 * written takes the place of the file when it is complete. */
int data_dir_write(int dir, const char *name, const void *bytes, size_t len);
ssize_t data_dir_read(int dir, const char *name, void *out, size_t room);
int data_dir_remove(int dir, const char *name);

/* ---- inspect.c ---- */

/* Starts the child.  The calling process must have a single thread.  If there
 * is no room for the copy, the file is only read. */
int inspection_start(struct catalog *c);

/* Blocks until the child has ended.  -EUCLEAN: the file is damaged;
 * -EMEDIUMTYPE: it has another format; or an error of the system. */
int inspection_wait(struct inspection *i);

/* Makes inspection_wait() return -ECANCELED soon; from any thread. */
void inspection_cancel(const struct inspection *i);

int seal_write(const struct catalog *c);
/* 0: the data file matches its seal; -EUCLEAN: it differs; -ECANCELED. */
int seal_check(const struct catalog *c);

/* Removes the seal if there is one, before the first change.  The calling
 * thread has LMDB's writer lock. */
int catalog_unseal(struct catalog *c);

/* ---- env.c ---- */

/* Maps the files of the directory: sets c->env. */
int env_map(struct catalog *c, unsigned flags);
/* Maps the data file, and makes the tables if it has none.  -EUCLEAN,
 * -EMEDIUMTYPE; -ESTALE: it has other digests. */
int env_open(struct catalog *c);
/* -EUCLEAN: a table is missing.  Makes them in a new file, unless it is another
 * process's, which is only followed. */
int env_open_tables(struct catalog *c, bool follows);
/* Compares the root that is stored with the one that was told. */
int root_settle(struct catalog *c);
/* The size of the data file; 0: not known. */
uint64_t env_file_bytes(const struct catalog *c);
/*
 * An environment that was lost is not closed, but left alone until the process
 * ends: it may hold its writer's lock, whose memory the C library would use
 * when that thread takes another one.
 */
void env_close(struct catalog *c);

/* ---- dirty.c ---- */

/* Whether a new transaction has to record its changes. */
bool dirty_is_wanted(struct catalog *c);

/* Records that the file or directory changed. */
int dirty_add(struct catalog_txn *txn, const struct file_key *key);

/* Removes entries that the share has acknowledged; called by each commit. */
int dirty_trim(struct catalog_txn *txn);

#endif
