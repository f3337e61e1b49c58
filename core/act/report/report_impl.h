/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_REPORT_REPORT_IMPL_H
#define CORE_REPORT_REPORT_IMPL_H

#include <jansson.h>

#include "core/base/buf.h"
#include "core/act/report/report.h"

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

/* Appends the data as base64.  -ENOMEM. */
int report_append_data(const struct report *r, struct buf *out);

#endif
