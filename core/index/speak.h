/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_SPEAK_H
#define CORE_INDEX_SPEAK_H

#include "core/digest/digest.h"

/*
 * The SiSe score of two contents where it means something.  Private to
 * core/index and its tests.
 *
 * -ENODATA when the signatures have nothing to say about each other: no
 * common block size, too few pairs, or mostly repeated ones.  Contents that
 * are all zeros or periodic have signatures like that, equal for unrelated
 * files; a part of a single pair is equal by chance once in 4096.
 * Else as digest_compare().
 */
int speak_sise(const struct digests *a, const struct digests *b,
	       int *score_out);

#endif
