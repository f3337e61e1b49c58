/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/listing_query.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine.h"
#include "fs/inode/cred.h"
#include "fs/similar/groups_view.h"
#include "fs/similar/listing.h"
#include "fs/similar/node.h"
#include "fs/inode/descriptor.h"
#include "fs/fs.h"
#include "fs/inode/inode.h"
#include "fs/ops/reply.h"
#include "fs/similar/similar.h"
#include "fs/ops/xattr_query.h"

/* ---- answers ---- */

void similar_reply_found(fuse_req_t req, struct fs *fs, struct similar_node *n,
			 const struct stat *real)
{
	struct fuse_entry_param e = {
		.ino = node_id(n),
		.generation = 1,
		.attr_timeout = node_timeout_s(fs, n),
		.entry_timeout = node_timeout_s(fs, n),
	};

	node_fill_stat(n, real, &e.attr);
	if (fuse_reply_entry(req, &e) == -ENOENT)
		node_unref(fs, n, 1);
}

void similar_reply_node(fuse_req_t req, struct fs *fs, struct similar_node *n)
{
	struct stat real;
	int err = node_stat_real(fs, n, &real);

	if (err) {
		node_unref(fs, n, 1);
		reply_error(req, err);
	} else {
		similar_reply_found(req, fs, n, &real);
	}
}

void similar_reply_item(fuse_req_t req, struct fs *fs,
			struct similar_node *parent, const struct listing *l,
			const char *name)
{
	const struct listing_item *item = listing_find(l, name);
	struct similar_node *n;
	int err = -ENOENT;

	if (item) {
		inode_ref(parent->real);
		err = node_get(fs, parent, name,
			       item->target ? NODE_LINK : NODE_GROUP,
			       parent->real, item->target, &n);
	}
	if (err)
		reply_error(req, err);
	else
		similar_reply_node(req, fs, n);
}

struct opened_listing {
	struct opened opened; /* first: it is cast to this */
	struct listing *listing;
};

static struct opened_listing *opened_of(const struct fuse_file_info *fi)
{
	return (struct opened_listing *)(uintptr_t)fi->fh;
}

const struct listing *similar_opened(const struct fuse_file_info *fi)
{
	return opened_of(fi)->listing;
}

void similar_close(struct fs *fs, const struct fuse_file_info *fi)
{
	opened_close(fs, &opened_of(fi)->opened);
}

static void listing_closed(struct fs *fs, struct opened *o)
{
	(void)fs;
	listing_unref(((struct opened_listing *)o)->listing);
	free(o);
}

/* l is borrowed. */
static void reply_opened(fuse_req_t req, struct fs *fs, struct listing *l,
			 struct fuse_file_info *fi)
{
	struct opened_listing *o = calloc(1, sizeof(*o));

	if (!o) {
		reply_error(req, -ENOMEM);
		return;
	}
	o->opened.close = listing_closed;
	o->listing = listing_ref(l);
	opened_add(fs, &o->opened);
	fi->fh = (uint64_t)(uintptr_t)o;
	if (fuse_reply_open(req, fi) == -ENOENT)
		opened_close(fs, &o->opened);
}

void similar_reply_state(fuse_req_t req, const struct listing *l, size_t size)
{
	reply_xattr(req, l->state, strlen(l->state), size);
}

static int format_state(const struct fs *fs, const struct search_hits *hits,
			struct buf *out)
{
	if (hits->file.state != DIGESTS_FRESH)
		return xattr_format_state(&hits->file, out);
	if (hits->incomplete)
		return buf_append_text(out, "incomplete");
	if (hits->cut)
		return buf_append_format(out, "cut:%zu", fs->options.limit);
	return buf_append_text(out, "complete");
}

static int set_state(const struct fs *fs, const struct search_hits *hits,
		     struct listing *l)
{
	struct buf text = { 0 };
	int err = format_state(fs, hits, &text);

	if (err)
		buf_release(&text);
	else
		l->state = buf_take(&text);
	l->answered = hits->file.state == DIGESTS_FRESH && !hits->incomplete;
	return err;
}

/* ---- queries that wait for the engine ---- */

enum purpose { FOR_LOOKUP, FOR_OPEN, FOR_STATE };

struct listing_query {
	struct park park;
	struct fs *fs;
	struct similar_node *node; /* holds a reference */
	enum purpose purpose;
	char *name;               /* FOR_LOOKUP */
	struct fuse_file_info fi; /* FOR_OPEN */
	size_t size;              /* FOR_STATE */
	struct search_caller caller;
	atomic_bool cancelled;   /* the request was interrupted */
	int64_t listed_ctime_ns; /* of the listed file, before the query */
};

