/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/similar_impl.h"

#include <errno.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/buf.h"

struct listing *listing_ref(struct listing *l)
{
	atomic_fetch_add(&l->refs, 1);
	return l;
}

void listing_unref(struct listing *l)
{
	size_t i;

	if (!l || atomic_fetch_sub(&l->refs, 1) != 1)
		return;
	for (i = 0; i < l->count; i++) {
		free(l->items[i].name);
		free(l->items[i].target);
	}
	free(l->items);
	free(l->by_name);
	free(l->state);
	credentials_release(&l->credentials);
	file_groups_free(l->groups);
	search_held_release(&l->held);
	free(l);
}

int listing_new(struct listing **out)
{
	struct listing *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	atomic_init(&l->refs, 1);
	*out = l;
	return 0;
}

/* ---- names ---- */

size_t listing_cut_name(const char *text, size_t max)
{
	size_t len = strlen(text), at;

	if (len <= max)
		return len;
	for (at = max; at && max - at < 4; at--)
		if (((unsigned char)text[at] & 0xc0) != 0x80)
			return at;
	return max;
}

/* "name~2" */
static char *number_name(const char *name, size_t number)
{
	char tail[32], *out;
	int len = snprintf(tail, sizeof(tail), "~%zu", number);

	len = (int)listing_cut_name(name, NAME_MAX - (size_t)len);
	return asprintf(&out, "%.*s%s", len, name, tail) < 0 ? NULL : out;
}

char *listing_make_name(int score, const char *base)
{
	char *out;
	int len = (int)listing_cut_name(base, NAME_MAX - 4);

	return asprintf(&out, "%03d_%.*s", score, len, base) < 0 ? NULL : out;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static char *make_target(const char *path, unsigned depth)
{
	struct buf b = { 0 };
	int err = buf_reserve(&b, 3 * ((size_t)depth + 1) + strlen(path));
	unsigned i;

	for (i = 0; i <= depth && !err; i++)
		err = buf_append_text(&b, "../");
	if (!err)
		err = buf_append_text(&b, path);
	if (err) {
		buf_release(&b);
		return NULL;
	}
	return buf_take(&b);
}

/* ---- order ---- */

static int compare_by_name(const void *a, const void *b, void *arg)
{
	const size_t *x = a, *y = b;
	const struct listing_item *items = arg;
	int order = strcmp(items[*x].name, items[*y].name);

	if (order)
		return order;
	return *x < *y ? -1 : *x > *y;
}

static int sort_by_name(struct listing *l)
{
	size_t i;

	free(l->by_name);
	l->by_name = calloc(l->count + 1, sizeof(*l->by_name));
	if (!l->by_name)
		return -ENOMEM;
	for (i = 0; i < l->count; i++)
		l->by_name[i] = i;
	if (l->count)
		qsort_r(l->by_name, l->count, sizeof(*l->by_name),
			compare_by_name, l->items);
	return 0;
}

const struct listing_item *listing_find(const struct listing *l,
					const char *name)
{
	size_t low = 0, high = l->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct listing_item *item = &l->items[l->by_name[middle]];
		int order = strcmp(name, item->name);

		if (!order)
			return item;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void keep(void *name)
{
	(void)name;
}

/* The next name with a number that no item has, nor is in given, to which it is
 * added.  NULL: no memory. */
static char *next_name(const struct listing *l, const char *name,
		       size_t *number, void **given)
{
	char *out;

	while ((out = number_name(name, ++*number)) &&
	       (listing_find(l, out) || tfind(out, given, compare_text)))
		free(out);
	if (out && !tsearch(out, given, compare_text)) {
		free(out);
		out = NULL;
	}
	return out;
}

/* Of items with equal names all but the first get a number.  1: there are
 * some. */
static int number_names(struct listing *l)
{
	char **numbered = calloc(l->count + 1, sizeof(*numbered));
	size_t number = 1, i;
	void *given = NULL;
	int err = numbered ? 0 : -ENOMEM;

	for (i = 1; i < l->count && err >= 0; i++) {
		const char *name = l->items[l->by_name[i]].name;
		char **to = &numbered[l->by_name[i]];

		if (strcmp(l->items[l->by_name[i - 1]].name, name) != 0) {
			number = 1;
			continue;
		}
		*to = next_name(l, name, &number, &given);
		err = *to ? 1 : -ENOMEM;
	}
	tdestroy(given, keep);
	for (i = 0; numbered && i < l->count; i++) {
		if (!numbered[i])
			continue;
		free(l->items[i].name);
		l->items[i].name = numbered[i];
	}
	free(numbered);
	return err;
}

/* ---- making ---- */

int listing_add(struct listing *l, char *name, char *target)
{
	enum { BLOCK = 16 }; /* overhead of malloc(), estimated */
	struct listing_item *items =
		array_with_room(l->items, l->count, sizeof(*items));

	if (items)
		l->items = items;
	if (!items || !name) {
		free(name);
		free(target);
		return -ENOMEM;
	}
	items[l->count++] =
		(struct listing_item){ .name = name, .target = target };
	l->bytes += sizeof(*items) + sizeof(*l->by_name);
	l->bytes += BLOCK + strlen(name);
	if (target)
		l->bytes += BLOCK + strlen(target);
	return 0;
}

int listing_add_hit(struct listing *l, const struct search_hit *hit,
		    unsigned depth, const char *name)
{
	char *target = make_target(hit->path, depth);
	struct listing_item *item;
	int err = -ENOMEM;

	if (target)
		err = listing_add(
			l,
			name ? strdup(name) :
			       listing_make_name(hit->verdict.score,
						 base_name(hit->path)),
			target);
	if (err)
		return err;
	item = &l->items[l->count - 1];
	item->path = target + strlen(target) - strlen(hit->path);
	item->key = hit->key;
	item->identity = hit->identity;
	return 0;
}

int listing_finish(struct listing *l)
{
	int err = sort_by_name(l) ?: number_names(l);

	return err == 1 ? sort_by_name(l) : err;
}
