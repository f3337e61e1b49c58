/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_SDHASH_SDHASH_IMPL_H
#define CORE_KERNEL_SDHASH_SDHASH_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernel/sdhash/sdhash.h"

#define SDHASH_RANKS 1001
#define SDHASH_ENTROPY_SHIFT 10

extern const int32_t sdhash_entropy[SDHASH_WINDOW + 1];
extern const uint16_t sdhash_rank[SDHASH_RANKS];

#endif
