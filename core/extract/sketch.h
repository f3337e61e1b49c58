/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXTRACT_SKETCH_H
#define CORE_EXTRACT_SKETCH_H

#include "core/digest/sketch/sketch.h"
#include "core/extract/client.h"

/*
 * The sketch of a text (core/digest/sketch/sketch.h): of a document its words, of
 * an archive its members, each by its text if it is a document.
 */
struct extract_sketch; /* 1.6 MiB; for one thread at a time */

struct extract_sketch *extract_sketch_new(void); /* NULL: no memory */
void extract_sketch_free(struct extract_sketch *s);

/* Less text than this, in bytes of the folded text, says nothing. */
enum { EXTRACT_TEXT_LEAST = 200 };

/* Reads the text of a descriptor to its end, see extract_begin().  *out is its
 * sketch, of s; NULL: it has no other text than its bytes, or too little, and
 * result_out says more.  -EIO: there is no process to read it. */
int extract_sketch_read(struct extract_sketch *s, struct extract_client *client,
			int fd, uint32_t owner, const struct sketch **out,
			struct extract_result *result_out);

#endif
