/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_SDHASH_SDHASH_IMPL_H
#define CORE_KERNEL_SDHASH_SDHASH_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernel/sdhash/sdhash.h"

/* ---- ranks ---- */

#define SDHASH_RANKS 1001
#define SDHASH_ENTROPY_SHIFT 10

extern const int32_t sdhash_entropy[SDHASH_WINDOW + 1];
extern const uint16_t sdhash_rank[SDHASH_RANKS];

/* ---- SHA-1, FIPS 180-4, of 64 bytes ---- */

/* The hash of nothing yet, section 5.3.1. */
extern const uint32_t sdhash_sha1_start[SDHASH_HASH_WORDS];

/* Section 4.2.1. */
#define SHA1_K0 0x5a827999
#define SHA1_K1 0x6ed9eba1
#define SHA1_K2 0x8f1bbcdc
#define SHA1_K3 0xca62c1d6

#define SHA1_ROUNDS 80

/* What the rounds of the second block add: it is the same for all messages of
 * 64 bytes. */
extern const uint32_t sdhash_sha1_padding[SHA1_ROUNDS];

#endif
