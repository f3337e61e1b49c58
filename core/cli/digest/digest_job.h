/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_DIGEST_DIGEST_JOB_H
#define CORE_CLI_DIGEST_DIGEST_JOB_H

#include "core/cli/cli.h"

/*
 * kin digest.  digest.c has the options and a file, digest_all.c digests all
 * them side by side, digest_print.c and digest_original.c say what is printed of
 * each.
 */
struct digest_job;

/* One of the two functions; several threads may call it, a reader each.  path is
 * "-" for standard input. */
struct digest_style {
	const char *name;  /* of --format; or NULL */
	const char *begin; /* before all; may be NULL */
	/* Of a list that is read, too: how it begins, and the one digest that it
	 * has; NULL: it is not read. */
	const char *magic;
	enum digest_id id;
	/* Appends what there is to say of a content by its digests. */
	int (*format)(const struct digest_job *job, const struct digests *d,
		      const char *path, struct buf *out);
	/* The same of a content that it reads itself. */
	int (*content)(struct reader *r, int fd, const char *path,
		       struct buf *out);
};

struct digest_job {
	const struct digest_style *style;
	uint32_t digest_set;
	const struct digest_ops *only; /* -a */
	const char *format;            /* --format */
	uint64_t threads;              /* -j */
	bool json, si2, sif_classic, rdc_signatures;
	bool sdhash, tlsh, sha256; /* these, too */
	bool recursive, failed;
	size_t printed; /* files */
};

/* digest.c.  follow: the path was named by the user, so "-" is standard input and
 * links are followed. */
int digest_file(const struct digest_job *job, struct reader *r,
		const char *path, bool follow, struct buf *out);
void digest_fail(struct digest_job *job, const char *path, int err);
void digest_tell(struct digest_job *job, const char *path, int err,
		 const struct buf *output);

/* digest_print.c */
extern const struct digest_style style_attributes, style_sums, style_json,
	style_csv;

/* Lists as the original programs write them, ended by one without a name. */
extern const struct digest_style foreign_styles[];

/* Of these, by the first line of a list; NULL: it is none. */
const struct digest_style *foreign_by_line(const char *line);

/* digest_original.c */
extern const struct digest_style style_hashdeep, style_si2, style_sif_classic,
	style_rdc_signatures;

/* "value  path" as sha256sum prints it. */
int digest_append_sum(struct buf *out, const char *value, const char *path);

/* The absolute path of a file, or "stdin" for "-". */
int digest_append_name(struct buf *out, const char *path);

/* digest_all.c: the files in order, by threads side by side.  -ENOMEM. */
int digest_all(struct digest_job *job, char **paths);

#endif