/* ---- the base of a file ---- */

/* As SEED_LEAST of core/act/export/seeds.h. */
enum { BASE_LEAST = 5 };

static bool is_base(const struct listing_query *c)
{
	return c->node->kind == NODE_FILE && c->name &&
	       !strcmp(c->name, SIMILAR_BASE);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Whether a is a better base than b for a file of that size: identical, more in
 * common, nearer in size. */
static bool is_better_base(const struct search_hit *a,
			   const struct search_hit *b, uint64_t size)
{
	bool same = a->verdict.score == 100;

	if (same != (b->verdict.score == 100))
		return same;
	if (a->verdict.bytes != b->verdict.bytes)
		return a->verdict.bytes > b->verdict.bytes;
	return distance(a->identity.size, size) <
	       distance(b->identity.size, size);
}

/* A listing of nothing but the link to the best of the hits. */
static int list_base(const struct listing_query *c,
		     const struct search_hits *hits, struct listing **out)
{
	struct search_hits best = { .hits = hits->hits,
				    .count = !!hits->count };
	struct listing *l;
	char *name;
	size_t i;
	int err;

	for (i = 1; i < hits->count; i++)
		if (is_better_base(&hits->hits[i], best.hits,
				   hits->file.identity.size))
			best.hits = &hits->hits[i];
	err = listing_from_hits(&best, c->node->depth, &l);
	if (err)
		return err;
	name = strdup(SIMILAR_BASE);
	if (l->count && name) {
		free(l->items[0].name);
		l->items[0].name = name;
		name = NULL;
	} else if (!name) {
		listing_unref(l);
		return -ENOMEM;
	}
	free(name);
	*out = l;
	return 0;
}

static void query_free(struct listing_query *c)
{
	node_unref(c->fs, c->node, 1);
	credentials_release(&c->caller.credentials);
	free(c->name);
	free(c);
}

/* Replies from the listing, which is borrowed. */
static void query_reply(struct listing_query *c, struct listing *l)
{
	fuse_req_t req = c->park.req;

	switch (c->purpose) {
	case FOR_LOOKUP:
		similar_reply_item(req, c->fs, c->node, l, c->name);
		break;
	case FOR_OPEN:
		reply_opened(req, c->fs, l, &c->fi);
		break;
	case FOR_STATE:
		similar_reply_state(req, l, c->size);
		break;
	}
}

/* Takes l; NULL with an error. */
static void query_end(struct listing_query *c, int err, struct listing *l)
{
	assert(err || l);
	if (l) {
		l->credentials = c->caller.credentials;
		c->caller.credentials = (struct credentials){ 0 };
		l->listed_ctime_ns = c->listed_ctime_ns;
		l->made_ns = clock_now_ns();
		if (node_has_listing(c->node) && !is_base(c))
			node_keep_listing(c->fs, c->node, l);
	}
	if (park_claim(&c->park)) {
		if (err)
			reply_error(c->park.req, err);
		else
			query_reply(c, l);
	}
	listing_unref(l);
	query_free(c);
}

static void on_hits(void *arg, int result, struct search_hits *hits)
{
	struct listing_query *c = arg;
	struct listing *l = NULL;

	if (!result)
		result = is_base(c) ?
				 list_base(c, hits, &l) :
				 listing_from_hits(hits, c->node->depth, &l);
	if (!result)
		result = set_state(c->fs, hits, l);
	search_hits_release(hits);
	if (result) {
		listing_unref(l);
		l = NULL;
	}
	query_end(c, result, l);
}

static void on_entries(void *arg, int result, struct search_entries *entries)
{
	struct listing_query *c = arg;
	struct listing *l = NULL;

	if (!result)
		result = listing_from_entries(entries, &l);
	search_entries_release(entries);
	query_end(c, result, l);
}

static void on_listing(void *arg, int result, struct listing *l)
{
	query_end(arg, result, l);
}

/* Also ends a search for groups, which may take long. */
static void give_up(fuse_req_t req, void *cancelled)
{
	atomic_store((atomic_bool *)cancelled, true);
	reply_error(req, -EINTR);
}

int similar_caller(struct fs *fs, fuse_req_t req, struct search_caller *out)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	*out = (struct search_caller){
		.trusted = cred_owns_mount(fs, req),
		.credentials = { .uid = ctx->uid, .gid = ctx->gid },
	};
	return out->trusted ? 0 : cred_of(req, &out->credentials);
}

