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

/*
 * Less text than the least, in bytes of the folded text, says nothing.  Neither
 * does a caption: fewer than so many distinct windows beside so many times as many
 * bytes that were not read.  A stamp on scans, the labels of a form and what stands
 * below photographs are the same in files that have nothing in common.
 */
enum {
	EXTRACT_TEXT_LEAST = 200,
	EXTRACT_CAPTION_WINDOWS = 1024,
	EXTRACT_CAPTION_SHARE = 10,
};

/* Makes a sketch of all pieces of a file, the end the last of them, of which the
 * result is completed: of a caption EXTRACT_NO_TEXT, the bytes that were not read
 * those of all members.  NULL: there is no text but the bytes, or too little. */
void extract_sketch_begin(struct extract_sketch *s);
void extract_sketch_add(struct extract_sketch *s,
			const struct extract_piece *piece);
const struct sketch *extract_sketch_end(struct extract_sketch *s,
					struct extract_result *result);

/* Reads the text of a descriptor to its end, see extract_begin(), in one call.
 * -EIO: there is no process to read it. */
int extract_sketch_read(struct extract_sketch *s, struct extract_client *client,
			int fd, uint32_t owner, const struct sketch **out,
			struct extract_result *result_out);

#endif
