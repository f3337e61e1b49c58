/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_SUBJECT_H
#define CORE_INDEX_SUBJECT_H

#include <stdbool.h>

#include "core/digest/pdq.h"
#include "core/digest/sketch/sketch.h"

/*
 * What is compared: a content with all that speaks for it.  A document or an
 * archive has a text beside its bytes, a picture a hash of what it shows
 * (core/extract/client.h).
 */
enum subject_part { SUBJECT_BYTES, SUBJECT_TEXT, SUBJECT_PICTURE };
enum {
	SUBJECT_PARTS = SUBJECT_TEXT + 1, /* those that are sketches */
	SUBJECT_SPEAKERS = SUBJECT_PICTURE + 1,
};

/* "bytes", "text", "picture". */
extern const char *const subject_part_names[SUBJECT_SPEAKERS];

struct subject {
	const struct sketch *sketches[SUBJECT_PARTS]; /* borrowed; NULL: none */
	struct pdq picture;                           /* the hash that judges */
	bool has_picture;
};

/* Of a content that has no text, or of a directory. */
static inline struct subject subject_of_bytes(const struct sketch *sketch)
{
	return (struct subject){ .sketches = { [SUBJECT_BYTES] = sketch } };
}

#endif
