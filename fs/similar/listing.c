/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/listing.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	free(l);
}

static struct listing *listing_new(size_t count)
{
	struct listing *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	atomic_init(&l->refs, 1);
	l->items = calloc(count + 1, sizeof(*l->items));
	l->by_name = calloc(count + 1, sizeof(*l->by_name));
	if (l->items && l->by_name)
		return l;
	listing_unref(l);
	return NULL;
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

/* "097_name" or, with a number above 1, "097_name~2". */
static char *make_name(int score, const char *base, size_t number)
{
	char head[16], tail[32] = "";
	struct buf b = { 0 };
	size_t head_len, tail_len, len;

	(void)snprintf(head, sizeof(head), "%03d_", score);
	if (number > 1)
		(void)snprintf(tail, sizeof(tail), "~%zu", number);
	head_len = strlen(head);
	tail_len = strlen(tail);
	len = listing_cut_name(base, NAME_MAX - head_len - tail_len);
	if (buf_append(&b, head, head_len) || buf_append(&b, base, len) ||
	    buf_append(&b, tail, tail_len)) {
		buf_release(&b);
		return NULL;
	}
	return buf_take(&b);
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

static void sort_by_name(struct listing *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		l->by_name[i] = i;
	if (l->count)
		qsort_r(l->by_name, l->count, sizeof(*l->by_name),
			compare_by_name, l->items);
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

/* Sorts the items by name.  Of items with equal names all but the first get a
 * number, unless the name with that number is that of another item. */
static int sort_and_number(struct listing *l, const struct search_hits *hits)
{
	char **numbered = calloc(l->count + 1, sizeof(*numbered));
	size_t number = 1, i;
	bool any = false;
	int err = numbered ? 0 : -ENOMEM;

	sort_by_name(l);
	for (i = 1; i < l->count && !err; i++) {
		size_t at = l->by_name[i];
		const struct search_hit *hit = &hits->hits[at];
		char *name = NULL;

		if (strcmp(l->items[l->by_name[i - 1]].name,
			   l->items[at].name) != 0) {
			number = 1;
			continue;
		}
		do {
			free(name);
			name = make_name(hit->verdict.score,
					 base_name(hit->path), ++number);
		} while (name && listing_find(l, name));
		numbered[at] = name;
		err = name ? 0 : -ENOMEM;
		any = true;
	}
	for (i = 0; numbered && i < l->count; i++) {
		if (!numbered[i])
			continue;
		free(l->items[i].name);
		l->items[i].name = numbered[i];
	}
	free(numbered);
	if (any)
		sort_by_name(l);
	return err;
}

/* ---- making ---- */

static void add_bytes(struct listing *l, const struct listing_item *item)
{
	enum { BLOCK = 16 }; /* overhead of malloc(), estimated */

	l->bytes += sizeof(*item) + sizeof(*l->by_name);
	l->bytes += BLOCK + strlen(item->name);
	if (item->target)
		l->bytes += BLOCK + strlen(item->target);
}

int listing_from_hits(const struct search_hits *hits, unsigned depth,
		      struct listing **out)
{
	struct listing *l = listing_new(hits->count);
	size_t i;
	int err = l ? 0 : -ENOMEM;

	for (i = 0; i < hits->count && !err; i++) {
		const struct search_hit *hit = &hits->hits[i];
		struct listing_item *item = &l->items[l->count++];

		item->name =
			make_name(hit->verdict.score, base_name(hit->path), 1);
		item->target = make_target(hit->path, depth);
		if (!item->name || !item->target)
			err = -ENOMEM;
		else
			item->path = item->target + strlen(item->target) -
				     strlen(hit->path);
		if (!err)
			add_bytes(l, item);
		item->key = hit->key;
		item->identity = hit->identity;
	}
	if (!err)
		err = sort_and_number(l, hits);
	if (err) {
		listing_unref(l);
		return err;
	}
	*out = l;
	return 0;
}

int listing_from_names(const struct search_paths *names, struct listing **out)
{
	struct listing *l = listing_new(names->count);
	size_t i;

	if (!l)
		return -ENOMEM;
	for (i = 0; i < names->count; i++) {
		l->items[i].name = strdup(names->paths[i]);
		if (!l->items[i].name) {
			listing_unref(l);
			return -ENOMEM;
		}
		add_bytes(l, &l->items[i]);
		l->count++;
	}
	sort_by_name(l);
	*out = l;
	return 0;
}
