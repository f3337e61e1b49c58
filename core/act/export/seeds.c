/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/export/seeds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/digest/sketch/sketch.h"

/* ---- contents ---- */

int seed_content_of(const struct digests *d, struct seed_content *out)
{
	struct sketch *sketch = calloc(1, sizeof(*sketch));
	int err;

	if (!sketch)
		return -ENOMEM;
	memset(out, 0, sizeof(*out));
	memcpy(out->xxh128, d->xxh128, sizeof(out->xxh128));
	out->size = d->size;
	err = digests_sketch(d, sketch);
	if (!err) {
		sketch_cut(sketch, SEED_VALUES);
		out->level = sketch->level;
		out->count = (uint8_t)sketch->count;
		memcpy(out->values, sketch->values,
		       sketch->count * sizeof(out->values[0]));
	}
	free(sketch);
	return err == -ENODATA ? 0 : err;
}

/* As the contents of an export are ordered. */
static int by_content(const void *a, const void *b)
{
	const struct seed_content *x = a, *y = b;
	int order = memcmp(x->xxh128, y->xxh128, sizeof(x->xxh128));

	return order ? order : (x->size > y->size) - (x->size < y->size);
}

static int by_value(const void *a, const void *b)
{
	const struct seed_posting *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->content > y->content) - (x->content < y->content);
}

