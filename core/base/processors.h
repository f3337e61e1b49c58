/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_PROCESSORS_H
#define CORE_BASE_PROCESSORS_H

/* How many processors the calling thread may run on: those of its cpuset or
 * of taskset(1), not all that the machine has.  At least 1. */
unsigned processors_usable(void);

#endif
