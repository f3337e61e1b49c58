/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_SPEAK_H
#define CORE_INDEX_SPEAK_H

#include <stdbool.h>

#include "core/digest/digest.h"
#include "core/digest/sise.h"

/*
 * The SiSe score of two contents where it means something.  Private to
 * core/index and its tests.
 */

/* The signature of a content.  -ENODATA when it has none, -EINVAL when that
 * is malformed; out is not specified then. */
int speak_read(const struct digests *d, struct sise_signature *out);

static inline const struct sise_part *speak_part(
	const struct sise_signature *sig, size_t i)
{
	return i == 0 ? &sig->leading : &sig->secondary;
}

/* A signature that is compared with many.  Must not be copied: it points into
 * itself. */
struct speaker {
	struct sise_signature own;
	bool meaningful[2];
	struct sise_prepared prepared[2];
};

/* As speak_read(). */
int speaker_init(struct speaker *s, const struct digests *d);

/*
 * -ENODATA when the signatures have nothing to say about each other: no
 * common block size, too few pairs, or mostly repeated ones.  Contents that
 * are all zeros or periodic have signatures like that, equal for unrelated
 * files; a part of a single pair is equal by chance once in 4096.
 */
int speak_sise(const struct speaker *s, const struct sise_signature *other,
	       int *score_out);

#endif
