/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_DIGEST_JOB_H
#define CORE_CLI_DIGEST_JOB_H

#include "core/cli/cli.h"

/* kin digest, between its options and what it prints of each file. */
struct digest_job;

struct digest_style {
	void (*begin)(struct digest_job *job); /* may be NULL */
	/* Prints what there is to say of the content of fd.  path is for
	 * messages and output, "-" for standard input. */
	int (*file)(struct digest_job *job, int fd, const char *path);
	void (*end)(struct digest_job *job); /* may be NULL */
};

struct digest_job {
	struct reader reader;
	const struct digest_style *style;
	const struct digest_info *only; /* -a */
	const struct foreign *foreign;  /* --format */
	unsigned threads;               /* -j */
	bool recursive;
	bool failed;
	size_t printed;
};

/* digest_print.c */
extern const struct digest_style style_attributes, style_sums, style_json,
	style_foreign;

/* digest_original.c */
extern const struct digest_style style_si2, style_sif_classic;

/* "value  path" as sha256sum prints it. */
void print_sum(const char *value, const char *path);

#endif
