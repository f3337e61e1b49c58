/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_XXH3_H
#define CORE_BASE_XXH3_H

/*
 * The library's XXH3.  For x86-64 it is built for the least processor, and has
 * variants for better ones under names of their own: this header, where there
 * is one, has XXH3_128bits_update and the like mean the best that runs.
 */
#include <xxhash.h>

#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif
#endif

#endif
