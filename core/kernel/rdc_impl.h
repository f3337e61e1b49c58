/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_RDC_IMPL_H
#define CORE_KERNEL_RDC_IMPL_H

#include "core/kernel/rdc.h"

void rdc_hash_block_scalar(const struct kernel_rolling *rolling,
			   const uint8_t *data, size_t count, uint32_t hash,
			   uint32_t *hashes_out);

#endif
