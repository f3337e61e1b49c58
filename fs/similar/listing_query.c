/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/similar_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/judge.h"
#include "fs/fs.h"
#include "fs/inode/cred.h"
#include "fs/inode/descriptor.h"
#include "fs/inode/inode.h"
#include "fs/ops/xattr.h"
#include "fs/similar/similar.h"

/* ---- replies ---- */

void similar_reply_node(fuse_req_t req, struct fs *fs, struct similar_node *n,
			const struct stat *real)
{
	struct fuse_entry_param e = {
		.ino = node_id(n),
		.generation = 1,
	};
	struct stat st;
	int err = real ? 0 : inode_stat(fs, n->real, &st);

	if (err) {
		node_unref(fs, n, 1);
		reply_error(req, err);
		return;
	}
	node_fill_stat(n, real ? real : &st, &e.attr);
	if (fuse_reply_entry(req, &e) == -ENOENT)
		node_unref(fs, n, 1);
}

/* Replies with what is wanted of the listing, which is borrowed. */
static void reply_wanted(fuse_req_t req, struct fs *fs, struct similar_node *n,
			 const struct listing_want *want, struct listing *l)
{
	const struct listing_item *item;
	struct similar_node *found;
	struct opened *o;
	int err = -ENOENT;

	if (want->fi) {
		o = calloc(1, sizeof(*o));
		if (!o) {
			reply_error(req, -ENOMEM);
			return;
		}
		o->listing = listing_ref(l);
		opened_reply(req, fs, o, want->fi);
		return;
	}
	if (!want->name) {
		reply_xattr(req, l->state, strlen(l->state), want->size);
		return;
	}
	item = listing_find(l, want->name);
	if (item)
		err = node_get(
			fs, n, want->name,
			&(struct node_key){
				.view = item->target ? NULL : n->view->entry,
				.real = n->real,
				.target = item->target,
			},
			&found);
	if (err)
		reply_error(req, err);
	else
		similar_reply_node(req, fs, found, NULL);
}

/* ---- kept listings ---- */

/* Whether the listed file and the item's file have not changed on disk. */
static bool item_holds(fuse_req_t req, struct fs *fs, struct similar_node *n,
		       const struct listing *l, const struct listing_item *item)
{
	const struct source *source =
		engine_searcher(fs->engine)->context.source;
	bool holds;

	if (item && n->view->flags & VIEW_UNCHECKED)
		return true;
	if (!item ||
	    (!(n->view->flags & VIEW_OF_GROUPS) &&
	     node_ctime(fs, n) != l->listed_ctime_ns) ||
	    cred_assume(fs, req))
		return false;
	/* That of a directory is not known. */
	holds = search_hit_holds(source, item->path, &item->key,
				 item->identity.ctime_ns ? &item->identity :
							   NULL);
	cred_restore(fs, req);
	return holds;
}

/* Whether the state is final, no file was closed or found since, and the listed
 * file has not changed. */
static bool state_holds(struct fs *fs, const struct similar_node *n,
			const struct listing *l)
{
	struct file_digests answer;
	bool fresh, only_pending;

	if (l->closings != engine_closings(fs->engine) ||
	    search_is_incomplete(&engine_searcher(fs->engine)->context,
				 &only_pending))
		return false;
	if (l->answered && n->view->flags & VIEW_OF_GROUPS)
		return true;
	if (!l->answered || node_ctime(fs, n) != l->listed_ctime_ns)
		return false;
	if (!S_ISREG(n->real->type))
		return true;
	if (xattr_ask(fs, n->real, 0, &answer))
		return false;
	fresh = answer.state == DIGESTS_FRESH;
	file_digests_release(&answer);
	return fresh;
}

/* Whether the kept listing will do.  A directory that is opened is listed again,
 * except that the owner of the mount, who sees all, may get the same groups
 * again while no file is closed. */
static bool kept_holds(fuse_req_t req, struct fs *fs, struct similar_node *n,
		       const struct listing_want *want, const struct listing *l)
{
	if (want->fi)
		return l->groups && cred_owns_mount(fs, req) &&
		       clock_now_ns() - l->made_ns < l->lifetime_ns &&
		       l->closings == engine_closings(fs->engine);
	return want->name ?
		       item_holds(req, fs, n, l, listing_find(l, want->name)) :
		       state_holds(fs, n, l);
}

/* ---- queries ---- */

static void query_free(struct listing_query *q)
{
	node_unref(q->fs, q->node, 1);
	credentials_release(&q->caller.credentials);
	free((char *)q->want.name);
	free(q);
}

/* ---- the base of a file ---- */

static bool is_base(const struct listing_query *q)
{
	return q->node->view->relation == INDEX_ALIKE &&
	       q->node->view->list == list_relation && q->want.name &&
	       !strcmp(q->want.name, SIMILAR_BASE);
}

int listing_set_state(struct listing *l, const struct file_digests *file,
		      bool incomplete, bool cut, size_t most)
{
	bool is_fresh = !file || file->state == DIGESTS_FRESH;
	struct buf text = { 0 };
	int err;

	if (!is_fresh)
		err = xattr_format_state(file, &text);
	else if (!incomplete && cut && most != SIZE_MAX)
		err = buf_append_format(&text, "cut:%zu", most);
	else
		err = buf_append_text(&text, incomplete ? "incomplete" :
					     cut        ? "cut" :
							  "complete");
	if (err)
		buf_release(&text);
	else
		l->state = buf_take(&text);
	l->answered = is_fresh && !incomplete;
	return err;
}

