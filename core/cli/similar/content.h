/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_SIMILAR_CONTENT_H
#define CORE_CLI_SIMILAR_CONTENT_H

#include <jansson.h>
#include <stdbool.h>

#include "core/act/passages/passages.h"
#include "core/base/buf.h"

/*
 * The passages that two files have in common, by reading both: of documents their
 * texts.
 */

/* A file, or the text of one, in memory. */
struct content {
	struct buf bytes;
	bool has_lines; /* it is a text */
	struct folded_content folded;
};

/* More is not read: the folded content is in memory, too. */
#define CONTENT_MOST ((size_t)1 << 30)

/* -EFBIG: it is larger than CONTENT_MOST.  To be released in any case. */
int content_read(const char *path, struct content *out);
void content_release(struct content *c);

/* Reads the file at a path into other, and finds its passages of at least so many
 * bytes, see passages_find().  Both are the caller's to release in any case. */
int content_compare(const struct content *own, const char *path, size_t least,
		    struct content *other, struct passage **out,
		    size_t *count_out);

/* A passage as JSON: "lines" of the first content and "there" of the second, in
 * words as a list has them, and the bytes by their numbers.  NULL without memory. */
json_t *passage_json(const struct content *a, const struct content *b,
		     const struct passage *p);

#endif
