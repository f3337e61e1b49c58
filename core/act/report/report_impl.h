/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_REPORT_REPORT_IMPL_H
#define CORE_REPORT_REPORT_IMPL_H

#include <jansson.h>

#include "core/base/buf.h"
#include "core/act/report/report.h"

/* ---- report.c ---- */

struct report {
	struct buf groups, pairs, unread; /* items of JSON, commas between */
	size_t group_count, file_count;
	uint64_t exact_bytes, near_bytes;
	json_t *saved; /* by paths of directories: bytes in copies below */
	json_t *alike; /* likewise: the directory that it stands for, if any */
	char *root;    /* of the groups; or NULL */
	/* For report_next_directory(): owned. */
	struct report_ranked *ranked;
	size_t ranked_count, ranked_at;
};

/* Writes the data as base64.  -ENOMEM, or as report_put(). */
int report_write_data(const struct report *r, FILE *out);

/* ---- page.c ---- */

/* The error of a stream that cannot be written to. */
int report_put(FILE *out, const void *data, size_t len);

/* ---- asset.c ---- */

/* A file of the page, in the program. */
struct report_asset {
	const char *start, *end;
};

extern const struct report_asset report_template, report_style, report_licence;

/* The scripts of the page in their order, each an element of its own. */
enum { REPORT_SCRIPTS = 12 };
extern const struct report_asset report_scripts[REPORT_SCRIPTS];

#endif
