/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "core/act/export/export.h"
#include "tests/fuzz/fuzz.h"

/* Exports, which come from elsewhere: compressed or not, damaged or cut. */

static FILE *copy_of(FILE *in, char **bytes_out)
{
	size_t len;
	FILE *copy = open_memstream(bytes_out, &len);
	int c;

	assert_non_null(copy);
	rewind(in);
	while ((c = getc(in)) != EOF)
		(void)putc(c, copy);
	assert_int_equal(fclose(copy), 0);
	copy = fmemopen(*bytes_out, len, "r");
	assert_non_null(copy);
	return copy;
}

/* A tree has all that it has itself. */
static void compare(FILE *in, uint64_t files)
{
	char *bytes;
	const struct export_source one = { .copy = copy_of(in, &bytes) },
				   other = { .copy = in };
	struct missing m;
	size_t i;

	assert_int_equal(missing_find(&m, &one, &other, 60), 0);
	assert_int_equal(m.count, files);
	for (i = 0; i < m.count; i++)
		assert_true(m.files[i].is_there);
	missing_release(&m);
	fclose(one.copy);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	FILE *in = len ? fmemopen((void *)data, len, "r") : NULL;
	struct export_reader r;
	int err;

	if (!in)
		return 0;
	err = export_open(&r, in);
	while (!err && (err = export_next(&r)) > 0)
		err = 0;
	if (!err && r.ended) {
		uint64_t files = r.files;

		export_close(&r);
		compare(in, files);
	} else {
		export_close(&r);
	}
	fclose(in);
	return 0;
}
