/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_TLSH_TLSH_IMPL_H
#define CORE_DIGEST_TLSH_TLSH_IMPL_H

#include "core/digest/tlsh/tlsh.h"

/* Private to this folder. */

enum { TLSH_LENGTHS = 170 };

extern const uint8_t tlsh_pearson[256];
extern const uint32_t tlsh_lengths[TLSH_LENGTHS];

#endif
