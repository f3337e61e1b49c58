/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_PASSAGES_H
#define TESTS_EVAL_PASSAGES_H

#include "tests/eval/floors.h"
#include "tests/eval/list.h"

/*
 * How many common passages of two contents that have nothing else in common the
 * relation INDEX_SHARES finds, by class of material, sizes of the contents and
 * length of the passage; how many entries are of contents that share no
 * passage; and how far off the bytes in common are.
 *
 * Pairs are made of each material that is generated and, if the list is not NULL,
 * of those that are found in its files.  Prints a table.
 */
void passages_evaluate(const struct list *list, struct figures *figures);

#endif
