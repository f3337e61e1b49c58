/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "core/act/export/export.h"
#include "tests/fuzz/fuzz.h"

/* Exports, which come from elsewhere: compressed or not, damaged or cut. */

/* A tree has all that it has itself. */
static void compare(FILE *in, uint64_t contents)
{
	const struct export_source source = { .copy = in };
	struct export_reader r;
	struct missing m;
	FILE *copy;
	char *bytes;
	size_t len, i;
	int c;

	rewind(in);
	copy = open_memstream(&bytes, &len);
	assert_non_null(copy);
	while ((c = getc(in)) != EOF)
		(void)putc(c, copy);
	assert_int_equal(fclose(copy), 0);
	copy = fmemopen(bytes, len, "r");
	assert_non_null(copy);
	assert_int_equal(export_open(&r, copy), 0);
	assert_int_equal(missing_find(&m, &r, &source, 60), 0);
	assert_int_equal(r.contents, contents);
	for (i = 0; i < m.count; i++)
		assert_true(m.files[i].is_there);
	missing_release(&m);
	export_close(&r);
	fclose(copy);
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
		uint64_t contents = r.contents;

		export_close(&r);
		compare(in, contents);
	} else {
		export_close(&r);
	}
	fclose(in);
	return 0;
}
