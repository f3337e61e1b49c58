/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/buf.h"
#include "core/base/text.h"
#include "fs/fs.h"
#include "fs/similar/listing.h"
#include "fs/similar/listing_query.h"
#include "fs/similar/node.h"

/*
 * The view .groups of a directory.  It has a directory for each group of the
 * files below that directory, the group with most bytes to be saved first; and
 * in it a link for each file of the group.
 *
 *   .groups/0001_7_12M_report.txt/099_report-draft.txt -> ../../../docs/...
 *
 * The numbers are the rank, the number of files, and the bytes that could be
 * saved; the name is that of the head.  At most GROUPS_LISTED_MAX groups, and
 * GROUP_LINKS_MAX files of a group, are listed; the state is "cut" if there are
 * more.
 *
 * Groups are searched for when .groups is read.  For the owner of the mount the
 * listing is kept for ten times as long as the search took, a minute at most.
 * When a group is entered after its listing has expired (node_kept_listing()),
 * the groups are searched for again.
 */
enum { GROUPS_LISTED_MAX = 50000, GROUP_LINKS_MAX = 65536 };

#define LIFETIME_MAX_NS INT64_C(60000000000)

/* A listing that is being made. */
struct groups_view {
	struct listing_query *q;
	struct similar_node
		*list; /* that of the groups: q->node or its parent */
	struct file_groups_watch watch;
	int64_t began_ns;
	struct file_groups *groups; /* a reference */
	struct search_group_range range;
	struct search_entries names; /* of groups so far */
	struct search_hits hits;     /* of the group so far */
	bool cut;
};

static void view_free(struct groups_view *v)
{
	file_groups_unref(v->groups);
	search_entries_release(&v->names);
	search_hits_release(&v->hits);
	free(v);
}

static int request_files(struct groups_view *v);

/* ---- the files of one group ---- */

static int by_score(const void *a, const void *b)
{
	const struct search_hit *x = a, *y = b;

	if (x->verdict.score != y->verdict.score)
		return y->verdict.score - x->verdict.score;
	return strcmp(x->path, y->path);
}

/* Takes the paths. */
static int add_links(struct groups_view *v, struct search_hits *hits)
{
	size_t i;

	for (i = 0; i < hits->count; i++) {
		struct search_hit *all;

		v->cut = v->hits.count == GROUP_LINKS_MAX;
		if (v->cut)
			break;
		all = array_with_room(v->hits.hits, v->hits.count,
				      sizeof(*all));
		if (!all)
			return -ENOMEM;
		v->hits.hits = all;
		all[v->hits.count++] = hits->hits[i];
		hits->hits[i].path = NULL;
	}
	return 0;
}

static int end_links(struct groups_view *v, struct listing **out)
{
	if (v->hits.count)
		qsort(v->hits.hits, v->hits.count, sizeof(*v->hits.hits),
		      by_score);
	return listing_from_hits(&v->hits, v->q->node->depth, out);
}

/* Requests the files of the group that the node is named after; the name begins
 * with its rank in the listing. */
static int request_group(struct groups_view *v, const struct listing *l)
{
	const char *name = v->q->node->name;
	unsigned long rank = strtoul(name, NULL, 10);

	if (!listing_find(l, name) || !rank || rank > l->groups->set->count)
		return -ENOENT;
	if (!v->groups)
		v->groups = file_groups_ref(l->groups);
	v->cut = false;
	v->range = (struct search_group_range){
		.from.group = (uint32_t)rank - 1,
		.last = (uint32_t)rank - 1,
	};
	return request_files(v);
}

/* ---- the groups ---- */

/* "0001_7_12M_report.txt" */
static char *name_group(const struct groups_view *v, uint32_t number,
			const char *head)
{
	const struct group_set *set = v->groups->set;
	const struct content_group *group = &set->groups[number];
	const char *slash = strrchr(head, '/'),
		   *base = slash ? slash + 1 : head;
	char size[TEXT_SIZE_ROOM];
	struct buf b = { 0 };
	int err = buf_append_format(
		&b, "%0*u_%llu_%s_", set->count > 9999 ? 6 : 4, number + 1,
		(unsigned long long)group->files,
		text_format_size(
			(double)(group->saved_exact + group->saved_near),
			TEXT_UNITS_BRIEF, size));

	if (!err)
		err = buf_append(&b, base,
				 listing_cut_name(base, NAME_MAX - b.len));
	if (err)
		buf_release(&b);
	return buf_take(&b);
}

