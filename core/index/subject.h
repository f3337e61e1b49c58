/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_SUBJECT_H
#define CORE_INDEX_SUBJECT_H

#include "core/digest/sketch/sketch.h"

/*
 * What is compared: a content with all that speaks for it.  A document or an
 * archive has a text beside its bytes (core/extract/client.h).
 */
enum subject_part { SUBJECT_BYTES, SUBJECT_TEXT };
enum { SUBJECT_PARTS = SUBJECT_TEXT + 1 };

/* "bytes", "text". */
extern const char *const subject_part_names[SUBJECT_PARTS];

struct subject {
	const struct sketch *sketches[SUBJECT_PARTS]; /* borrowed; NULL: none */
};

/* Of a content that has no text, or of a directory. */
static inline struct subject subject_of_bytes(const struct sketch *sketch)
{
	return (struct subject){ .sketches = { [SUBJECT_BYTES] = sketch } };
}

#endif
