/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/export/seeds.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/buf.h"
#include "core/digest/sketch/sketch.h"
#include "core/index/judge.h"

struct seed_content {
	uint8_t xxh128[16];
	uint64_t size;
	unsigned level;
	uint8_t count;              /* values */
	uint64_t values[SEED_KEPT]; /* ascending */
	struct found_member member; /* owned: its files, by path */
};

/* A file of a content; it has the path. */
struct seed_file {
	uint32_t content, file;
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

/* Without files; with so many values at most. */
static int set_content(struct seeds *s, const struct digests *d, size_t most,
		       struct seed_content *out)
{
	int err = digests_sketch(d, &s->sketch);

	*out = (struct seed_content){ .size = d->size };
	memcpy(out->xxh128, d->xxh128, sizeof(out->xxh128));
	if (err)
		return err == -ENODATA ? 0 : err;
	sketch_cut(&s->sketch, most);
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

static uint64_t value_of(const struct seeds *s, uint32_t posting)
{
	return s->contents[posting / SEED_KEPT].values[posting % SEED_KEPT];
}

static int by_value(const void *a, const void *b, void *seeds)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t v = value_of(seeds, x), w = value_of(seeds, y);

	return v != w ? (v < w ? -1 : 1) : (x > y) - (x < y);
}

static const struct found_file *file_of(const struct seeds *s,
					const struct seed_file *f)
{
	return &s->contents[f->content].member.files[f->file];
}

static int by_path(const void *a, const void *b, void *seeds)
{
	return strcmp(file_of(seeds, a)->names[0], file_of(seeds, b)->names[0]);
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
	struct seed_content *c =
		array_with_room(s->contents, s->content_count, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	s->contents = c;
	c += s->content_count;
	err = set_content(s, &r->digests, SEED_KEPT, c);
	if (err)
		return err;
	c->member = export_take(r);
	s->content_count++;
	s->posting_count += c->count;
	s->file_count += c->member.file_count;
	return s->content_count < UINT32_MAX / SEED_KEPT ? 0 : -EOVERFLOW;
}

static int make_lists(struct seeds *s)
{
	uint32_t *posting = malloc((s->posting_count + 1) * sizeof(*posting));
	struct seed_file *file = malloc((s->file_count + 1) * sizeof(*file));
	uint32_t i, k;

	s->postings = posting;
	s->files = file;
	if (!posting || !file)
		return -ENOMEM;
	for (i = 0; i < s->content_count; i++) {
		for (k = 0; k < s->contents[i].count; k++)
			*posting++ = i * SEED_KEPT + k;
		for (k = 0; k < s->contents[i].member.file_count; k++)
			*file++ = (struct seed_file){ i, k };
	}
	qsort_r(s->postings, s->posting_count, sizeof(*posting), by_value, s);
	qsort_r(s->files, s->file_count, sizeof(*file), by_path, s);
	return 0;
}

int seeds_read(struct seeds *s, struct export_reader *r)
{
	int err = 0;

	while (!err && export_next(r))
		err = add_content(s, r);
	return err ? err : make_lists(s);
}

/* ---- finding ---- */

/* The postings of a value. */
struct value_range {
	size_t begin, count;
};

static struct value_range find_value(const struct seeds *s, uint64_t value)
{
	size_t low = 0, high = s->posting_count, middle, begin;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (value_of(s, s->postings[middle]) < value)
			low = middle + 1;
		else
			high = middle;
	}
	begin = low;
	for (high = s->posting_count; low < high;) {
		middle = low + (high - low) / 2;
		if (value_of(s, s->postings[middle]) <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return (struct value_range){ begin, low - begin };
}

static int by_count(const void *a, const void *b)
{
	const struct value_range *x = a, *y = b;

	return (x->count > y->count) - (x->count < y->count);
}

/* The file at that path; or NULL. */
static const struct seed_file *find_path(const struct seeds *s,
					 const char *path)
{
	size_t low = 0, high = s->file_count, middle;
	int order;

	while (low < high) {
		middle = low + (high - low) / 2;
		order = strcmp(file_of(s, &s->files[middle])->names[0], path);
		if (!order)
			return &s->files[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Contents to be compared, ascending, some more than once. */
static size_t find_candidates(struct seeds *s,
			      const struct seed_content *wanted,
			      const struct seed_file *at_path)
{
	struct value_range ranges[SEED_VALUES];
	size_t count = 0, i, k;

	for (i = 0; i < wanted->count; i++)
		ranges[i] = find_value(s, wanted->values[i]);
	qsort(ranges, wanted->count, sizeof(ranges[0]), by_count);
	for (i = 0; i < wanted->count; i++)
		for (k = 0; k < ranges[i].count && k < SEED_COMMON; k++)
			s->candidates[count++] =
				s->postings[ranges[i].begin + k] / SEED_KEPT;
	if (at_path)
		s->candidates[count++] = at_path->content;
	qsort(s->candidates, count, sizeof(*s->candidates), by_number);
	return count;
}

static size_t count_shared(const struct seed_content *a,
			   const struct seed_content *b)
{
	size_t shared = 0, i = 0, k = 0;

	while (i < a->count && k < b->count) {
		shared += a->values[i] == b->values[k];
		if (a->values[i] <= b->values[k])
			i++;
		else
			k++;
	}
	return shared;
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
	       struct seed_base *out)
{
	const struct seed_file *at_path = find_path(s, path);
	const struct seed_content *c = NULL;
	struct base_rank rank, best = { 0 };
	struct seed_content wanted;
	size_t count, i;
	int score, err = set_content(s, digests, SEED_VALUES, &wanted);

	if (err)
		return err;
	*out = (struct seed_base){ 0 };
	if (s->content_count)
		c = bsearch(&wanted, s->contents, s->content_count, sizeof(*c),
			    by_content);
	if (c) {
		*out = (struct seed_base){ c->member.files, 100, c->size };
		if (at_path && &s->contents[at_path->content] == c)
			out->file = file_of(s, at_path);
		return 1;
	}
	count = find_candidates(s, &wanted, at_path);
	for (i = 0; i < count; i++) {
		if (i && s->candidates[i] == s->candidates[i - 1])
			continue;
		c = &s->contents[s->candidates[i]];
		rank = (struct base_rank){
			.shared = count_shared(&wanted, c),
			.at_path =
				at_path && at_path->content == s->candidates[i],
			.distance = size_distance(c->size, wanted.size),
		};
		score = score_of(&wanted, c, rank.shared);
		if (score < BASE_LEAST ||
		    (out->file && !base_is_better(&rank, &best)))
			continue;
		*out = (struct seed_base){ rank.at_path ? file_of(s, at_path) :
							  c->member.files,
					   score, c->size };
		best = rank;
	}
	return out->file != NULL;
}
