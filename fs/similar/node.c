/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/similar_impl.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "fs/inode/cred.h"
#include "fs/inode/descriptor.h"
#include "fs/fs.h"
#include "fs/inode/inode.h"

uint64_t node_number_below(uint64_t parent, const char *name)
{
	return XXH3_64bits_withSeed(name, strlen(name), parent) | UINT64_C(1)
									  << 63;
}

static int compare(const void *a, const void *b)
{
	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

/* The numbers are hashes; where they are equal, the rest decides. */
static int by_key(const void *a, const void *b)
{
	const struct similar_node *x = a, *y = b;
	int order;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	order = compare(x->parent, y->parent)     ?:
			compare(x->view, y->view) ?:
			compare(x->real, y->real) ?:
						    strcmp(x->name, y->name);
	return order || x->view ? order : strcmp(x->target, y->target);
}

/* Removes the node's kept listing and returns it, or NULL.  The caller holds
 * the lock. */
static struct listing *kept_take(struct similar *s, struct similar_node *n)
{
	struct listing *l = n->listing;

	if (!l)
		return NULL;
	TAILQ_REMOVE(&s->kept, n, kept);
	n->listing = NULL;
	s->kept_bytes -= l->bytes;
	return l;
}

/* Frees a node that is not in the table. */
static void node_free(struct fs *fs, struct similar_node *n)
{
	inode_unref(fs, n->real);
	free(n->name);
	free(n->target);
	free(n);
}

void node_ref(struct fs *fs, struct similar_node *n)
{
	pthread_mutex_lock(&fs->similar->lock);
	n->refs++;
	pthread_mutex_unlock(&fs->similar->lock);
}

void node_unref(struct fs *fs, struct similar_node *n, uint64_t count)
{
	struct similar *s = fs->similar;

	while (n) {
		struct similar_node *parent = n->parent;
		struct listing *kept;

		pthread_mutex_lock(&s->lock);
		n->refs -= count;
		if (n->refs) {
			pthread_mutex_unlock(&s->lock);
			return;
		}
		(void)tdelete(n, &s->nodes, by_key);
		kept = kept_take(s, n);
		pthread_mutex_unlock(&s->lock);
		listing_unref(kept);
		node_free(fs, n);
		n = parent;
		count = 1;
	}
}

int node_get(struct fs *fs, struct similar_node *parent, const char *name,
	     const struct node_key *key, struct similar_node **out)
{
	struct similar *s = fs->similar;
	struct similar_node *fresh = calloc(1, sizeof(*fresh)), **found = NULL;

	if (!fresh)
		return -ENOMEM;
	fresh->parent = parent;
	fresh->name = strdup(name);
	fresh->view = key->view;
	fresh->depth = parent ? parent->depth + 1 : 0;
	fresh->number = parent ? node_number_below(parent->number, name) :
				 s->root_number;
	fresh->real = key->real;
	inode_ref(fresh->real);
	fresh->target = key->target ? strdup(key->target) : NULL;
	pthread_mutex_lock(&s->lock);
	if (fresh->name && (!key->target || fresh->target))
		found = tsearch(fresh, &s->nodes, by_key);
	if (found) {
		*out = *found;
		(*out)->refs++;
	}
	if (found && *found == fresh) {
		fresh = NULL;
		if (parent)
			parent->refs++;
	}
	pthread_mutex_unlock(&s->lock);
	if (fresh)
		node_free(fs, fresh);
	return found ? 0 : -ENOMEM;
}

/* ---- attributes ---- */

void node_fill_stat(const struct similar_node *n, const struct stat *real,
		    struct stat *out)
{
	mode_t mode = S_IFLNK | 0777;

	if (n->view)
		mode = n->view->list ? S_IFDIR | 0555 : S_IFREG | 0666;
	*out = (struct stat){
		.st_ino = n->number,
		.st_nlink = 1,
		.st_uid = real->st_uid,
		.st_gid = real->st_gid,
		.st_atim = real->st_atim,
		.st_mtim = real->st_mtim,
		.st_ctim = real->st_ctim,
		.st_blksize = 4096,
		.st_mode = mode,
		.st_size = n->target ? (off_t)strlen(n->target) : 0,
	};
}

int64_t node_ctime(struct fs *fs, const struct similar_node *n)
{
	struct stat st;

	return inode_stat(fs, n->real, &st) ? -1 : timespec_to_ns(&st.st_ctim);
}

/* ---- kept listings ---- */

/* The caller holds the lock. */
static void kept_put(struct similar *s, struct similar_node *n,
		     struct listing *l)
{
	n->listing = listing_ref(l);
	TAILQ_INSERT_HEAD(&s->kept, n, kept);
	s->kept_bytes += l->bytes;
}

void node_keep_listing(struct fs *fs, struct similar_node *n, struct listing *l)
{
	struct similar *s = fs->similar;
	struct similar_node *last;
	struct listing *before;

	pthread_mutex_lock(&s->lock);
	before = kept_take(s, n);
	kept_put(s, n, l);
	pthread_mutex_unlock(&s->lock);
	listing_unref(before);
	do {
		before = NULL;
		pthread_mutex_lock(&s->lock);
		last = TAILQ_LAST(&s->kept, kept_list);
		if (s->kept_bytes > KEPT_MAX && last != TAILQ_FIRST(&s->kept))
			before = kept_take(s, last);
		pthread_mutex_unlock(&s->lock);
		listing_unref(before);
	} while (before);
}

struct listing *node_kept_listing(struct fs *fs, struct similar_node *n,
				  fuse_req_t req,
				  const struct credentials *credentials)
{
	struct listing *l;

	pthread_mutex_lock(&fs->similar->lock);
	l = n->listing;
	if (l &&
	    clock_now_ns() - l->made_ns >
		    1000000000 + (int64_t)l->count * 1000000 + l->lifetime_ns)
		l = NULL;
	if (l && l->groups) {
		/* A listing of groups took long to make: while it is used, it
		 * becomes the latest. */
		(void)kept_take(fs->similar, n);
		kept_put(fs->similar, n, l);
	} else if (l) {
		listing_ref(l);
	}
	pthread_mutex_unlock(&fs->similar->lock);
	if (!l || (req ? cred_is(fs, req, &l->credentials) :
			 credentials_equal(credentials, &l->credentials)))
		return l;
	listing_unref(l);
	return NULL;
}

/* ---- the table ---- */

void node_table_release(struct fs *fs)
{
	struct similar *s = fs->similar;
	struct similar_node *n;

	while (s->nodes) {
		n = *(struct similar_node **)s->nodes;
		(void)tdelete(n, &s->nodes, by_key);
		listing_unref(kept_take(s, n));
		node_free(fs, n);
	}
}
