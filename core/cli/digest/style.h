/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_DIGEST_STYLE_H
#define CORE_CLI_DIGEST_STYLE_H

#include "core/cli/cli.h"

/*
 * A form in which kin digest prints a content: one of two functions, which
 * several threads may call, a reader each.  path is "-" for standard input.
 */
struct digest_style {
	const char *name;  /* of --format; or NULL */
	const char *begin; /* before all; may be NULL */
	/* Of a list that is read, too: how it begins, and the one digest that it
	 * has; NULL: it is not read. */
	const char *magic;
	enum digest_id id;
	/* Appends what there is to say of a content by its digests, or by one of
	 * them; only is NULL: by all. */
	int (*format)(const struct digests *d, const struct digest_ops *only,
		      const char *path, struct buf *out);
	/* Instead of format: reads the content itself. */
	int (*content)(struct reader *r, int fd, const char *path,
		       struct buf *out);
};

extern const struct digest_style style_attributes, style_sums, style_json,
	style_si2, style_sif_classic, style_rdc_signatures;

/* Those that have a name, ended by one without.  Those with a magic are lists as
 * the original programs write them, and come first. */
extern const struct digest_style digest_formats[];

/* Of these lists, by the first line; NULL: it is none. */
const struct digest_style *foreign_by_line(const char *line);

#endif
