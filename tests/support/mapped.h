/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_MAPPED_H
#define TESTS_SUPPORT_MAPPED_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"

/* KiB of a file that are in the memory of this process by a mapping. */
static inline size_t mapped_kib(const char *path)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	char line[512];
	bool ours = false;
	size_t kib = 0, n;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (strstr(line, " /") || strstr(line, "-p "))
			ours = strstr(line, path) != NULL;
		if (ours && sscanf(line, "Rss: %zu", &n) == 1)
			kib += n;
	}
	(void)fclose(maps);
	return kib;
}

#endif
