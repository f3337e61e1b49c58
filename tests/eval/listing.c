/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/listing.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/eval/eval.h"

#define LIMIT 256

static int fetch_sketch(void *arg, uint32_t content, struct sketch *out)
{
	const struct corpus *c = arg;

	return digests_sketch(&c->files[content - 1].digests, out);
}

struct index *listing_index(const struct corpus *c)
{
	struct sketch sketch;
	struct index *ix;
	size_t i;

	fail_errno("index", index_new(&ix));
	fail_errno("index", index_load_begin(ix));
	for (i = 0; i < c->count; i++) {
		fail_errno("sketch",
			   digests_sketch(&c->files[i].digests, &sketch));
		fail_errno("index", index_add(ix, (uint32_t)i + 1, &sketch));
	}
	fail_errno("index", index_load_end(ix));
	return ix;
}

struct verdict listing_verdict(const struct corpus *c, struct index *ix,
			       size_t a, size_t b)
{
	const struct judge_rules rules = { .relation = INDEX_ALIKE };
	static struct sketch sketches[2];
	const struct subject first = subject_of_bytes(&sketches[0]);
	const struct subject second = subject_of_bytes(&sketches[1]);
	struct verdict v;

	fail_errno("sketch",
		   digests_sketch(&c->files[a].digests, &sketches[0]));
	fail_errno("sketch",
		   digests_sketch(&c->files[b].digests, &sketches[1]));
	fail_errno("verdict",
		   index_judge(ix, NULL, &first, &second, &rules, &v));
	return v;
}

size_t listing_find_matches(const struct corpus *c, struct index *ix,
			    const struct sketch *sketch, size_t self,
			    const struct judge_rules *rules,
			    struct index_match *out)
{
	const struct index_store store = { .sketch = fetch_sketch,
					   .arg = (void *)c };
	struct index_query query = { .subject = subject_of_bytes(sketch),
				     .rules = *rules,
				     .self = (uint32_t)(self + 1) };
	size_t count;

	fail_errno("search", index_search(ix, &query, &store, out, &count));
	return count;
}

static void list_file(struct listing *l, const struct corpus *c,
		      struct index *ix, size_t file)
{
	struct index_match matches[INDEX_MATCHES];
	static struct sketch sketch;
	struct file_listing *f = &l->files[file];
	size_t i;

	fail_errno("sketch", digests_sketch(&c->files[file].digests, &sketch));
	f->count =
		listing_find_matches(c, ix, &sketch, file, &l->rules, matches);
	if (f->count > LIMIT)
		f->count = LIMIT;
	f->entries = allocate(f->count * sizeof(*f->entries));
	for (i = 0; i < f->count; i++)
		f->entries[i] = (struct entry){
			.other = matches[i].content - 1,
			.score = (uint8_t)matches[i].verdict.score,
			.rank = (uint16_t)i,
		};
}

void listing_init(struct listing *l, const struct corpus *c, struct index *ix,
		  const struct judge_rules *rules, bool held_out)
{
	size_t i;

	*l = (struct listing){ .rules = *rules, .count = c->count, .share = 1 };
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

void listing_sample(struct listing *l, size_t most)
{
	size_t count = 0, i;

	for (i = 0; i < l->count; i++)
		count += l->files[i].count;
	l->share = count > most ? (double)most / (double)count : 1;
}

/* The same for both ways, so that the truth of a pair serves both. */
bool listing_counts(const struct listing *l, size_t file, const struct entry *e)
{
	uint64_t low = file < e->other ? file : e->other;
	uint64_t high = file < e->other ? e->other : file;
	uint64_t state = low << 32 | high;

	return (double)(draw(&state) >> 11) <
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
