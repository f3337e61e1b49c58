/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/act/groups/groups.h"

/* Which copy stays, and one group. */

const char *const keep_order_names[KEEP_ORDERS] = {
	[KEEP_OLDEST] = "oldest",
	[KEEP_NEWEST] = "newest",
	[KEEP_SHORTEST] = "shortest",
};

bool keep_order_parse(const char *name, enum keep_order *out)
{
	int i;

	for (i = 0; i < KEEP_ORDERS; i++)
		if (!strcmp(name, keep_order_names[i])) {
			*out = (enum keep_order)i;
			return true;
		}
	return false;
}

int keep_compare(enum keep_order order, const struct found_file *a,
		 const struct found_file *b)
{
	const char *x = a->names[0], *y = b->names[0];
	int result = a->internal - b->internal;

	if (!result)
		result = b->keep - a->keep;

	if (!result && order == KEEP_OLDEST)
		result = compare_numbers(a->mtime_ns, b->mtime_ns);
	if (!result && order == KEEP_NEWEST)
		result = compare_numbers(b->mtime_ns, a->mtime_ns);
	if (!result)
		result =
			compare_numbers((int64_t)strlen(x), (int64_t)strlen(y));
	return result ? result : strcmp(x, y);
}

/* ---- one group ---- */

void found_file_release(struct found_file *f)
{
	while (f->name_count)
		free((char *)f->names[--f->name_count]);
	free(f->names);
}

void found_member_release(struct found_member *m)
{
	while (m->file_count)
		found_file_release(&m->files[--m->file_count]);
	free(m->files);
	json_decref(m->digests);
	*m = (struct found_member){ 0 };
}

void found_group_release(struct found_group *group)
{
	while (group->count)
		found_member_release(&group->members[--group->count]);
	free(group->members);
	*group = (struct found_group){ 0 };
}

int found_member_add(struct found_member *m, struct found_file *file)
{
	struct found_file *files =
		array_with_room(m->files, m->file_count, sizeof(*files));

	if (!files) {
		found_file_release(file);
		return -ENOMEM;
	}
	m->files = files;
	files[m->file_count++] = *file;
	return 0;
}

int found_group_add(struct found_group *group, struct found_member *member)
{
	struct found_member *all =
		array_with_room(group->members, group->count, sizeof(*all));

	if (!all) {
		found_member_release(member);
		return -ENOMEM;
	}
	group->members = all;
	all[group->count++] = *member;
	*member = (struct found_member){ 0 };
	return 0;
}

/* ---- order ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_path(const void *a, const void *b)
{
	const struct found_file *x = a, *y = b;

	return strcmp(x->names[0], y->names[0]);
}

static int by_score(const void *a, const void *b)
{
	const struct found_member *x = a, *y = b;

	if (x->score != y->score)
		return y->score - x->score;
	return by_path(x->files, y->files);
}

/* ---- paths ---- */

/* The innermost of the directories that a path is below, or NULL. */
static const char *innermost(const struct name_list *directories,
			     const char *path)
{
	const char *best = NULL, *name;
	size_t i;

	for (i = 0; i < directories->count; i++) {
		name = directories->names[i];
		if ((!*name || path_below(path, name)) &&
		    (!best || strlen(name) > strlen(best)))
			best = name;
	}
	return best;
}

bool name_list_is_internal(const struct name_list *asked, const char *path)
{
	const char *of = innermost(asked, path);

	return path_is_internal(of && path_is_internal(of) ? path + strlen(of) :
							     path);
}

static bool spans_two(const struct found_group *group,
		      const struct name_list *directories)
{
	const char *first = NULL, *at;
	const struct found_member *m;
	size_t i, k;

	for (m = group->members; m < group->members + group->count; m++)
		for (i = 0; i < m->file_count; i++)
			for (k = 0; k < m->files[i].name_count; k++) {
				at = innermost(directories,
					       m->files[i].names[k]);
				if (at && first && at != first)
					return true;
				first = at ? at : first;
			}
	return !directories->count;
}

/* ---- the end of a group ---- */

/* Sorts the files of a member, and marks what goes: all but those with keep and
 * the best one. */
static void finish_member(struct found_group *group, struct found_member *m,
			  const struct groups_wish *wish)
{
	struct found_file *f, *end = m->files + m->file_count, *best = m->files;
	size_t i;

	for (f = m->files; f < end; f++) {
		qsort(f->names, f->name_count, sizeof(*f->names), by_name);
		f->internal = true;
		for (i = 0; i < f->name_count; i++) {
			f->internal &= path_is_internal(f->names[i]);
			f->keep |= innermost(&wish->keep, f->names[i]) != NULL;
		}
	}
	qsort(m->files, m->file_count, sizeof(*m->files), by_path);
	for (f = m->files; f < end; f++)
		if (keep_compare(wish->order, f, best) < 0)
			best = f;
	m->stays = (size_t)(best - m->files);
	for (f = m->files; f < end; f++) {
		f->goes = f != best && !f->keep && f->nlink <= f->name_count;
		group->saved_exact += f->goes ? f->disk : 0;
	}
	group->files += m->file_count;
}

bool found_group_finish(struct found_group *group,
			const struct groups_wish *wish)
{
	size_t i;

	for (i = 0; i < group->count; i++)
		finish_member(group, &group->members[i], wish);
	if (!group->count || (group->files < 2 && !wish->every))
		return false;
	group->members[0].score = 100;
	qsort(group->members, group->count, sizeof(*group->members), by_score);
	for (i = 1; i < group->count; i++)
		group->saved_near += group->members[i].files->disk;
	return spans_two(group, &wish->across);
}
