/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_CORPUS_H
#define TESTS_EVAL_CORPUS_H

#include <stdbool.h>

#include "core/digest/digest.h"
#include "core/digest/fingerprint.h"
#include "tests/eval/edits.h"

/*
 * The contents that are evaluated: each once, with its digests and with what
 * is needed to have its bytes again.
 *
 * Contents that are meant to be alike are a family: a base and its edits, or
 * the versions of a file.  A hash of the family's name puts it into one of
 * two halves: constants may be fitted to one, figures come from the other.
 */
struct base {
	struct bytes content; /* borrowed for as long as the corpus lives */
	struct bytes donor;   /* the same */
};

struct file {
	char *name;
	uint32_t family;
	struct digests digests;
	char *path; /* NULL: it is base, edited when edit.amount is not 0 */
	uint32_t base;
	struct edit edit;
};

struct family {
	char *name;
	bool held_out;
	bool star; /* the first member is the base of all others */
	uint32_t *members;
	size_t count;
};

struct corpus {
	struct file *files;
	size_t count;
	struct family *families;
	size_t family_count;
	struct base *bases;
	size_t base_count;
	uint64_t bytes; /* of all contents */
	size_t repeats; /* contents that were there already */
	size_t most;    /* files */
	void *seen;
	void *names; /* of families of versions */
	struct fingerprint *fingerprint;
};

/*
 * Which windows are in a sketch depends on their bytes alone.  So of contents that
 * have much in common all sketches have the same few of these windows or the same
 * few not, and a figure of them is one draw of a lottery.  Each draw but 0 exchanges
 * letters for letters, digits for digits and other bytes for such in all contents
 * before they are digested: what they share stays, the samples are others.
 */
void set_draw(unsigned draw);
void digest_content(struct fingerprint *fingerprint,
		    const struct bytes *content, struct digests *out);

/* Files are not taken once there are that many. */
void corpus_init(struct corpus *c, size_t most);
void corpus_release(struct corpus *c);

/* A family of that name with one member, the content as it is. */
void corpus_add_base(struct corpus *c, const char *name,
		     const struct base *base);

/* One more member of the family that was added last. */
void corpus_add_edit(struct corpus *c, const struct edit *e);

/* A file; key names the family of its versions. */
void corpus_add_file(struct corpus *c, const char *path, const char *key);

/* The bytes again; the caller frees them. */
struct bytes corpus_read(const struct corpus *c, size_t file);

/* A whole file; the caller frees it.  False when it cannot be read, is not a
 * regular file, is empty or has more than most bytes. */
bool file_read(const char *path, size_t most, struct bytes *out);

#endif
