/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_TEXT_TEXT_SIF_H
#define CORE_DIGEST_TEXT_TEXT_SIF_H

#include "core/digest/sif/sif.h"
#include "core/digest/text/text.h"

/*
 * The sketch of the normalised text of a content (text.h): sif.h of that text,
 * with half as many values as a content of its size keeps.  The text of a copy
 * in another layout is the same, and then any number of values tells it.
 */
struct text_sif {
	struct text_stream stream;
	struct sif sif;
};

/* How many values the sketch of a text of so many bytes has. */
size_t text_sif_values(uint64_t text_size);

int text_sif_init(struct text_sif *t);

/* size is that of the content, UINT64_MAX if it is not known; it does not
 * change the result. */
void text_sif_begin(struct text_sif *t, uint64_t size);
void text_sif_update(struct text_sif *t, const void *data, size_t len);
void text_sif_update_zeros(struct text_sif *t, uint64_t len);

/* -ENODATA: the content is no text, or its text has no window that counts. */
int text_sif_final(struct text_sif *t, struct sif_sketch *out);

#endif
