/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/groups_view.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/engine/engine.h"
#include "fs/fs.h"
#include "fs/similar/listing.h"
#include "fs/similar/node.h"

#define LIFETIME_MAX_NS INT64_C(60000000000)

/* A listing that is being made. */
struct groups_view {
	struct fs *fs;
	struct similar_node *node;   /* borrowed until done() */
	struct similar_node *list;   /* the NODE_GROUPS: node or its parent */
	struct search_caller caller; /* owned */
	struct file_groups_watch watch;
	int64_t began_ns;
	struct file_groups *groups; /* a reference */
	struct search_group_range range;
	struct search_entries names; /* of groups so far */
	struct search_hits hits;     /* of the group so far */
	bool cut;
	void (*done)(void *arg, int err, struct listing *l);
	void *arg;
};

static void view_free(struct groups_view *v)
{
	credentials_release(&v->caller.credentials);
	file_groups_unref(v->groups);
	search_entries_release(&v->names);
	search_hits_release(&v->hits);
	free(v);
}

/* Takes l. */
static void view_end(struct groups_view *v, int err, struct listing *l)
{
	v->done(v->arg, err, l);
	view_free(v);
}

static int set_state(const struct groups_view *v, size_t most,
		     struct listing *l)
{
	struct buf text = { 0 };
	int err;

	if (v->groups->incomplete)
		err = buf_append_text(&text, "incomplete");
	else if (v->cut)
		err = buf_append_format(&text, "cut:%zu", most);
	else
		err = buf_append_text(&text, "complete");
	if (err)
		buf_release(&text);
	else
		l->state = buf_take(&text);
	l->answered = !v->groups->incomplete;
	return err;
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

static int make_links(struct groups_view *v, struct listing **out)
{
	struct listing *l;
	int err;

	if (v->hits.count)
		qsort(v->hits.hits, v->hits.count, sizeof(*v->hits.hits),
		      by_score);
	err = listing_from_hits(&v->hits, v->node->depth, &l);
	if (err)
		return err;
	err = set_state(v, GROUP_LINKS_MAX, l);
	if (err)
		listing_unref(l);
	else
		*out = l;
	return err;
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

/* The index of a group in the set, by its name in the listing. */
static int find_group(const struct listing *l, const char *name,
		      uint32_t *group_out)
{
	unsigned long place;

	if (!listing_find(l, name))
		return -ENOENT;
	place = strtoul(name, NULL, 10);
	if (!place || place > l->groups->set->count)
		return -ENOENT;
	*group_out = (uint32_t)place - 1;
	return 0;
}

static int request_group(struct groups_view *v, const struct listing *l)
{
	uint32_t group;
	int err = find_group(l, v->node->name, &group);

	if (err)
		return err;
	if (!v->groups)
		v->groups = file_groups_ref(l->groups);
	v->cut = false;
	v->range = (struct search_group_range){
		.from.group = group,
		.last = group,
	};
	return request_files(v);
}

/* ---- the groups ---- */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "0001_7_12M_report.txt" */
static char *name_group(const struct groups_view *v, uint32_t number,
			const char *head)
{
	const struct group_set *set = v->groups->set;
	const struct content_group *group = &set->groups[number];
	const char *base = base_of(head);
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

static int make_directories(struct groups_view *v, struct listing **out)
{
	struct listing *l;
	int err = listing_from_entries(&v->names, &l);

	if (err)
		return err;
	l->groups = file_groups_ref(v->groups);
	l->bytes += v->groups->set->member_count * sizeof(struct group_member) +
		    v->groups->set->count * sizeof(struct content_group);
	l->made_ns = clock_now_ns();
	/* A listing that took longer is kept for longer. */
	l->lifetime_ns = 10 * (l->made_ns - v->began_ns);
	if (l->lifetime_ns > LIFETIME_MAX_NS)
		l->lifetime_ns = LIFETIME_MAX_NS;
	err = set_state(v, GROUPS_LISTED_MAX, l);
	if (!err)
		err = credentials_copy(&v->caller.credentials, &l->credentials);
	if (err)
		listing_unref(l);
	else
		*out = l;
	return err;
}

bool groups_view_is_young(const struct listing *l)
{
	return l->groups && clock_now_ns() - l->made_ns < l->lifetime_ns;
}

/* Ends the listing of groups; if the query is for one of them, goes on with its
 * files. */
static int end_names(struct groups_view *v, struct listing **out)
{
	struct listing *l;
	int err = make_directories(v, &l);

	if (err)
		return err;
	if (v->node == v->list) {
		/* The caller sets the credentials. */
		credentials_release(&l->credentials);
		*out = l;
		return 0;
	}
	node_keep_listing(v->fs, v->list, l);
	err = request_group(v, l);
	listing_unref(l);
	return err;
}

/* ---- callbacks of the engine ---- */

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
		result = v->range.heads ? end_names(v, &l) : make_links(v, &l);
	}
	if (result || l)
		view_end(v, result, l);
}

static int request_files(struct groups_view *v)
{
	if (atomic_load(v->watch.cancelled))
		return -ECANCELED;
	return engine_group_files(v->fs->engine, v->groups, &v->range,
				  &v->caller, on_files, v);
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
		err = engine_find_groups(v->fs->engine, &query, &v->caller,
					 &v->watch);
	search_paths_release(&query.within);
	buf_release(&path);
	return err;
}

static int view_new(struct fs *fs, struct similar_node *n,
		    const struct search_caller *caller,
		    struct groups_view **out)
{
	struct groups_view *v = calloc(1, sizeof(*v));
	int err = v ? search_caller_copy(caller, &v->caller) : -ENOMEM;

	if (err) {
		free(v);
		return err;
	}
	v->fs = fs;
	v->node = n;
	v->list = n->kind == NODE_GROUPS ? n : n->parent;
	*out = v;
	return 0;
}

int groups_view_make(struct fs *fs, struct similar_node *n,
		     const struct search_caller *caller,
		     const atomic_bool *cancelled,
		     void (*done)(void *arg, int err, struct listing *l),
		     void *arg)
{
	struct listing *l = NULL;
	struct groups_view *v;
	int err = view_new(fs, n, caller, &v);

	if (err)
		return err;
	v->watch.cancelled = cancelled;
	v->watch.done = on_groups;
	v->watch.arg = v;
	v->done = done;
	v->arg = arg;
	if (n->kind == NODE_GROUP)
		l = node_kept_listing_for(fs, v->list, &caller->credentials);
	err = l && l->groups ? request_group(v, l) : find_groups(v);
	listing_unref(l);
	if (err)
		view_free(v);
	return err;
}
