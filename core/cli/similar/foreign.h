/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_SIMILAR_FOREIGN_H
#define CORE_CLI_SIMILAR_FOREIGN_H

#include "core/base/buf.h"
#include "core/digest/digest.h"

/* The files of digests that the original programs write and read. */
struct foreign {
	const char *name; /* on the command line */
	enum digest_id id;
	const char *header; /* the first line; "": there is none */
	const char *magic;  /* how a file begins */
};

/* NULL if there is none of that name. */
const struct foreign *foreign_find(const char *name);

/* Appends the line of a content.  -EILSEQ: the name can not
 * be told in this format; -ENODATA: the content has no such digest. */
int foreign_format(const struct foreign *f, const struct digests *d,
		   const char *path, struct buf *out);

/*
 * The first digest of such a file, with all its segments.  -ENODATA when the
 * file is none of these; -EINVAL when it begins like one and is malformed, or
 * has no digest.
 */
int foreign_read(const char *path, struct digests *out);

#endif
