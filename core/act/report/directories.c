/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/act/report/report_impl.h"

/* The tree of the directories that the report names. */

int report_directories_init(struct report_directories *d)
{
	*d = (struct report_directories){ 0 };
	d->numbers = json_object();
	d->all = array_with_room(NULL, 0, sizeof(*d->all));
	if (!d->numbers || !d->all || buf_append(&d->names, "", 1)) {
		report_directories_release(d);
		return -ENOMEM;
	}
	d->all[d->count++] = (struct report_directory){ 0 };
	return 0;
}

void report_directories_release(struct report_directories *d)
{
	buf_release(&d->names);
	buf_release(&d->key);
	json_decref(d->numbers);
	free(d->all);
	*d = (struct report_directories){ 0 };
}

/* ---- by name ---- */

static int add(struct report_directories *d, uint32_t parent, const char *name,
	       size_t len)
{
	struct report_directory *all =
		array_with_room(d->all, d->count, sizeof(*all));
	size_t at = d->names.len;

	if (!all)
		return -ENOMEM;
	d->all = all;
	if (buf_reserve(&d->names, len + 1) ||
	    json_object_set_new_nocheck(d->numbers, d->key.data,
					json_integer((json_int_t)d->count)))
		return -ENOMEM;
	(void)buf_append(&d->names, name, len);
	(void)buf_append(&d->names, "", 1);
	all[d->count++] =
		(struct report_directory){ .parent = parent, .name = at };
	return 0;
}

/* The directory with that name, of len bytes, in parent; adds it. */
static int find_child(struct report_directories *d, uint32_t parent,
		      const char *name, size_t len, uint32_t *out)
{
	const json_t *number;
	int err;

	buf_clear(&d->key);
	err = buf_append_format(&d->key, "%u/", parent);
	if (!err)
		err = buf_append(&d->key, name, len);
	if (err)
		return err;
	number = json_object_get(d->numbers, d->key.data);
	if (!number)
		err = add(d, parent, name, len);
	if (!err)
		*out = number ? (uint32_t)json_integer_value(number) :
				(uint32_t)(d->count - 1);
	return err;
}

int report_directories_find(struct report_directories *d, const char *path,
			    size_t len, uint32_t *out)
{
	const char *end = path + len, *stop;
	uint32_t number = 0;
	int err = 0;

	for (; !err && path < end; path = stop + 1) {
		stop = memchr(path, '/', (size_t)(end - path));
		if (!stop)
			stop = end;
		if (stop > path)
			err = find_child(d, number, path, (size_t)(stop - path),
					 &number);
	}
	if (!err)
		*out = number;
	return err;
}

/* ---- of all ---- */

void report_directories_sum(struct report_directories *d)
{
	size_t i;

	for (i = 0; i < d->count; i++)
		d->all[i].saved = d->all[i].own;
	for (i = d->count; i-- > 1;)
		d->all[d->all[i].parent].saved += d->all[i].saved;
}

/* Not by recursion: a path may have very many parts. */
int report_directories_path(const struct report_directories *d, uint32_t number,
			    struct buf *out)
{
	size_t start = out->len, len = 0, at;
	const char *name;
	uint32_t i;

	for (i = number; i; i = d->all[i].parent)
		len += strlen(d->names.data + d->all[i].name) + 1;
	if (buf_reserve(out, len + 1))
		return -ENOMEM;
	for (at = start + len; number; number = d->all[number].parent) {
		name = d->names.data + d->all[number].name;
		at -= strlen(name) + 1;
		out->data[at] = '/';
		memcpy(out->data + at + 1, name, strlen(name));
	}
	/* Without the first slash. */
	memmove(out->data + start, out->data + start + 1, len ? len - 1 : 0);
	out->len = start + (len ? len - 1 : 0);
	out->data[out->len] = '\0';
	return 0;
}
/* ---- pairs ---- */

/*
 * Pairs of directories that are alike.
 *
 * Ten copies of a tree make 45 pairs, and as many again in each directory
 * below.  The report keeps those that tell something new: each directory that
 * is in a pair stands for the first of that pair from then on, in paths of
 * directories below it, too.  A pair of which both sides stand for one
 * directory is known, and so is a pair of a directory and one within it.
 */

/* The directory that a path stands for. */
static int find_alike(struct report_directories *d, const char *path,
		      uint32_t *out)
{
	const char *stop;
	uint32_t number = 0;
	int err = 0;

	for (; !err && *path; path = *stop ? stop + 1 : stop) {
		stop = strchrnul(path, '/');
		err = find_child(d, number, path, (size_t)(stop - path),
				 &number);
		while (!err && d->all[number].alike)
			number = d->all[number].alike;
	}
	if (!err)
		*out = number;
	return err;
}

/* Parents have smaller numbers than their children. */
static bool is_within(const struct report_directories *d, uint32_t number,
		      uint32_t outer)
{
	while (number > outer)
		number = d->all[number].parent;
	return number == outer;
}

static void add_directory(struct report *r, enum report_columns column,
			  const char *path)
{
	uint32_t place = 0;

	if (!r->err)
		r->err = report_directories_find(&r->directories, path,
						 strlen(path), &place);
	report_add(r, column, place);
}

int report_add_pair(struct report *r, int score, const char *a, const char *b)
{
	struct report_directories *d = &r->directories;
	uint32_t first, second;
	int err = find_alike(d, a, &first);

	if (!err)
		err = find_alike(d, b, &second);
	if (err || is_within(d, first, second) || is_within(d, second, first))
		return err;
	d->all[second].alike = first;
	report_add(r, REPORT_PAIR_SCORES, (uint64_t)score);
	add_directory(r, REPORT_PAIR_AS, a);
	add_directory(r, REPORT_PAIR_BS, b);
	return r->err;
}

/* ---- the directories to ask about ---- */

struct report_ranked {
	uint64_t saved;
	uint32_t number;
};

static int by_saved(const void *a, const void *b)
{
	const struct report_ranked *x = a, *y = b;

	if (x->saved != y->saved)
		return x->saved < y->saved ? 1 : -1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int rank(struct report *r)
{
	struct report_directories *d = &r->directories;
	uint64_t least;
	size_t i;

	report_directories_sum(d);
	least = d->all[0].saved / 1000;
	r->ranked = calloc(d->count, sizeof(*r->ranked));
	if (!r->ranked)
		return -ENOMEM;
	for (i = 1; i < d->count; i++)
		if (d->all[i].saved > least)
			r->ranked[r->ranked_count++] =
				(struct report_ranked){ d->all[i].saved,
							(uint32_t)i };
	qsort(r->ranked, r->ranked_count, sizeof(*r->ranked), by_saved);
	return 0;
}

int report_next_directory(struct report *r, struct buf *path)
{
	uint32_t number, first;
	int err = r->ranked ? 0 : rank(r);

	while (!err && r->ranked_at < r->ranked_count) {
		number = r->ranked[r->ranked_at++].number;
		buf_clear(path);
		err = report_directories_path(&r->directories, number, path);
		if (!err)
			err = find_alike(&r->directories, path->data, &first);
		if (!err && first == number)
			return 1;
	}
	return err;
}
