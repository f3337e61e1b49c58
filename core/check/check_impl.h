/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CHECK_CHECK_IMPL_H
#define CORE_CHECK_CHECK_IMPL_H

#include "core/digest/fingerprint.h"
#include "core/check/check.h"

struct audit {
	const struct audit_options *options;
	struct audit_counts *counts;
	dev_t source_dev;
	struct file_key root;
	struct fingerprint *fp; /* NULL: no file is read */
	char *chunk;
};

bool audit_is_stopping(const struct audit *a);

/* Counts a finding and tells it. */
void audit_tell(struct audit *a, enum audit_kind kind, const char *path,
		const char *text);

/* The whole tree against the catalog. */
int audit_tree(struct audit *a);

/* A file whose record of that key and content holds at its identity. */
struct audit_subject {
	struct file_key key;
	struct file_record record;
	const char *path;
};

/* Digests the regular file behind an O_PATH descriptor again. */
int audit_file(struct audit *a, int path_fd, const struct audit_subject *s);

#endif
