/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_DIGEST_DIGEST_JOB_H
#define CORE_CLI_DIGEST_DIGEST_JOB_H

#include "core/cli/cli.h"

/* kin digest, between its options and what it prints of each file. */
struct digest_job;

struct digest_style {
	/* Before and between what is said of the files; may be NULL. */
	const char *begin, *between;
	/* Appends what there is to say of the content of fd; path "-" is
	 * standard input.  Several threads may call it, a reader each. */
	int (*file)(const struct digest_job *job, struct reader *r, int fd,
		    const char *path, struct buf *out);
};

struct digest_job {
	const struct digest_style *style;
	uint32_t digest_set;
	const struct digest_ops *only; /* -a */
	const struct foreign *foreign; /* --format */
	unsigned threads;              /* -j */
	bool sdhash, tlsh, sha256;     /* these, too: */
	uint32_t more;
	bool recursive;
	struct reader reader;
	struct pool *pool; /* NULL: one file after the other */
	bool failed;
	size_t printed; /* files */
};

/* digest_print.c */
extern const struct digest_style style_attributes, style_sums, style_json,
	style_foreign, style_csv;

/* digest_exchange.c */
extern const struct digest_style style_hashdeep;

/* digest_original.c */
extern const struct digest_style style_si2, style_sif_classic,
	style_rdc_signatures;

/* "value  path" as sha256sum prints it. */
int digest_append_sum(struct buf *out, const char *value, const char *path);

#endif