static int add_names(struct groups_view *v,
		     const struct search_group_hits *files)
{
	size_t i;

	for (i = 0; i < files->hits->count; i++) {
		struct search_entry *all;

		v->cut = v->names.count == GROUPS_LISTED_MAX;
		if (v->cut)
			break;
		all = array_with_room(v->names.entries, v->names.count,
				      sizeof(*all));
		if (!all)
			return -ENOMEM;
		v->names.entries = all;
		all += v->names.count;
		all->directory = true;
		all->name = name_group(v, files->files[i].group,
				       files->hits->hits[i].path);
		if (!all->name)
			return -ENOMEM;
		v->names.count++;
	}
	return 0;
}

/* Ends the listing of groups.  If the query is for one of them, keeps it, goes
 * on with the group's files, and leaves *out NULL. */
static int end_names(struct groups_view *v, struct listing **out)
{
	struct listing *l = NULL;
	int err = listing_from_entries(&v->names, &l);

	if (!err)
		err = listing_set_state(l, NULL, v->groups->incomplete, v->cut,
					GROUPS_LISTED_MAX);
	if (!err && v->q->node != v->list)
		err = credentials_copy(&v->q->caller.credentials,
				       &l->credentials);
	if (err) {
		listing_unref(l);
		return err;
	}
	l->groups = file_groups_ref(v->groups);
	l->bytes += v->groups->set->member_count * sizeof(struct group_member) +
		    v->groups->set->count * sizeof(struct content_group);
	l->made_ns = clock_now_ns();
	/* A listing that took longer is kept for longer. */
	l->lifetime_ns = 10 * (l->made_ns - v->began_ns);
	if (l->lifetime_ns > LIFETIME_MAX_NS)
		l->lifetime_ns = LIFETIME_MAX_NS;
	if (v->q->node == v->list) {
		*out = l;
		return 0;
	}
	node_keep_listing(v->q->fs, v->list, l);
	err = request_group(v, l);
	listing_unref(l);
	return err;
}

/* ---- the answers of the engine ---- */

/* Takes l. */
static void view_end(struct groups_view *v, int err, struct listing *l)
{
	if (l && !l->state)
		err = listing_set_state(l, NULL, v->groups->incomplete, v->cut,
					GROUP_LINKS_MAX);
	if (err) {
		listing_unref(l);
		l = NULL;
	}
	listing_query_end(v->q, err, l);
	view_free(v);
}

static void on_files(void *arg, int result,
		     const struct search_group_hits *files)
{
	struct groups_view *v = arg;
	struct listing *l = NULL;

	if (!result && v->range.heads)
		result = add_names(v, files);
	else if (!result)
		result = add_links(v, files->hits);
	if (!result && !files->end && !v->cut) {
		v->range.from = files->next;
		result = request_files(v);
	} else if (!result) {
		result = v->range.heads ? end_names(v, &l) : end_links(v, &l);
	}
	if (result || l)
		view_end(v, result, l);
}

static int request_files(struct groups_view *v)
{
	if (atomic_load(&v->q->cancelled))
		return -ECANCELED;
	return engine_group_files(v->q->fs->engine, v->groups, &v->range,
				  &v->q->caller, on_files, v);
}

static void on_groups(void *arg, int result, struct file_groups *groups)
{
	struct groups_view *v = arg;

	v->groups = groups;
	v->range = (struct search_group_range){
		.last = UINT32_MAX,
		.heads = true,
	};
	if (!result)
		result = request_files(v);
	if (result)
		view_end(v, result, NULL);
}

/* ---- starting the search ---- */

/* The path of the directory of the view; "": SOURCE. */
static int append_path(struct buf *out, const struct similar_node *directory)
{
	int err = 0;

	if (!directory->parent)
		return 0;
	err = append_path(out, directory->parent);
	if (!err && out->len)
		err = buf_append_text(out, "/");
	return err ? err : buf_append_text(out, directory->name);
}

static int find_groups(struct groups_view *v)
{
	struct file_groups_query query = { 0 };
	struct buf path = { 0 };
	int err = append_path(&path, v->list->parent);

	if (!err && path.len)
		err = search_paths_add(&query.within, path.data, path.len);
	v->began_ns = clock_now_ns();
	if (!err)
		err = engine_find_groups(v->q->fs->engine, &query,
					 &v->q->caller, &v->watch);
	search_paths_release(&query.within);
	buf_release(&path);
	return err;
}

int list_groups(struct listing_query *q, int fd)
{
	struct groups_view *v = calloc(1, sizeof(*v));
	struct listing *l = NULL;
	int err;

	(void)fd;
	if (!v)
		return -ENOMEM;
	v->q = q;
	v->list = q->node->view->entry ? q->node : q->node->parent;
	v->watch.cancelled = &q->cancelled;
	v->watch.done = on_groups;
	v->watch.arg = v;
	if (v->list != q->node)
		l = node_kept_listing_for(q->fs, v->list,
					  &q->caller.credentials);
	err = l && l->groups ? request_group(v, l) : find_groups(v);
	listing_unref(l);
	if (err)
		view_free(v);
	return err;
}
