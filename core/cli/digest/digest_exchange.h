/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_DIGEST_DIGEST_EXCHANGE_H
#define CORE_CLI_DIGEST_DIGEST_EXCHANGE_H

#include "core/cli/cli.h"

/* What the formats of other programs need besides our digests. */

/* The cryptographic hashes of a content, in hex. */
struct content_sums {
	uint64_t size;
	char md5[33], sha256[65];
};

/* ---- STIX 2.1 (OASIS) ---- */

enum { STIX_ID_BYTES = 64 };

/* Appends the object of a file (6.7).  directory_id: of the directory that it
 * is in, or NULL; name: NULL for a content without one. */
int stix_append_file(struct buf *out, const struct content_sums *sums,
		     const char *ssdeep, const char *name,
		     const char *directory_id);

/* Appends the object of a directory (6.5). */
int stix_append_directory(struct buf *out, const char *path);

/* The identifier of the directory: deterministic, UUIDv5 (2.9). */
int stix_directory_id(const char *path, char out[STIX_ID_BYTES]);

/* What a bundle (8) begins with; its identifier is random. */
int stix_append_bundle(struct buf *out);

#endif
