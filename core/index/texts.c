/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/texts.h"

struct digests texts_digests(const struct sif_sketch *sketch)
{
	return (struct digests){ .size = sketch->distinct + sketch->window -
					 1 };
}

int texts_add(struct index *texts, uint32_t content,
	      const struct sif_sketch *sketch)
{
	struct digests d = texts_digests(sketch);

	return index_add(texts, content, &d, sketch);
}
