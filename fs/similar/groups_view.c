/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/buf.h"
#include "core/base/filter.h"
#include "core/base/text.h"
#include "fs/fs.h"
#include "fs/similar/similar_impl.h"

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

/* ---- the files of one group ---- */

/* Takes the paths; sets cut of all. */
static int add_links(struct search_hits *all, struct search_hits *hits)
{
	size_t i;

	all->cut = hits->count > GROUP_LINKS_MAX - all->count;
	for (i = 0; i < hits->count && all->count < GROUP_LINKS_MAX; i++) {
		struct search_hit *more =
			array_with_room(all->hits, all->count, sizeof(*more));

		if (!more)
			return -ENOMEM;
		all->hits = more;
		more[all->count++] = hits->hits[i];
		hits->hits[i].path = NULL;
	}
	return 0;
}

/* The next files; -ECANCELED also if the request was interrupted. */
static int find_files(struct listing_query *q, struct file_groups *groups,
		      struct search_group_range *range, struct search_hits *out)
{
	if (atomic_load(&q->park.ticket.given_up))
		return -ECANCELED;
	return search_group_files(q->job, groups, range, out);
}

/* The files of the group that the node is named after; the name begins with its
 * rank in the listing of the groups. */
static int list_group(struct listing_query *q, const struct listing *groups,
		      struct listing **out)
{
	const char *name = q->node->name;
	unsigned long rank = strtoul(name, NULL, 10);
	struct search_group_range range = {
		.group = (uint32_t)rank - 1,
		.last = (uint32_t)rank - 1,
	};
	struct search_hits all = { 0 }, hits;
	int err = 0;

	if (!listing_find(groups, name) || !rank ||
	    rank > groups->groups->set->count)
		return -ENOENT;
	while (!err && !range.end && !all.cut) {
		err = find_files(q, groups->groups, &range, &hits);
		if (!err) {
			err = add_links(&all, &hits);
			search_hits_release(&hits);
		}
	}
	if (all.count)
		qsort(all.hits, all.count, sizeof(*all.hits), search_hit_order);
	all.incomplete = groups->groups->incomplete;
	if (!err)
		return listing_of_hits(q, &all, NULL, GROUP_LINKS_MAX, out);
	search_hits_release(&all);
	return err;
}

/* ---- the groups ---- */

/* "0001_7_12M_report.txt" */
static int add_name(struct listing *l, const struct group_set *set,
		    const struct search_hit *head)
{
	const struct content_group *group = &set->groups[head->group];
	const char *slash = strrchr(head->path, '/'),
		   *base = slash ? slash + 1 : head->path;
	char size[TEXT_SIZE_ROOM];
	struct buf b = { 0 };
	int err = buf_append_format(
		&b, "%0*u_%llu_%s_", set->count > 9999 ? 6 : 4, head->group + 1,
		(unsigned long long)group->files,
		text_format_size(
			(double)(group->saved_exact + group->saved_near),
			TEXT_UNITS_BRIEF, size));

	if (!err)
		err = buf_append(&b, base,
				 listing_cut_name(base, NAME_MAX - b.len));
	if (!err)
		return listing_add(l, buf_take(&b), NULL);
	buf_release(&b);
	return err;
}

/* A listing with a name for each group that has a head. */
static int name_groups(struct listing_query *q, struct file_groups *groups,
		       struct listing **out)
{
	struct search_group_range range = { .last = UINT32_MAX, .heads = true };
	struct search_hits heads;
	bool cut = false;
	size_t i;
	int err = listing_new(out);

	while (!err && !range.end && !cut) {
		err = find_files(q, groups, &range, &heads);
		if (err)
			break;
		cut = heads.count > GROUPS_LISTED_MAX - (*out)->count;
		for (i = 0; i < heads.count && !err &&
			    (*out)->count < GROUPS_LISTED_MAX;
		     i++)
			err = add_name(*out, groups->set, &heads.hits[i]);
		search_hits_release(&heads);
	}
	return err                          ?:
		       listing_finish(*out) ?:
		       listing_set_state(*out, NULL, groups->incomplete, cut,
					 GROUPS_LISTED_MAX);
}

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

/* Makes the listing of the groups below the directory; *out may be set on
 * failure. */
static int find_groups(struct listing_query *q,
		       const struct similar_node *directory,
		       struct listing **out)
{
	struct file_groups_query query = { .cancelled =
						   &q->park.ticket.given_up };
	struct file_groups *groups = NULL;
	int64_t began_ns = clock_now_ns(), took_ns;
	struct buf path = { 0 };
	int err = append_path(&path, directory);

	if (!err && path.len)
		err = search_paths_add(&query.within, path.data, path.len);
	query.internal =
		!err && path.len && path_is_internal(query.within.paths[0]);
	if (!err)
		err = search_groups(q->job, &query, &groups);
	if (!err)
		err = name_groups(q, groups, out);
	search_paths_release(&query.within);
	buf_release(&path);
	if (err) {
		file_groups_free(groups);
		return err;
	}
	took_ns = clock_now_ns() - began_ns;
	(*out)->groups = groups;
	(*out)->bytes += groups->held.bytes;
	/* A listing that took longer is kept for longer. */
	(*out)->lifetime_ns =
		took_ns < LIFETIME_MAX_NS / 10 ? 10 * took_ns : LIFETIME_MAX_NS;
	return 0;
}

int list_groups(struct listing_query *q, int fd, struct listing **out)
{
	bool is_group = !q->node->view->entry;
	struct similar_node *list = is_group ? q->node->parent : q->node;
	struct listing *groups = NULL;
	int err = 0;

	(void)fd;
	if (!is_group)
		return find_groups(q, list->parent, out);
	groups = node_kept_listing(q->fs, list, NULL, &q->caller.credentials);
	if (!groups || !groups->groups) {
		listing_unref(groups);
		groups = NULL;
		err = find_groups(q, list->parent, &groups);
		if (!err)
			err = credentials_copy(&q->caller.credentials,
					       &groups->credentials);
		if (!err) {
			groups->made_ns = clock_now_ns();
			node_keep_listing(q->fs, list, groups);
		}
	}
	if (!err)
		err = list_group(q, groups, out);
	listing_unref(groups);
	return err;
}