static int ask_relation(struct listing_query *c, int fd,
			enum index_relation relation)
{
	const struct search_file_query q = {
		.fd = fd,
		.relation = is_base(c) ? INDEX_ALL : relation,
		.threshold = is_base(c) ? BASE_LEAST : 0,
		.timeout_ms = c->fs->options.wait_s * 1000,
		.ticket = &c->park.ticket,
	};

	return engine_similar(c->fs->engine, &q, &c->caller, on_hits, c);
}

static int ask_engine(struct listing_query *c, int fd)
{
	const struct search_caller *caller = &c->caller;
	struct engine *e = c->fs->engine;

	switch (c->node->kind) {
	case NODE_FILE:
		return ask_relation(c, fd, INDEX_ALIKE);
	case NODE_WITHIN:
		return ask_relation(c, fd, INDEX_WITHIN);
	case NODE_CONTAINS:
		return ask_relation(c, fd, INDEX_CONTAINS);
	case NODE_ALL:
		return ask_relation(c, fd, INDEX_ALL);
	case NODE_SHARES:
		return ask_relation(c, fd, INDEX_SHARES);
	case NODE_DIRECTORIES:
		return engine_directories(e, fd, caller, on_hits, c);
	case NODE_GROUPS:
	case NODE_GROUP:
		return groups_view_make(c->fs, c->node, caller, &c->cancelled,
					on_listing, c);
	case NODE_ELSEWHERE:
		return elsewhere_make(c->fs, c->node, fd, caller, on_listing,
				      c);
	case NODE_DIRECTORY:
		return engine_browse(e, fd, caller, on_entries, c);
	default:
		return -ENOTDIR;
	}
}

static int query_engine(struct listing_query *c)
{
	struct path_fd path;
	int err = inode_path_fd(c->fs, c->node->real, &path);

	if (err)
		return err;
	err = ask_engine(c, path.fd);
	path_fd_close(&path);
	return err;
}

static struct listing_query *query_new(fuse_req_t req, struct similar_node *n,
				       enum purpose purpose, const char *name)
{
	struct listing_query *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->listed_ctime_ns = node_ctime(fs_of(req), n);
	c->name = name ? strdup(name) : NULL;
	if ((name && !c->name) || similar_caller(fs_of(req), req, &c->caller)) {
		free(c->name);
		free(c);
		return NULL;
	}
	c->fs = fs_of(req);
	c->park.engine = c->fs->engine;
	c->park.give_up = give_up;
	c->park.rest = &c->cancelled;
	c->purpose = purpose;
	c->node = n;
	node_ref(c->fs, n);
	return c;
}

/* Takes c; NULL: there was no memory. */
static void query_start(fuse_req_t req, struct listing_query *c)
{
	struct park *p = c ? &c->park : NULL;
	int err;

	if (!c) {
		reply_error(req, -ENOMEM);
		return;
	}
	if (!park_begin(p, req)) {
		query_free(c);
		return;
	}
	err = query_engine(c);
	if (err)
		query_end(c, err, NULL);
}

void listing_query_item(fuse_req_t req, struct similar_node *n,
			const char *name)
{
	query_start(req, query_new(req, n, FOR_LOOKUP, name));
}

/* Replies with the kept listing of groups if it is young; false: it is not.
 * Only for the owner of the mount: for other callers each name is checked
 * now. */
static bool reply_kept_groups(fuse_req_t req, struct similar_node *n,
			      const struct fuse_file_info *fi)
{
	struct fuse_file_info opened = *fi;
	struct listing *l;
	bool is_young;

	if (n->kind != NODE_GROUPS || !cred_owns_mount(fs_of(req), req))
		return false;
	l = node_kept_listing(fs_of(req), n, req);
	is_young = l && groups_view_is_young(l);
	if (is_young)
		reply_opened(req, fs_of(req), l, &opened);
	listing_unref(l);
	return is_young;
}

void listing_query_opened(fuse_req_t req, struct similar_node *n,
			  const struct fuse_file_info *fi)
{
	struct listing_query *c;

	if (reply_kept_groups(req, n, fi))
		return;
	c = query_new(req, n, FOR_OPEN, NULL);
	if (c)
		c->fi = *fi;
	query_start(req, c);
}

void listing_query_state(fuse_req_t req, struct similar_node *n, size_t size)
{
	struct listing_query *c = query_new(req, n, FOR_STATE, NULL);

	if (c)
		c->size = size;
	query_start(req, c);
}
