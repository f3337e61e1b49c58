/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/act/export/export.h"
#include "tests/fuzz/fuzz.h"

/* Exports, which come from elsewhere: compressed or not, damaged or cut. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char path[40];
	struct export_reader r;
	int fd = memfd_create("export", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	export_open(&r, path);
	while (export_next(&r))
		;
	export_close(&r);
	close(fd);
	return 0;
}
