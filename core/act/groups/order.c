/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/act/groups/groups.h"
#include "core/act/groups/version.h"

/*
 * Which member of a group is the newest.  One criterion is taken for the whole
 * group, so that the order is one of all members: comparing two by their dates,
 * and one of them with a third by their names, can go in a circle.
 */

struct aged {
	struct found_member member;
	struct version version; /* if the names are the criterion */
	int64_t mtime_ns;
};

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* Copying makes the time of change later, never earlier. */
static int64_t first_change(const struct found_member *m)
{
	int64_t first = m->files->mtime_ns;
	size_t i;

	for (i = 1; i < m->file_count; i++)
		if (m->files[i].mtime_ns < first)
			first = m->files[i].mtime_ns;
	return first;
}

static bool are_versions(const struct version *a, const struct version *b)
{
	return !strcmp(a->stem.data, b->stem.data) && !a->date == !b->date;
}

/* The newest version among all names of a member.  1: not all are names of
 * versions of one thing, the first of them.  */
static int read_names(const struct found_member *m, bool whole,
		      struct version *newest)
{
	struct version v;
	const char *name, *base;
	size_t i, k;
	int err = 0;

	for (i = 0; i < m->file_count && !err; i++)
		for (k = 0; !err && (name = found_file_name(&m->files[i], k));
		     k++) {
			base = strrchr(name, '/');
			err = version_read(base && !whole ? base + 1 : name,
					   &v);
			if (!err && newest->stem.data)
				err = !are_versions(newest, &v);
			if (!err && (!newest->stem.data ||
				     version_compare(newest, &v) < 0)) {
				struct version older = *newest;

				*newest = v;
				v = older;
			}
			version_release(&v);
		}
	return err;
}

/* Numbers that belong to the words, as in utf8 and utf16, are no versions; in
 * thesis, thesis2 they are. */
static bool tells_age(const struct aged *all, size_t count)
{
	bool differs = false, has_part = false, has_plain = false;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct version *v = &all[i].version;

		differs |= version_compare(v, &all[0].version) != 0;
		has_part |= v->is_part;
		has_plain |= v->marks.len == 1;
	}
	return differs && (has_plain || !has_part);
}

static void release_versions(struct aged *all, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		version_release(&all[i].version);
		all[i].version = (struct version){ 0 };
	}
}

/* 1: the names tell it, 0: they do not; whole: together with the directories.
 * -ENOMEM. */
static int take_names(struct aged *all, size_t count, bool whole)
{
	size_t i;
	int err = 0;

	release_versions(all, count);
	for (i = 0; i < count && !err; i++) {
		err = read_names(&all[i].member, whole, &all[i].version);
		if (!err && !are_versions(&all[0].version, &all[i].version))
			err = 1;
	}
	return err ? err < 0 ? err : 0 : tells_age(all, count);
}

static bool have_document_dates(const struct aged *all, size_t count)
{
	bool differs = false;
	size_t i;

	for (i = 0; i < count; i++) {
		if (!all[i].member.document_date)
			return false;
		differs |= all[i].member.document_date !=
			   all[0].member.document_date;
	}
	return differs;
}

/* The newest is the first. */
static int by_age(const void *a, const void *b, void *order)
{
	const struct aged *x = a, *y = b;
	int result = 0;

	if (*(enum found_order *)order == FOUND_BY_DOCUMENT_DATE)
		result = compare_numbers(y->member.document_date,
					 x->member.document_date);
	else if (*(enum found_order *)order == FOUND_BY_NAME)
		result = version_compare(&y->version, &x->version);
	if (!result)
		result = compare_numbers(y->mtime_ns, x->mtime_ns);
	return result ? result :
			strcmp(x->member.files->path, y->member.files->path);
}

int found_group_order(struct found_group *group, enum found_order *out)
{
	const size_t count = group->count;
	struct aged *all = calloc(count + 1, sizeof(*all));
	bool has_times = false;
	size_t i;
	int named = 0;

	if (!all)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		all[i].member = group->members[i];
		all[i].mtime_ns = first_change(&all[i].member);
		has_times |= all[i].mtime_ns != all[0].mtime_ns;
	}
	*out = has_times ? FOUND_BY_MTIME : FOUND_BY_NOTHING;
	if (have_document_dates(all, count))
		*out = FOUND_BY_DOCUMENT_DATE;
	else if ((named = take_names(all, count, false)) == 1 ||
		 (!named && (named = take_names(all, count, true)) == 1))
		*out = FOUND_BY_NAME;
	if (*out != FOUND_BY_NOTHING && named >= 0)
		qsort_r(all, count, sizeof(*all), by_age, out);
	for (i = 0; i < count; i++)
		group->members[i] = all[i].member;
	release_versions(all, count);
	free(all);
	return named < 0 ? named : 0;
}
