/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_NODE_H
#define FS_SIMILAR_NODE_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/search/credentials.h"
#include "core/queue/share.h"
#include "fs/similar/elsewhere.h"

struct fs;
struct inode;
struct listing;

/* The nodes of the virtual tree, one a path. */
enum node_kind {
	NODE_DIRECTORY,   /* mirrors one */
	NODE_FILE,        /* lists what is like a file, */
	NODE_WITHIN,      /* what contains it, */
	NODE_CONTAINS,    /* what it contains, */
	NODE_ALL,         /* and what is like it in mere boilerplate, too */
	NODE_TEXT,        /* what has nearly the same text */
	NODE_SHARES,      /* what has a passage in common with it */
	NODE_ELSEWHERE,   /* what other hosts have that is like it */
	NODE_DIRECTORIES, /* lists what is like a directory */
	NODE_GROUPS,      /* the groups of a directory, */
	NODE_GROUP,       /* and the files of one */
	NODE_LINK,
	NODE_QUERY, /* a file: see query_file.h */
};

struct similar_node {
	struct similar_node *chain;
	struct similar_node *parent; /* holds a reference; NULL for the top */
	char *name;
	enum node_kind kind;
	unsigned depth;     /* components of its path in the virtual tree */
	uint64_t number;    /* of the inode, bit 63 set */
	uint64_t refs;      /* similar->lock */
	struct inode *real; /* holds a reference; of a link: the listed file */
	char *target;       /* links only */
	/* Of links, the last one, and its neighbours among those that are kept,
	 * the latest first; similar->lock */
	struct listing *listing;
	struct similar_node *kept_prev, *kept_next;
};

/* A directory or a .query that is open: fi->fh. */
struct opened {
	struct opened *next; /* similar->lock */
	struct opened **link;
	void (*close)(struct fs *fs, struct opened *o); /* frees it */
};

enum { NODE_FIRST_BUCKETS = 1024, QUERIES_MAX = 256 };

/* Of all listings that are kept.  The oldest go first, the latest stays even if
 * it is larger: else each of its names would make it anew. */
#define KEPT_MAX ((size_t)16 << 20)

/* The table of all nodes; parent and name lead to one. */
struct similar {
	pthread_mutex_t lock; /* the buckets and what says so above */
	struct similar_node **buckets;
	size_t bucket_count; /* a power of two */
	size_t node_count;
	struct opened *opened;
	struct similar_node *kept_first, *kept_last; /* nodes with a listing */
	size_t kept_bytes;
	uint64_t root_number;
	struct share queries; /* open ones */
	struct elsewhere elsewhere;
	atomic_bool warned; /* of a real entry with the name of a view */
	atomic_llong cached_until_ns; /* names by the kernel; 0: none */
};

/* Whether names are looked up in a listing of it. */
static inline bool node_has_listing(const struct similar_node *n)
{
	return n->kind != NODE_DIRECTORY && n->kind != NODE_LINK &&
	       n->kind != NODE_QUERY;
}

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

/* The node of a path, made when there is none, with one more reference.  real
 * is taken, also on failure; target is that of a link, else NULL. */
int node_get(struct fs *fs, struct similar_node *parent, const char *name,
	     enum node_kind kind, struct inode *real, const char *target,
	     struct similar_node **out);

void node_ref(struct fs *fs, struct similar_node *n);
void node_unref(struct fs *fs, struct similar_node *n, uint64_t count);

int node_table_init(struct similar *s);
/* Frees the table and whatever the kernel still counts. */
void node_table_release(struct fs *fs);

void opened_add(struct fs *fs, struct opened *o);
void opened_close(struct fs *fs, struct opened *o);
/* Whatever was not released before the end of the mount. */
void opened_close_all(struct fs *fs);

/* How long the kernel may remember what it is told of a node, but for the top,
 * whose name never changes. */
#define NODE_CACHE_S 0.1

/* The kernel is about to be told: until when it may remember is noted.
 * 0: not at all. */
double node_timeout_s(struct fs *fs, const struct similar_node *n);

/* What the kernel is shown. */
int node_stat(struct fs *fs, const struct similar_node *n, struct stat *out);

/* In two steps, for many links of a directory: the attributes of the real file,
 * and what is made of them. */
int node_stat_real(struct fs *fs, const struct similar_node *n,
		   struct stat *out);
void node_fill_stat(const struct similar_node *n, const struct stat *real,
		    struct stat *out);

/* ctime of the real file, -1 when it is gone. */
int64_t node_ctime(struct fs *fs, const struct similar_node *n);

/* Keeps l, with one more reference, in place of an earlier one.  The kernel may
 * know a node for very long: all that is kept is bounded by KEPT_MAX. */
void node_keep_listing(struct fs *fs, struct similar_node *n,
		       struct listing *l);

/* A listing made for the caller's credentials and young enough to look names up
 * in it (long ones are looked through for a longer time), referenced; NULL if
 * none. */
struct listing *node_kept_listing(struct fs *fs, struct similar_node *n,
				  fuse_req_t req);
struct listing *node_kept_listing_for(struct fs *fs, struct similar_node *n,
				      const struct credentials *credentials);

#endif
