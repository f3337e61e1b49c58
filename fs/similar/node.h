/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_NODE_H
#define FS_SIMILAR_NODE_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/index/index.h"
#include "core/search/credentials.h"
#include "core/queue/share.h"

struct fs;
struct inode;
struct listing;
struct listing_query;

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
	/* Makes the listing, see listing_query.h; fd is the listed file's.  *out
	 * may be set on failure, too.  NULL: the node is .query, a regular
	 * file. */
	int (*list)(struct listing_query *q, int fd, struct listing **out);
	enum index_relation relation; /* for list_relation() */
	unsigned flags;
	const struct similar_view *entry; /* of items that are no links */
};

struct similar_node {
	struct similar_node *chain;
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
	struct similar_node *kept_prev, *kept_next;
};

/* An open directory or .query: fi->fh. */
struct opened {
	struct opened *next; /* similar->lock */
	struct opened **link;
	void (*close)(struct fs *fs, struct opened *o); /* frees it */
	void (*cancel)(struct opened *o); /* ends its job soon; or NULL */
};

enum { NODE_FIRST_BUCKETS = 1024, QUERIES_MAX = 256 };

/* Most bytes of kept listings.  The oldest are dropped first.  The latest stays
 * even if it is larger; otherwise each lookup in it would make it again. */
#define KEPT_MAX ((size_t)16 << 20)

/* The virtual tree: a hash table of all nodes, by their number. */
struct similar {
	pthread_mutex_t lock; /* the fields here and those marked above */
	struct similar_node **buckets;
	size_t bucket_count; /* a power of two */
	size_t node_count;
	struct opened *opened;
	struct similar_node *kept_first, *kept_last; /* nodes with a listing */
	size_t kept_bytes;
	uint64_t root_number;
	struct share queries; /* of open .query files */
	/* The directory of the catalog (O_PATH; -1: not known; constant). */
	int catalog_fd;
	atomic_bool warned; /* of a real entry with the name of a view */
	atomic_llong cached_until_ns; /* names in the kernel; 0: none */
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

int node_table_init(struct similar *s);
/* Frees the table and all nodes, whatever their references. */
void node_table_release(struct fs *fs);

void opened_add(struct fs *fs, struct opened *o);
void opened_close(struct fs *fs, struct opened *o);
/* Closes the files that are open at the end of the mount. */
void opened_close_all(struct fs *fs);

/* How long the kernel may cache names and attributes of nodes, except those of
 * the top, whose name never changes. */
#define NODE_CACHE_S 0.1

/* How long the kernel may cache the node, for a reply about it; 0: not at all.
 * Updates cached_until_ns. */
double node_timeout_s(struct fs *fs, const struct similar_node *n);

/* The attributes of the node. */
int node_stat(struct fs *fs, const struct similar_node *n, struct stat *out);

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

#endif
