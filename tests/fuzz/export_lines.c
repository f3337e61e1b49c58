/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/act/export/export.h"
#include "tests/fuzz/fuzz.h"

/* Exports, which come from elsewhere: compressed or not, damaged or cut. */

/* A tree has all that it has itself. */
static void compare(const struct export_source *source, uint64_t files)
{
	struct missing m;
	size_t i;

	assert_int_equal(missing_find(&m, source, source, 60), 0);
	assert_int_equal(m.count, files);
	for (i = 0; i < m.count; i++)
		assert_true(m.files[i].is_there);
	missing_release(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char path[40];
	const struct export_source source = { .path = path };
	struct export_reader r;
	uint64_t files;
	bool ended;
	int err, fd = memfd_create("export", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = export_open(&r, &source);
	while (!err && (err = export_next(&r)) > 0)
		err = 0;
	ended = !err && r.ended;
	files = r.files;
	export_close(&r);
	if (ended)
		compare(&source, files);
	close(fd);
	return 0;
}
