/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_LISTING_H
#define TESTS_EVAL_LISTING_H

#include "core/index/index.h"
#include "tests/eval/corpus.h"

/*
 * What the mount would list for each content: what the index finds.  The
 * entries are the candidates; those with a score in reach are listed.
 */
struct entry {
	uint32_t other;
	uint8_t score;
	bool is_listed;
	uint16_t rank; /* among the listed, 0 first */
};

/* The candidates of a file, best score first. */
struct file_listing {
	struct entry *entries;
	size_t count;
};

struct listing {
	int threshold;
	size_t count;
	struct file_listing *files; /* by file */
	double share;               /* of entries whose truth is looked at */
};

struct index *listing_index(const struct corpus *c);

/* Of two contents, as a listing has it. */
struct index_match listing_score(const struct corpus *c, struct index *ix,
				 size_t a, size_t b);

/* Of the files of one half; of the others nothing is listed. */
void listing_init(struct listing *l, const struct corpus *c, struct index *ix,
		  int threshold, bool held_out);
void listing_release(struct listing *l);

/* From now on a sample of about that many listed entries counts. */
void listing_sample(struct listing *l, size_t most);
/* Listed and in the sample. */
bool listing_counts(const struct listing *l, size_t file,
		    const struct entry *e);

/* NULL when other was no candidate for the file. */
const struct entry *listing_find(const struct listing *l, size_t file,
				 size_t other);

static inline bool corpus_is_held_out(const struct corpus *c, size_t file)
{
	return c->families[c->files[file].family].held_out;
}

#endif
