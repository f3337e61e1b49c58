/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_REPORTS_H
#define TESTS_EVAL_REPORTS_H

#include "tests/eval/floors.h"

/* Many reports made from one template: whether all others are listed for each,
 * though all that they share very many contents have.  Prints a line. */
void reports_evaluate(struct figures *figures);

#endif
