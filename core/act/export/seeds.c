/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/export/seeds.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/buf.h"
#include "core/digest/sketch/sketch.h"

struct seed_content {
	uint8_t xxh128[16];
	uint64_t size;
	unsigned level;
	uint8_t count;                /* values */
	uint64_t values[SEED_VALUES]; /* ascending */
	struct found_member member;   /* owned: its files, by path */
};

struct seed_posting {
	uint64_t value;
	uint32_t content;
};

/* ---- contents ---- */

int seed_keep(struct found_member *m)
{
	struct digests d = { .size = m->size };
	struct sketch *sketch = calloc(1, sizeof(*sketch));
	struct buf text = { 0 };
	int err = sketch ? digests_from_json(m->digests, &d) : -ENOMEM;

	json_decref(m->digests);
	m->digests = NULL;
	if (!err)
		err = digests_sketch(&d, sketch);
	if (!err) {
		sketch_cut(sketch, SEED_VALUES);
		err = sketch_format(sketch, &text);
	}
	if (!err) {
		m->digests = json_pack("{s:s%}", "sif", text.data, text.len);
		err = m->digests ? 0 : -ENOMEM;
	}
	buf_release(&text);
	digests_release(&d);
	free(sketch);
	return err == -ENODATA ? 0 : err;
}

/* Without files. */
static int set_content(struct seeds *s, const struct digests *d,
		       struct seed_content *out)
{
	int err = digests_sketch(d, &s->sketch);

	*out = (struct seed_content){ .size = d->size };
	memcpy(out->xxh128, d->xxh128, sizeof(out->xxh128));
	if (err)
		return err == -ENODATA ? 0 : err;
	sketch_cut(&s->sketch, SEED_VALUES);
	out->level = s->sketch.level;
	out->count = (uint8_t)s->sketch.count;
	memcpy(out->values, s->sketch.values,
	       out->count * sizeof(out->values[0]));
	return 0;
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
	const struct found_file *x = a, *y = b;

	return strcmp(x->names[0], y->names[0]);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* ---- reading a tree ---- */

/* Takes the files of the content at hand. */
static int add_content(struct seeds *s, struct export_reader *r)
{
	const uint32_t number = (uint32_t)s->content_count;
	struct seed_content *c =
		array_with_room(s->contents, number, sizeof(*c));
	struct seed_posting *postings;
	size_t i;
	int err;

	if (!c)
		return -ENOMEM;
	s->contents = c;
	c += number;
	err = set_content(s, &r->digests, c);
	if (err)
		return err;
	c->member = export_take(r);
	s->content_count++;
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
	int err = 0;

	while (!err && export_next(r))
		err = add_content(s, r);
	if (s->posting_count)
		qsort(s->postings, s->posting_count, sizeof(*s->postings),
		      by_value);
	return err;
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

/* The file at that path if it has the content, else its first one; but none that
 * rsync could take for the one that is to come.  NULL: there is no such file. */
static const struct found_file *choose_file(const struct seed_content *content,
					    const struct seed_content *wanted,
					    const char *path, int64_t mtime_ns,
					    bool *at_path_out)
{
	const struct found_member *m = &content->member;
	const struct found_file key = { .names = &path };
	const struct found_file *file =
		bsearch(&key, m->files, m->file_count, sizeof(key), by_path);
	const int64_t second = mtime_ns / 1000000000;
	bool is_safe =
		content->size != wanted->size || !by_content(content, wanted);

	*at_path_out =
		file && (is_safe || file->mtime_ns / 1000000000 != second);
	if (*at_path_out)
		return file;
	for (file = m->files; file < m->files + m->file_count; file++)
		if (is_safe || file->mtime_ns / 1000000000 != second)
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
	if (!comparable)
		return 0;
	return shared >= comparable ? 99 : (int)(100 * shared / comparable);
}

int seeds_find(struct seeds *s, const struct digests *digests, const char *path,
	       int64_t mtime_ns, struct seed_base *out)
{
	struct seed_content wanted;
	const struct found_file *file;
	const struct seed_content *c = NULL;
	uint64_t distance, least = 0;
	size_t count, i, end, shared, most = 0;
	bool at_path, best_at_path = false;
	int err = set_content(s, digests, &wanted);

	if (err)
		return err;
	*out = (struct seed_base){ 0 };
	if (s->content_count)
		c = bsearch(&wanted, s->contents, s->content_count, sizeof(*c),
			    by_content);
	if (c) {
		out->file = choose_file(c, &wanted, path, mtime_ns, &at_path);
		out->score = 100;
		return out->file != NULL;
	}
	count = find_candidates(s, &wanted);
	for (i = 0; i < count; i = end) {
		for (end = i;
		     end < count && s->candidates[end] == s->candidates[i];)
			end++;
		shared = end - i;
		c = &s->contents[s->candidates[i]];
		file = choose_file(c, &wanted, path, mtime_ns, &at_path);
		distance = c->size > wanted.size ? c->size - wanted.size :
						   wanted.size - c->size;
		if (!file || score_of(&wanted, c, shared) < SEED_LEAST ||
		    shared < most ||
		    (shared == most &&
		     (at_path < best_at_path ||
		      (at_path == best_at_path && distance >= least))))
			continue;
		*out = (struct seed_base){ file, score_of(&wanted, c, shared) };
		best_at_path = at_path;
		most = shared;
		least = distance;
	}
	return out->file != NULL;
}
