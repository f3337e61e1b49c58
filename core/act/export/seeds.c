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

/* ---- reading a tree ---- */

static int add_file(struct seeds *s, const struct found_file *file)
{
	struct seed_file *files =
		array_with_room(s->files, s->file_count, sizeof(*files));

	if (!files)
		return -ENOMEM;
	s->files = files;
	files += s->file_count;
	*files = (struct seed_file){ .path = strdup(file->path),
				     .mtime_ns = file->mtime_ns,
				     .content = (uint32_t)s->content_count };
	if (!files->path)
		return -ENOMEM;
	s->file_count++;
	return 0;
}

static int add_values(struct seeds *s, const struct seed_content *c)
{
	struct seed_posting *postings;
	size_t i;

	for (i = 0; i < c->count; i++) {
		postings = array_with_room(s->postings, s->posting_count,
					   sizeof(*postings));
		if (!postings)
			return -ENOMEM;
		s->postings = postings;
		postings[s->posting_count++] =
			(struct seed_posting){ c->values[i],
					       (uint32_t)s->content_count };
	}
	return 0;
}

static int add_content(struct seeds *s, const struct export_reader *r)
{
	const struct found_member *m = export_member(r);
	struct seed_content *all =
		array_with_room(s->contents, s->content_count, sizeof(*all));
	size_t i;
	int err;

	if (!all)
		return -ENOMEM;
	s->contents = all;
	all += s->content_count;
	err = seed_content_of(&r->digests, all);
	all->first_file = (uint32_t)s->file_count;
	for (i = 0; i < m->file_count && !err; i++)
		err = add_file(s, &m->files[i]);
	all->file_count = (uint32_t)(s->file_count - all->first_file);
	if (!err)
		err = add_values(s, all);
	if (!err)
		s->content_count++;
	return err;
}

static int by_path(const void *a, const void *b, void *files)
{
	const struct seed_file *all = files;

	return strcmp(all[*(const uint32_t *)a].path,
		      all[*(const uint32_t *)b].path);
}

int seeds_read(struct seeds *s, struct export_reader *r)
{
	uint32_t i;
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
		s->by_path[i] = i;
	if (s->file_count)
		qsort_r(s->by_path, s->file_count, sizeof(*s->by_path), by_path,
			s->files);
	if (s->posting_count)
		qsort(s->postings, s->posting_count, sizeof(*s->postings),
		      by_value);
	return 0;
}

void seeds_release(struct seeds *s)
{
	size_t i;

	for (i = 0; i < s->file_count; i++)
		free(s->files[i].path);
	free(s->files);
	free(s->contents);
	free(s->by_path);
	free(s->postings);
	free(s->candidates);
	*s = (struct seeds){ 0 };
}

/* ---- finding ---- */

static const struct seed_file *file_at(const struct seeds *s, const char *path)
{
	size_t low = 0, high = s->file_count, middle;
	int order;

	while (low < high) {
		middle = low + (high - low) / 2;
		order = strcmp(s->files[s->by_path[middle]].path, path);
		if (!order)
			return &s->files[s->by_path[middle]];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static size_t first_posting(const struct seeds *s, uint64_t value)
{
	size_t low = 0, high = s->posting_count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (s->postings[middle].value < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add_candidate(struct seeds *s, uint32_t content)
{
	uint32_t *all = array_with_room(s->candidates, s->candidate_count,
					sizeof(*all));

	if (!all)
		return -ENOMEM;
	s->candidates = all;
	all[s->candidate_count++] = content;
	return 0;
}

/* Contents that have a value of the wanted one, once for each. */
static int find_candidates(struct seeds *s, const struct seed_content *wanted)
{
	size_t i, at, looked;
	int err = 0;

	s->candidate_count = 0;
	for (i = 0; i < wanted->count; i++) {
		at = first_posting(s, wanted->values[i]);
		for (looked = 0; looked < SEED_COMMON && !err; looked++, at++) {
			if (at == s->posting_count ||
			    s->postings[at].value != wanted->values[i])
				break;
			err = add_candidate(s, s->postings[at].content);
		}
	}
	return err;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The file at that path if it has the content, else its first one; but none that
 * could be taken for the one that is to come.  NULL: there is no such file. */
static const struct seed_file *choose_file(const struct seeds *s,
					   const struct seed_content *content,
					   const struct seed_content *wanted,
					   const struct seed_file *same_path,
					   int64_t mtime_ns)
{
	bool is_equal = !by_content(content, wanted);
	const struct seed_file *file = NULL, *f;
	uint32_t i;

	for (i = 0; i < content->file_count; i++) {
		f = &s->files[content->first_file + i];
		if (!is_equal && content->size == wanted->size &&
		    f->mtime_ns / 1000000000 == mtime_ns / 1000000000)
			continue;
		if (f == same_path)
			return f;
		if (!file)
			file = f;
	}
	return file;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
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

struct best_seed {
	struct seed_base base;
	size_t shared;
	bool same_path;
	uint64_t distance;
};

static bool is_better(const struct best_seed *a, const struct best_seed *b)
{
	if (!b->base.file || a->shared != b->shared)
		return !b->base.file || a->shared > b->shared;
	if (a->same_path != b->same_path)
		return a->same_path;
	return a->distance < b->distance;
}

int seeds_find(struct seeds *s, const struct seed_content *wanted,
	       const char *path, int64_t mtime_ns, struct seed_base *out)
{
	const struct seed_file *same_path = file_at(s, path);
	struct best_seed best = { 0 }, other;
	const struct seed_content *c;
	size_t i, end;
	int err;

	c = s->content_count ? bsearch(wanted, s->contents, s->content_count,
				       sizeof(*c), by_content) :
			       NULL;
	if (c) {
		out->file = choose_file(s, c, wanted, same_path, mtime_ns);
		out->score = 100;
		return 1;
	}
	err = find_candidates(s, wanted);
	if (err)
		return err;
	if (s->candidate_count)
		qsort(s->candidates, s->candidate_count, sizeof(*s->candidates),
		      by_number);
	for (i = 0; i < s->candidate_count; i = end) {
		for (end = i; end < s->candidate_count &&
			      s->candidates[end] == s->candidates[i];)
			end++;
		c = &s->contents[s->candidates[i]];
		other.shared = end - i;
		other.base.file =
			choose_file(s, c, wanted, same_path, mtime_ns);
		other.base.score = score_of(wanted, c, other.shared);
		other.same_path = same_path && other.base.file == same_path;
		other.distance = distance(c->size, wanted->size);
		if (other.base.file && other.base.score >= SEED_LEAST &&
		    is_better(&other, &best))
			best = other;
	}
	*out = best.base;
	return best.base.file != NULL;
}
