/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CHECK_CHECK_IMPL_H
#define CORE_CHECK_CHECK_IMPL_H

#include "core/digest/fingerprint.h"
#include "core/check/check.h"

struct check {
	const struct check_options *options;
	struct check_counts *counts;
	dev_t source_dev;
	struct file_key root;
	struct fingerprint *fp; /* NULL: no file is read */
	char *chunk;
};

bool check_is_stopping(const struct check *a);

/* Counts a finding and reports it. */
void check_report_finding(struct check *a, enum check_kind kind,
			  const char *path, const char *text);

/* The whole tree against the catalog. */
int check_tree(struct check *a);

/* A file whose record of that key and content holds at its identity. */
struct check_subject {
	struct file_key key;
	struct file_record record;
	const char *path;
};

/* Digests the regular file behind an O_PATH descriptor again. */
int check_file(struct check *a, int path_fd, const struct check_subject *s);

#endif