static int by_path(const void *a, const void *b)
{
	const struct seed_file *const *x = a, *const *y = b;

	return strcmp((*x)->path, (*y)->path);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* ---- reading a tree ---- */

static int add_content(struct seeds *s, const struct export_reader *r)
{
	const struct found_member *m = export_member(r);
	const uint32_t number = (uint32_t)s->content_count;
	struct seed_content *contents = array_with_room(
		s->contents, s->content_count, sizeof(*contents));
	struct seed_content *c = contents ? &contents[number] : NULL;
	struct seed_posting *postings;
	struct seed_file *files;
	size_t i;
	int err;

	if (!contents)
		return -ENOMEM;
	s->contents = contents;
	err = seed_content_of(&r->digests, c);
	if (err)
		return err;
	c->first_file = (uint32_t)s->file_count;
	c->file_count = (uint32_t)m->file_count;
	s->content_count++;
	for (i = 0; i < m->file_count; i++) {
		files = array_with_room(s->files, s->file_count,
					sizeof(*files));
		s->files = files ? files : s->files;
		if (!files ||
		    !(files[s->file_count].path = strdup(m->files[i].path)))
			return -ENOMEM;
		files[s->file_count++].mtime_ns = m->files[i].mtime_ns;
	}
	for (i = 0; i < c->count; i++) {
		postings = array_with_room(s->postings, s->posting_count,
					   sizeof(*postings));
		if (!postings)
			return -ENOMEM;
		s->postings = postings;
		postings[s->posting_count++] =
			(struct seed_posting){ c->values[i], number };
	}
	return 0;
}

int seeds_read(struct seeds *s, struct export_reader *r)
{
	size_t i;
	int err;

	while ((err = export_next(r)) == 1) {
		err = add_content(s, r);
		if (err)
			return err;
	}
	if (err)
		return err;
	s->by_path = calloc(s->file_count + 1, sizeof(*s->by_path));
	if (!s->by_path)
		return -ENOMEM;
	for (i = 0; i < s->file_count; i++)
		s->by_path[i] = &s->files[i];
	qsort(s->by_path, s->file_count, sizeof(*s->by_path), by_path);
	if (s->posting_count)
		qsort(s->postings, s->posting_count, sizeof(*s->postings),
		      by_value);
	return 0;
}

void seeds_release(struct seeds *s)
{
	while (s->file_count)
		free(s->files[--s->file_count].path);
	free(s->files);
	free(s->contents);
	free(s->by_path);
	free(s->postings);
	*s = (struct seeds){ 0 };
}

/* ---- finding ---- */

/* Contents that have a value of the wanted one, once for each such value. */
static size_t find_candidates(struct seeds *s,
			      const struct seed_content *wanted)
{
	size_t count = 0, i, low, high, middle;

	for (i = 0; i < wanted->count; i++) {
		for (low = 0, high = s->posting_count; low < high;) {
			middle = low + (high - low) / 2;
			if (s->postings[middle].value < wanted->values[i])
				low = middle + 1;
			else
				high = middle;
		}
		for (high = low + SEED_COMMON;
		     low < high && low < s->posting_count &&
		     s->postings[low].value == wanted->values[i];
		     low++)
			s->candidates[count++] = s->postings[low].content;
	}
	qsort(s->candidates, count, sizeof(*s->candidates), by_number);
	return count;
}

/* For rsync. */
static bool is_same_time(const struct seed_file *file, int64_t mtime_ns)
{
	return file->mtime_ns / 1000000000 == mtime_ns / 1000000000;
}

/* The file at that path if it has the content, else its first one; but none that
 * could be taken for the one that is to come.  NULL: there is no such file. */
static const struct seed_file *choose_file(const struct seeds *s,
					   const struct seed_content *content,
					   const struct seed_content *wanted,
					   const struct seed_file *same_path,
					   int64_t mtime_ns)
{
	const struct seed_file *first = &s->files[content->first_file], *file;
	const struct seed_file *end = first + content->file_count;
	bool is_safe =
		content->size != wanted->size || !by_content(content, wanted);

	if (same_path && same_path >= first && same_path < end &&
	    (is_safe || !is_same_time(same_path, mtime_ns)))
		return same_path;
	for (file = first; file < end; file++)
		if (is_safe || !is_same_time(file, mtime_ns))
			return file;
	return NULL;
}

/* Of the wanted values that the other sketch could have. */
static int score_of(const struct seed_content *wanted,
		    const struct seed_content *other, size_t shared)
{
	size_t comparable = 0;

	while (comparable < wanted->count &&
	       (other->level <= wanted->level ||
		wanted->values[comparable] >>
				(SKETCH_KEY_BITS - other->level) ==
			0))
		comparable++;
	if (!shared || !comparable)
		return 0;
	return shared >= comparable ? 99 : (int)(100 * shared / comparable);
}

int seeds_find(struct seeds *s, const struct seed_content *wanted,
	       const char *path, int64_t mtime_ns, struct seed_base *out)
{
	const struct seed_file at_path = { .path = (char *)path };
	const struct seed_file *key = &at_path, *same_path, *file;
	const struct seed_file **found = NULL;
	const struct seed_content *c = NULL;
	uint64_t distance, least = 0;
	size_t count, i, end, shared, most = 0;
	bool better;

	*out = (struct seed_base){ 0 };
	if (!s->content_count)
		return 0;
	found = bsearch(&key, s->by_path, s->file_count, sizeof(*s->by_path),
			by_path);
	same_path = found ? *found : NULL;
	c = bsearch(wanted, s->contents, s->content_count, sizeof(*c),
		    by_content);
	if (c) {
		out->file = choose_file(s, c, wanted, same_path, mtime_ns);
		out->score = 100;
		return 1;
	}
	count = find_candidates(s, wanted);
	for (i = 0; i < count; i = end) {
		for (end = i;
		     end < count && s->candidates[end] == s->candidates[i];)
			end++;
		shared = end - i;
		c = &s->contents[s->candidates[i]];
		file = choose_file(s, c, wanted, same_path, mtime_ns);
		distance = c->size > wanted->size ? c->size - wanted->size :
						    wanted->size - c->size;
		if (!file || score_of(wanted, c, shared) < SEED_LEAST)
			continue;
		if (shared != most)
			better = shared > most;
		else if ((file == same_path) != (out->file == same_path))
			better = file == same_path;
		else
			better = distance < least;
		if (!better)
			continue;
		out->file = file;
		out->score = score_of(wanted, c, shared);
		most = shared;
		least = distance;
	}
	return out->file != NULL;
}
