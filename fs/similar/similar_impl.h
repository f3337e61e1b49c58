/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_SIMILAR_IMPL_H
#define FS_SIMILAR_SIMILAR_IMPL_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/engine/engine.h"
#include "fs/ops/reply.h"

struct fs;
struct inode;
struct listing;
struct listing_query;
struct similar_node;

/* ---- node.c ---- */

enum {
	VIEW_MIRRORS = 1,   /* names below are those of SOURCE */
	VIEW_OF_TOP = 2,    /* only in the top directory */
	VIEW_OF_OWNER = 4,  /* only for the owner of the mount */
	VIEW_OF_GROUPS = 8, /* of many files, not of the node's own */
	VIEW_UNCHECKED = 16 /* items stay valid with the listing */
};

/*
 * What a directory of the virtual tree lists: a row of the table of views
 * (ops.c).  A view has a name, which is found and not listed, in directories of
 * SOURCE or in files; three rows are reached otherwise: a directory of SOURCE, a
 * file, and a group.
 */
struct similar_view {
	const char *name;              /* NULL: reached otherwise */
	const struct similar_view *in; /* the row of its parent */
	/* Makes the listing, see below; fd is the listed file's.  *out
	 * may be set on failure, too.  NULL: the node is .query, a regular
	 * file. */
	int (*list)(struct listing_query *q, int fd, struct listing **out);
	enum index_relation relation; /* for list_relation() */
	unsigned flags;
	const struct similar_view *entry; /* of items that are no links */
};

struct similar_node {
	struct similar_node *parent; /* holds a reference; NULL for the top */
	char *name;
	const struct similar_view *view; /* NULL: a link */
	unsigned depth;                  /* number of components of its path */
	uint64_t number;                 /* inode number; bit 63 is set */
	uint64_t refs;                   /* similar->lock */
	struct inode *real; /* holds a reference; of a link: the listed file */
	char *target;       /* links only */
	/* The last listing of the directory, if it is kept, and the list of all
	 * nodes with one, the latest first; similar->lock */
	struct listing *listing;
	TAILQ_ENTRY(similar_node) kept;
};

/* An open directory or .query: fi->fh. */
struct opened {
	LIST_ENTRY(opened) entry; /* similar->lock */
	struct listing *listing; /* a reference; NULL: of a struct query_file */
	uid_t uid;               /* whose share has it */
};

static inline struct opened *opened_of(const struct fuse_file_info *fi)
{
	return (struct opened *)(uintptr_t)fi->fh;
}

/* Most bytes of kept listings.  The oldest are dropped first.  The latest stays
 * even if it is larger; otherwise each lookup in it would make it again. */
#define KEPT_MAX ((size_t)16 << 20)

/* The virtual tree. */
struct similar {
	pthread_mutex_t lock; /* the fields here and those marked above */
	void *nodes; /* of tsearch(3), by number and what else distinguishes them */
	LIST_HEAD(opened_list, opened) opened;
	TAILQ_HEAD(kept_list, similar_node) kept; /* nodes with a listing */
	size_t kept_bytes;
	uint64_t root_number;
	bool queries_end; /* see opened_cancel_all() */
	/* The directory of the catalog (O_PATH; -1: not known; constant). */
	int catalog_fd;
	atomic_bool warned; /* of a real entry with the name of a view */
};

/* The nodeid is the address with the lowest bit set. */
static inline struct similar_node *node_at(fuse_ino_t id)
{
	return (struct similar_node *)(uintptr_t)(id & ~(fuse_ino_t)1);
}

static inline fuse_ino_t node_id(const struct similar_node *n)
{
	return (fuse_ino_t)(uintptr_t)n | 1;
}

/* The inode number of an entry of a virtual directory. */
uint64_t node_number_below(uint64_t parent, const char *name);

/* What distinguishes a node from others with its parent and name. */
struct node_key {
	const struct similar_view *view; /* NULL: a link */
	struct inode *real;
	const char *target; /* of a link, else NULL */
};

/* Finds or makes the node of a path; takes a reference to it. */
int node_get(struct fs *fs, struct similar_node *parent, const char *name,
	     const struct node_key *key, struct similar_node **out);

void node_ref(struct fs *fs, struct similar_node *n);
void node_unref(struct fs *fs, struct similar_node *n, uint64_t count);

/* Frees the table and all nodes, whatever their references. */
void node_table_release(struct fs *fs);

/* The attributes of the node that are made of those of its real file. */
void node_fill_stat(const struct similar_node *n, const struct stat *real,
		    struct stat *out);

/* The ctime of the real file; -1: it is gone. */
int64_t node_ctime(struct fs *fs, const struct similar_node *n);

/* Keeps l, with a reference, instead of an earlier listing.  The bytes of all
 * kept listings are bounded by KEPT_MAX. */
void node_keep_listing(struct fs *fs, struct similar_node *n,
		       struct listing *l);

/* The kept listing, if it was made for the same credentials (those of the caller
 * of req, or if that is NULL the given ones) and is young enough for lookups (the
 * longer it is, the longer it is used); takes a reference.  NULL: there is
 * none. */
struct listing *node_kept_listing(struct fs *fs, struct similar_node *n,
				  fuse_req_t req,
				  const struct credentials *credentials);

/* ---- listing.c ---- */

/*
 * The entries of a directory of the virtual tree at one moment, for one caller.
 * Constant once made; shared by the node and its open handles.
 */
struct listing_item {
	char *name;
	char *target;     /* of a link; NULL: the item is a directory */
	const char *path; /* relative to SOURCE; points into target */
	struct file_key key;
	struct file_identity identity;
};

