/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/cli/cli.h"
#include "core/cli/record.h"
#include "core/digest/reference/rdc_signature.h"

/* A file that begins like one of signatures, whole.  -ENODATA for others. */
static int read_signatures(const char *path, struct buf *out)
{
	char piece[4096];
	struct stat st;
	size_t got;
	FILE *file;
	int err = 0;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return -ENODATA;
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (!err && (got = fread(piece, 1, sizeof(piece), file)) > 0) {
		err = buf_append(out, piece, got);
		if (!err && !rdc_signature_begins(out->data, out->len))
			err = -ENODATA;
	}
	if (!err && (ferror(file) || out->len == 0))
		err = ferror(file) ? -EIO : -ENODATA;
	fclose(file);
	return err;
}

static int print_shared(const struct rdc_signature *a,
			const struct rdc_signature *b, bool json)
{
	uint64_t ab, ba;
	int err = rdc_signature_shared(a, b, &ab);

	if (!err)
		err = rdc_signature_shared(b, a, &ba);
	if (err) {
		cli_complain_errno(NULL, err);
		return EXIT_FAILED;
	}
	if (json) {
		struct record r;

		record_begin(&r);
		record_number(&r, "a_size", (int64_t)a->size);
		record_number(&r, "a_shared", (int64_t)ab);
		record_number(&r, "b_size", (int64_t)b->size);
		record_number(&r, "b_shared", (int64_t)ba);
		return record_print(&r);
	}
	printf("%" PRIu64 " of %" PRIu64
	       " bytes of A are in chunks that B has\n"
	       "%" PRIu64 " of %" PRIu64
	       " bytes of B are in chunks that A has\n",
	       ab, a->size, ba, b->size);
	return EXIT_OK;
}

bool compare_signatures(const char *const paths[2], bool json, int *code_out)
{
	struct rdc_signature signatures[2];
	struct buf data[2] = { { 0 }, { 0 } };
	bool both = true;
	int i, err = 0;

	for (i = 0; i < 2 && both; i++)
		both = read_signatures(paths[i], &data[i]) == 0;
	for (i = 0; i < 2 && both && !err; i++) {
		err = rdc_signature_parse(data[i].data, data[i].len,
					  &signatures[i]);
		if (err)
			cli_complain(paths[i], "malformed signature file");
	}
	if (both)
		*code_out = err ? EXIT_FAILED :
				  print_shared(&signatures[0], &signatures[1],
					       json);
	buf_release(&data[0]);
	buf_release(&data[1]);
	return both;
}
