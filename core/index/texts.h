/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_TEXTS_H
#define CORE_INDEX_TEXTS_H

#include "core/index/index.h"

/*
 * An index of texts: an index of its own whose sketches are those of the texts
 * of the contents (digest/text/text_sif.h).  A content that is no text is not
 * in it.  Sizes in it are those of the texts, as their sketches tell them, and
 * nothing is found by SimHash or traits, which are those of the bytes.
 */

/* What such an index is given or asked with. */
struct digests texts_digests(const struct sif_sketch *sketch);

/* index_add() of a text. */
int texts_add(struct index *texts, uint32_t content,
	      const struct sif_sketch *sketch);

#endif