struct listing {
	atomic_uint refs;
	struct listing_item *items; /* in the order of readdir */
	size_t *by_name; /* indices of items, in byte order of the names */
	size_t count;
	size_t bytes;                   /* of memory, estimated */
	struct search_held held;        /* for it, but for the groups */
	char *state;                    /* user.kinfs.state; or NULL */
	bool answered;                  /* the state is complete or cut */
	struct credentials credentials; /* of the caller; owned */
	int64_t made_ns;                /* CLOCK_MONOTONIC */
	int64_t listed_ctime_ns;        /* ctime of the listed file */
	uint64_t closings;              /* engine_closings() before the query */
	/* Added to the time for which names are looked up in the listing. */
	int64_t lifetime_ns;
	struct file_groups *groups; /* a reference; of .groups only */
};

/*
 * Makes a listing: items are added in the order of readdir, then it is finished.
 *
 * listing_add_hit() adds a link such as "097_report.txt" ->
 * "../../docs/report.txt", with the score and the base name, or with another
 * name.  depth: the number of components in the path of the listed file.  Names
 * are cut to NAME_MAX at a character boundary; equal ones get "~2", "~3".
 * listing_add() takes name and target (NULL: a directory), also on failure.
 * -ENOMEM, also if name is NULL.
 */
int listing_new(struct listing **out);
int listing_add(struct listing *l, char *name, char *target);
int listing_add_hit(struct listing *l, const struct search_hit *hit,
		    unsigned depth, const char *name);
int listing_finish(struct listing *l);

/* "097_name", cut; NULL: no memory. */
char *listing_make_name(int score, const char *base);

/* The length of the longest prefix of at most max bytes that does not end
 * inside a UTF-8 character.  Text that is not UTF-8 is cut anywhere. */
size_t listing_cut_name(const char *text, size_t max);

struct listing *listing_ref(struct listing *l);
void listing_unref(struct listing *l);

/* NULL: there is no such name. */
const struct listing_item *listing_find(const struct listing *l,
					const char *name);

/* ---- listing_query.c, groups_view.c, elsewhere.c ---- */

/* What a request wants of the listing of a directory. */
struct listing_want {
	const char *name;          /* lookup: the entry of this item; or */
	struct fuse_file_info *fi; /* opendir: a handle of it; or NULL: */
	size_t size; /* getxattr: its state, for a buffer of this size */
};

/*
 * Replies with what is wanted of the node's listing: of the kept one if that is
 * still valid, else of a new one.  For that the request is parked, and a job of
 * the engine (core/search/search.h) calls list() of the node's view.
 */
void listing_answer(fuse_req_t req, struct similar_node *n,
		    const struct listing_want *want);

struct listing_query {
	struct park park;
	struct search_job *job;
	struct fs *fs;
	struct similar_node *node; /* holds a reference */
	struct listing_want want;  /* name: owned; fi: the next field */
	struct fuse_file_info fi;
	struct search_caller caller;
	int64_t listed_ctime_ns; /* of the listed file, before the query */
	uint64_t closings;
};

/* Sets the state of a listing.  file: NULL, or a listing of a file whose digests
 * are not known is in that file's state.  cut: there are more than most items;
 * SIZE_MAX: the number is not known.  -ENOMEM. */
int listing_set_state(struct listing *l, const struct file_digests *file,
		      bool incomplete, bool cut, size_t most);

/* Makes the listing of the hits, which it releases; file as above. */
int listing_of_hits(struct listing_query *q, struct search_hits *hits,
		    const struct file_digests *file, size_t most,
		    struct listing **out);

/* list() of the views of a file, of .dirs, of a directory, of .groups and each
 * group in it, and of .elsewhere (-EACCES: not for this caller). */
int list_relation(struct listing_query *q, int fd, struct listing **out);
int list_directories(struct listing_query *q, int fd, struct listing **out);
int list_browsed(struct listing_query *q, int fd, struct listing **out);
int list_groups(struct listing_query *q, int fd, struct listing **out);
int list_elsewhere(struct listing_query *q, int fd, struct listing **out);

/* Replies with the entry of n; a reference to n becomes a lookup count.  real:
 * the stat of its file; NULL: not known. */
void similar_reply_node(fuse_req_t req, struct fs *fs, struct similar_node *n,
			const struct stat *real);

/* ---- query_file.c ---- */

/* The caller of a request; free its credentials with credentials_release().  A
 * trusted caller gets no groups, which would be read from /proc and are not
 * used. */
int similar_caller(struct fs *fs, fuse_req_t req, struct search_caller *out);

/* Takes o, and replies. */
void opened_reply(fuse_req_t req, struct fs *fs, struct opened *o,
		  struct fuse_file_info *fi);
/* Ends what is open; frees it. */
void opened_close(struct fs *fs, struct opened *o);
/* Has the jobs of what is open, and of what is opened later, end soon. */
void opened_cancel_all(struct fs *fs);

/* The operations on .query, see query_text.h.  No other node is opened but
 * directories. */
void query_open(fuse_req_t req, struct fs *fs, struct fuse_file_info *fi);
void query_write(fuse_req_t req, fuse_ino_t id, struct fuse_bufvec *in,
		 off_t off, struct fuse_file_info *fi);
/* Takes a part of the query. */
void query_ioctl(fuse_req_t req, fuse_ino_t id, unsigned command, void *arg,
		 struct fuse_file_info *fi, unsigned flags, const void *in,
		 size_t in_size, size_t out_size);
/* Replies with the next part of the answer; parked until it is made. */
void query_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t off,
		struct fuse_file_info *fi);

#endif
