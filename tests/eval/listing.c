/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/scattered.h"
#include "tests/eval/eval.h"

#define LIMIT 256

static int sketch_of(const struct corpus *c, size_t file,
		     struct sif_sketch *out)
{
	const char *text = c->files[file].digests.text[DIGEST_SIF];

	return text ? sif_parse(text, strlen(text), out) : -ENOENT;
}

/* Content i of the corpus is i + 1 there. */
static int fetch_sketch(void *arg, uint32_t content, struct sif_sketch *out)
{
	return sketch_of(arg, content - 1, out);
}

static int short_sketch_of(const struct corpus *c, size_t file,
			   struct short_sketch *out)
{
	return digests_short_sketch(&c->files[file].digests, out) ? 0 : -ENOENT;
}

static int fetch_sise(void *arg, uint32_t content, struct sise_signature *out)
{
	const struct corpus *c = arg;
	const char *text = c->files[content - 1].digests.text[DIGEST_SISE];

	return text && !sise_parse(text, strlen(text), out) ? 0 : -ENOENT;
}

static int fetch_short_sketch(void *arg, uint32_t content,
			      struct short_sketch *out)
{
	return short_sketch_of(arg, content - 1, out);
}

struct index *listing_index(const struct corpus *c)
{
	struct sif_sketch sketch;
	struct index *ix;
	size_t i;

	fail_errno("index", index_new(&ix));
	for (i = 0; i < c->count; i++) {
		fail_errno("sketch", sketch_of(c, i, &sketch));
		fail_errno("index", index_add(ix, (uint32_t)i + 1,
					      &c->files[i].digests, &sketch));
	}
	return ix;
}

struct index_match listing_score(const struct corpus *c, struct index *ix,
				 size_t a, size_t b)
{
	const struct index_store store = { .short_sketch = fetch_short_sketch,
					   .sise = fetch_sise,
					   .arg = (void *)c };
	struct index_match match = { .content = (uint32_t)b + 1 };
	struct short_sketch short_sketches[2];
	struct sif_sketch sketches[2];
	const struct scattered_content contents[2] = {
		{ .sketch = &sketches[0],
		  .short_sketch = &short_sketches[0],
		  .size = c->files[a].digests.size,
		  .content = (uint32_t)a + 1 },
		{ .sketch = &sketches[1],
		  .short_sketch = &short_sketches[1],
		  .size = c->files[b].digests.size,
		  .content = (uint32_t)b + 1 },
	};

	fail_errno("sketch", sketch_of(c, a, &sketches[0]));
	fail_errno("sketch", sketch_of(c, b, &sketches[1]));
	fail_errno("score", index_score(ix, NULL, &sketches[0], &sketches[1],
					INDEX_ALIKE, &match));
	fail_errno("sketch", short_sketch_of(c, a, &short_sketches[0]));
	fail_errno("score",
		   index_see_scattered(&store, &contents[0], &contents[1],
				       &short_sketches[1], &match));
	return match;
}

static void list_file(struct listing *l, const struct corpus *c,
		      struct index *ix, size_t file)
{
	const struct index_store store = { .sketch = fetch_sketch,
					   .arg = (void *)c,
					   .short_sketch = fetch_short_sketch,
					   .sise = fetch_sise };
	struct index_match matches[INDEX_MATCHES];
	struct short_sketch short_sketch;
	struct sif_sketch sketch;
	struct index_query query = { .digests = &c->files[file].digests,
				     .sketch = &sketch,
				     .short_sketch = &short_sketch,
				     .self = (uint32_t)file + 1,
				     .relation = INDEX_ALL,
				     .first_content = 1 };
	struct file_listing *f = &l->files[file];
	size_t i;

	fail_errno("sketch", sketch_of(c, file, &sketch));
	fail_errno("sketch", short_sketch_of(c, file, &short_sketch));
	fail_errno("search",
		   index_search(ix, &query, &store, matches, &f->count));
	f->entries = allocate(f->count * sizeof(*f->entries));
	for (i = 0; i < f->count; i++)
		f->entries[i] = (struct entry){
			.other = matches[i].content - 1,
			.score = (uint8_t)matches[i].score,
			.is_listed = i < LIMIT &&
				     matches[i].score >= l->threshold &&
				     !matches[i].is_boilerplate,
			.rank = (uint16_t)i,
		};
}

void listing_init(struct listing *l, const struct corpus *c, struct index *ix,
		  int threshold, bool held_out)
{
	size_t i;

	*l = (struct listing){ .threshold = threshold,
			       .count = c->count,
			       .share = 1 };
	l->files = allocate(c->count * sizeof(*l->files));
	for (i = 0; i < c->count; i++)
		if (corpus_is_held_out(c, i) == held_out)
			list_file(l, c, ix, i);
}

void listing_release(struct listing *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		free(l->files[i].entries);
	free(l->files);
}

static size_t listed_count(const struct listing *l)
{
	size_t count = 0, i, j;

	for (i = 0; i < l->count; i++)
		for (j = 0; j < l->files[i].count; j++)
			count += l->files[i].entries[j].is_listed;
	return count;
}

void listing_sample(struct listing *l, size_t most)
{
	size_t count = listed_count(l);

	l->share = count > most ? (double)most / (double)count : 1;
}

/* The same for both ways, so that the truth of a pair serves both. */
bool listing_counts(const struct listing *l, size_t file, const struct entry *e)
{
	uint64_t low = file < e->other ? file : e->other;
	uint64_t high = file < e->other ? e->other : file;
	uint64_t state = low << 32 | high;

	return e->is_listed && (double)(draw(&state) >> 11) <
				       l->share * (double)(UINT64_C(1) << 53);
}

const struct entry *listing_find(const struct listing *l, size_t file,
				 size_t other)
{
	size_t i;

	for (i = 0; i < l->files[file].count; i++)
		if (l->files[file].entries[i].other == other)
			return &l->files[file].entries[i];
	return NULL;
}
