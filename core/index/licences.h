/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_LICENCES_H
#define CORE_INDEX_LICENCES_H

#include "core/digest/sketch/sketch.h"

/*
 * Known texts of licences, and of the headers that these want in every file: those
 * of the SPDX list (scripts/licences).  As comment marks and line ends are folded
 * away, a header has the same windows in a program as in a script.  Two files that
 * have nothing else in common are not alike, also where they are the only two.
 */

/* Whether the value of a sketch is that of a window of a licence. */
bool licence_has(uint64_t value);

/* The percentage of the values of a sketch that are of licences, and the one that
 * most of them are of, by its name in the SPDX list (static storage); NULL: of
 * none. */
int licence_percentage(const struct sketch *sketch, const char **name_out);

#endif