int listing_of_hits(struct listing_query *q, struct search_hits *hits,
		    const struct file_digests *file, size_t most,
		    struct listing **out)
{
	size_t i;
	int err = listing_new(out);

	for (i = 0; !err && i < hits->count; i++)
		err = listing_add_hit(*out, &hits->hits[i], q->node->depth,
				      is_base(q) ? SIMILAR_BASE : NULL);
	if (!err)
		err = listing_finish(*out);
	if (!err)
		err = listing_set_state(*out, file, hits->incomplete, hits->cut,
					most);
	search_hits_release(hits);
	return err;
}

int list_relation(struct listing_query *q, int fd, struct listing **out)
{
	const struct search_file_query query = {
		.fd = fd,
		.ignore = true,
		.base = is_base(q),
		.rules.relation = q->node->view->relation,
		.timeout_ms = q->fs->options.wait_s * 1000,
		.ticket = &q->park.ticket,
	};
	struct search_hits hits;
	int err = search_file(q->job, &query, &hits);

	return err ? err :
		     listing_of_hits(q, &hits, &hits.file, q->fs->options.limit,
				     out);
}

int list_directories(struct listing_query *q, int fd, struct listing **out)
{
	struct search_hits hits;
	int err = search_directories(q->job, fd, NULL, &hits);

	return err ? err :
		     listing_of_hits(q, &hits, &hits.file, q->fs->options.limit,
				     out);
}

int list_browsed(struct listing_query *q, int fd, struct listing **out)
{
	struct search_paths names = { 0 };
	size_t i;
	int err = search_browse(q->job, fd, &names) ?: listing_new(out);

	for (i = 0; i < names.count && !err; i++)
		err = listing_add(*out, strdup(names.paths[i]), NULL);
	search_paths_release(&names);
	return err ? err : listing_finish(*out);
}

static struct listing_query *query_new(fuse_req_t req, struct fs *fs,
				       struct similar_node *n,
				       const struct listing_want *want)
{
	struct listing_query *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->listed_ctime_ns = node_ctime(fs, n);
	q->closings = engine_closings(fs->engine);
	q->want.name = want->name ? strdup(want->name) : NULL;
	if ((want->name && !q->want.name) ||
	    similar_caller(fs, req, &q->caller)) {
		free((char *)q->want.name);
		free(q);
		return NULL;
	}
	if (want->fi) {
		q->fi = *want->fi;
		q->want.fi = &q->fi;
	}
	q->want.size = want->size;
	q->fs = fs;
	q->park.engine = fs->engine;
	q->node = n;
	node_ref(fs, n);
	return q;
}

/* Keeps the listing with its node. */
static void query_keep(struct listing_query *q, struct listing *l)
{
	l->credentials = q->caller.credentials;
	q->caller.credentials = (struct credentials){ 0 };
	l->listed_ctime_ns = q->listed_ctime_ns;
	l->closings = q->closings;
	l->made_ns = clock_now_ns();
	if (!(q->node->view->flags & VIEW_MIRRORS) && !is_base(q))
		node_keep_listing(q->fs, q->node, l);
}

static void query_run(void *query, struct search_job *job)
{
	struct listing_query *q = query;
	struct listing *l = NULL;
	int fd = inode_fd(q->fs, q->node->real), err;

	q->job = job;
	err = fd < 0 ? fd : q->node->view->list(q, fd, &l);
	inode_fd_close(q->node->real, fd);
	if (!err)
		err = search_hold(
			&l->held, q->caller.credentials.uid,
			sizeof(*l) + l->bytes -
				(l->groups ? l->groups->held.bytes : 0));
	if (!err)
		query_keep(q, l);
	if (park_claim(&q->park)) {
		if (err)
			reply_error(q->park.req, err);
		else
			reply_wanted(q->park.req, q->fs, q->node, &q->want, l);
	}
	listing_unref(l);
	query_free(q);
}

static void query_start(fuse_req_t req, struct fs *fs, struct similar_node *n,
			const struct listing_want *want)
{
	struct listing_query *q = query_new(req, fs, n, want);
	int err;

	if (!q) {
		reply_error(req, -ENOMEM);
		return;
	}
	if (!park_begin(&q->park, req)) {
		query_free(q);
		return;
	}
	err = search_start_job(engine_searcher(fs->engine), &q->caller,
			       query_run, q);
	if (!err)
		return;
	if (park_claim(&q->park))
		reply_error(req, err);
	query_free(q);
}

void listing_answer(fuse_req_t req, struct similar_node *n,
		    const struct listing_want *want)
{
	struct fs *fs = fs_of(req);
	struct listing *l = NULL;

	if (!want->fi || n->view->flags & VIEW_OF_GROUPS)
		l = node_kept_listing(fs, n, req, NULL);
	if (l && kept_holds(req, fs, n, want, l))
		reply_wanted(req, fs, n, want, l);
	else
		query_start(req, fs, n, want);
	listing_unref(l);
}
