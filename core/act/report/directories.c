/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/xxh3.h"
#include "core/act/report/report_impl.h"

/* The tree of the directories that the report names. */

enum { FIRST_SLOTS = 1024 };

int report_directories_init(struct report_directories *d)
{
	*d = (struct report_directories){ 0 };
	d->slots = calloc(FIRST_SLOTS, sizeof(*d->slots));
	d->all = array_with_room(NULL, 0, sizeof(*d->all));
	if (!d->slots || !d->all || buf_append(&d->names, "", 1)) {
		report_directories_release(d);
		return -ENOMEM;
	}
	d->slot_count = FIRST_SLOTS;
	d->all[d->count++] = (struct report_directory){ 0 };
	return 0;
}

void report_directories_release(struct report_directories *d)
{
	buf_release(&d->names);
	free(d->slots);
	free(d->all);
	*d = (struct report_directories){ 0 };
}

/* ---- by name ---- */

static size_t first_slot(const struct report_directories *d, uint32_t parent,
			 const char *name, size_t len)
{
	return XXH3_64bits_withSeed(name, len, parent) & (d->slot_count - 1);
}

static bool is_named(const struct report_directories *d, uint32_t number,
		     uint32_t parent, const char *name, size_t len)
{
	const struct report_directory *one = &d->all[number];
	const char *own = d->names.data + one->name;

	return one->parent == parent && !strncmp(own, name, len) && !own[len];
}

/* The slot of that directory, or the free one where it belongs. */
static uint32_t *find_slot(const struct report_directories *d, uint32_t parent,
			   const char *name, size_t len)
{
	size_t at = first_slot(d, parent, name, len);

	while (d->slots[at] && !is_named(d, d->slots[at], parent, name, len))
		at = (at + 1) & (d->slot_count - 1);
	return &d->slots[at];
}

static int grow(struct report_directories *d)
{
	uint32_t *old = d->slots;
	const char *name;
	size_t i;

	if (2 * d->count < d->slot_count)
		return 0;
	d->slots = calloc(2 * d->slot_count, sizeof(*d->slots));
	if (!d->slots) {
		d->slots = old;
		return -ENOMEM;
	}
	d->slot_count *= 2;
	for (i = 1; i < d->count; i++) {
		name = d->names.data + d->all[i].name;
		*find_slot(d, d->all[i].parent, name, strlen(name)) =
			(uint32_t)i;
	}
	free(old);
	return 0;
}

static int add(struct report_directories *d, uint32_t parent, const char *name,
	       size_t len)
{
	struct report_directory *all =
		array_with_room(d->all, d->count, sizeof(*all));
	size_t at = d->names.len;

	if (!all)
		return -ENOMEM;
	d->all = all;
	if (buf_reserve(&d->names, len + 1))
		return -ENOMEM;
	(void)buf_append(&d->names, name, len);
	(void)buf_append(&d->names, "", 1);
	all[d->count++] =
		(struct report_directory){ .parent = parent, .name = at };
	return 0;
}

int report_directories_child(struct report_directories *d, uint32_t parent,
			     const char *name, size_t len, uint32_t *out)
{
	int err = grow(d);
	uint32_t *slot;

	if (err)
		return err;
	slot = find_slot(d, parent, name, len);
	if (!*slot) {
		err = add(d, parent, name, len);
		if (err)
			return err;
		*slot = (uint32_t)(d->count - 1);
	}
	*out = *slot;
	return 0;
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
			err = report_directories_child(d, number, path,
						       (size_t)(stop - path),
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
