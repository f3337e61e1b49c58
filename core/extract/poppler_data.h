/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXTRACT_POPPLER_DATA_H
#define CORE_EXTRACT_POPPLER_DATA_H

#include <stdbool.h>

/*
 * poppler opens tables of character codes when a document needs them, and
 * without them a Chinese, Japanese or Korean page is silently empty.  A confined
 * process opens nothing: these files are mapped before, and the fopen() of
 * this program, which poppler calls, serves them from memory.
 */
int poppler_data_load(void);

/* Set when a file was asked for that is not there. */
extern bool poppler_data_missed;

#endif
