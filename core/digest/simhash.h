/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SIMHASH_H
#define CORE_DIGEST_SIMHASH_H

#include <stddef.h>
#include <stdint.h>

#include "core/digest/window_sample.h"
#include "core/kernel/window/window.h"

/*
 * SimHash (Charikar 2002) as the Similarity Index v2.0 builds it: the sum of
 * the signs of the hashes of distinct shingles.  A shingle is a window of 8
 * bytes, its hash is XXH3; a file shorter than that is one shingle.
 *
 * Up to SIMHASH_SAMPLE distinct windows all count.  Of more, those with the
 * smallest keys stand for all; the key is XXH3 with seed 1, which gives no two
 * windows the same key.  A digest of 64 bits tells a share to about 1 in 20; a
 * sample of this size adds little to that error, and larger ones cost more than
 * the rest of the digest.
 */
#define SIMHASH_WINDOW 8
#define SIMHASH_SAMPLE 256

struct simhash {
	const struct kernel_window *ops;
	struct window_sample sample; /* keys */
};

/* 135 KiB, of which a small file touches little.  Not to be copied. */
void simhash_init(struct simhash *s);
void simhash_update(struct simhash *s, const void *data, size_t len);
/* Adds zero bytes as if they were data; many take no longer than some. */
void simhash_update_zeros(struct simhash *s, uint64_t len);

/* 0 for an empty file.  s must be initialised before it is used again. */
uint64_t simhash_final(struct simhash *s);

#endif
