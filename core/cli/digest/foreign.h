/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_DIGEST_FOREIGN_H
#define CORE_CLI_DIGEST_FOREIGN_H

#include "core/base/buf.h"
#include "core/digest/digest.h"

/* The files of digests that the original programs write. */
struct foreign {
	const char *name; /* on the command line */
	enum digest_id id;
	const char *header; /* the first line; "": there is none */
	const char *magic;  /* how a file begins */
};

/* NULL if there is none of that name. */
const struct foreign *foreign_find(const char *name);

/* By the first line of such a file.  NULL: it is none. */
const struct foreign *foreign_by_line(const char *line);

/* Appends the absolute path of a file, or "stdin" for "-". */
int foreign_append_name(const char *path, struct buf *out);

/* Appends the line of a content.  -EILSEQ: the name can not
 * be told in this format; -ENODATA: the content has no such digest. */
int foreign_format(const struct foreign *f, const struct digests *d,
		   const char *path, struct buf *out);

#endif
