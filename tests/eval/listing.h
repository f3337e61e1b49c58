/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_LISTING_H
#define TESTS_EVAL_LISTING_H

#include "core/index/index.h"
#include "tests/eval/corpus.h"

/* What the mount would list for each content: what the index finds. */
struct entry {
	uint32_t other;
	uint8_t score;
	uint16_t rank; /* 0 first */
};

/* Best score first. */
struct file_listing {
	struct entry *entries;
	size_t count;
};

struct listing {
	struct judge_rules rules;
	size_t count;
	struct file_listing *files; /* by file */
	double share;               /* of entries whose truth is looked at */
};

/* Content i of the corpus is i + 1 there. */
struct index *listing_index(const struct corpus *c);

/* Of INDEX_ALIKE at threshold 0: listed, or boilerplate. */
struct verdict listing_verdict(const struct corpus *c, struct index *ix,
			       size_t a, size_t b);

/* The contents that are listed for a sketch, at most INDEX_MATCHES; self: a
 * file of the corpus that is not, SIZE_MAX: none.  Returns how many. */
size_t listing_find_matches(const struct corpus *c, struct index *ix,
			    const struct sketch *sketch, size_t self,
			    const struct judge_rules *rules,
			    struct index_match *out);

/* Of the files of one half; of the others nothing is listed. */
void listing_init(struct listing *l, const struct corpus *c, struct index *ix,
		  const struct judge_rules *rules, bool held_out);
void listing_release(struct listing *l);

/* From now on a sample of about that many entries counts. */
void listing_sample(struct listing *l, size_t most);
bool listing_counts(const struct listing *l, size_t file,
		    const struct entry *e);

/* NULL when other is not listed for the file. */
const struct entry *listing_find(const struct listing *l, size_t file,
				 size_t other);

static inline bool corpus_is_held_out(const struct corpus *c, size_t file)
{
	return c->families[c->files[file].family].held_out;
}

#endif
