/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_FINGERPRINT_H
#define CORE_DIGEST_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

#include "core/digest/digest.h"

/*
 * All digests of a byte stream in one pass.
 *
 * One struct fingerprint serves one thread and any number of streams, one
 * after the other: begin, update..., final.  Its memory is allocated once,
 * under 4 MiB whatever the length of the stream, but for sdhash and digests that
 * are no attributes, which grow with it.  The result does not depend on how the
 * stream is cut into updates.
 */
struct fingerprint;

/*
 * digest_set: DIGEST_BIT()s; XXH128 is always added, and what no bytes tell
 * (DIGEST_PDQ) is left out.  -ENOMEM.
 */
int fingerprint_new(uint32_t digest_set, struct fingerprint **out);
void fingerprint_free(struct fingerprint *fp);

/* The key is borrowed until fingerprint_free().  Called before the first begin
 * if the set has DIGEST_IDENTITY. */
void fingerprint_set_key(struct fingerprint *fp, const struct digest_key *key);

/*
 * Begins a file, and forgets what came before.  Its name (borrowed until final)
 * stands in the sdhash.  Its size, UINT64_MAX if it is not known, decides of
 * which kind the sdhash is, and spares work.  A line of the sdhash is at most
 * sdhash_most bytes long, else update or final fail with -E2BIG, begin already
 * where that is clear.  -ESTALE when the stream is longer, or shorter and that
 * matters.
 */
int fingerprint_begin_file(struct fingerprint *fp, const char *name,
			   uint64_t size, size_t sdhash_most);

/* A stream of any size; sdhash calls it as the original calls standard input. */
static inline int fingerprint_begin(struct fingerprint *fp)
{
	return fingerprint_begin_file(fp, "stdin", UINT64_MAX, SIZE_MAX);
}

/* len may be 0. */
int fingerprint_update(struct fingerprint *fp, const void *data, size_t len);

/* Adds zero bytes as if they were data.  XXH128 and the identity go over all of
 * them, and so do sdhash, TLSH and SHA-256, each at its own speed, when they are in the set. */
int fingerprint_update_zeros(struct fingerprint *fp, uint64_t len);

/* The digests of everything since begin; the caller releases them. */
int fingerprint_final(struct fingerprint *fp, struct digests *out);

#endif
