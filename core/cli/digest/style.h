/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_DIGEST_STYLE_H
#define CORE_CLI_DIGEST_STYLE_H

#include "core/cli/cli.h"

/*
 * A form in which kin digest prints a content.
 */
struct digest_style {
	const char *name;  /* of --format; or NULL */
	const char *begin; /* before all; may be NULL */
	bool has_titles;   /* before all: "size", the digests, "path" */
	const char *end;   /* behind each content */
	/* How the first line of such a list begins; NULL: it is not read. */
	const char *magic;
	const struct digest_ops *only; /* the one digest that it has; or NULL */
	uint32_t set; /* the digests that it needs; 0: those asked for */
	/* Appends the digests that d has, or the only one.  Several threads may
	 * call it.  path is "-" for standard input. */
	int (*format)(const struct digests *d, const struct digest_ops *only,
		      const char *path, struct buf *out);
};

/* Sums and what is alone are of any one digest. */
extern const struct digest_style style_attributes, style_sums, style_json,
	style_alone;

/* Those that have a name, ended by one without.  Those with a magic are lists as
 * the original programs write them, and come first. */
extern const struct digest_style digest_formats[];

/* Names, for options: of digests, and of formats. */
const char *digest_name(size_t i);
const char *digest_format_name(size_t i);

#endif
