/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_ATTACHMENT_H
#define CORE_CATALOG_ATTACHMENT_H

#include "core/base/buf.h"
#include "core/catalog/catalog.h"

/*
 * The attachment of a catalog: bytes that follow from its records, which their
 * owner wants to have at the next start (catalog_attach()).
 *
 *   text of the seal   as in the seal's file: of the state they belong to
 *   bytes
 *   digest             16 bytes, XXH128 of all before
 *
 * So they are taken for nothing else than what was written with the data file
 * as it is, also if the catalog was changed by a kinfs that does not know of
 * attachments.  They are removed with the seal.
 *
 * They are no record of the data file, which an earlier kinfs would take for
 * damage, and where they would leave a hole as long as they are not valid.
 */
#define ATTACHMENT_FILE "frequencies"
#define ATTACHMENT_MAX (64 << 20) /* bytes; a larger file is none */

/* Of a sealed catalog.  Does nothing if the bytes are there already. */
int attachment_write(const char *directory, const struct buf *bytes);

/* Calls use() with the bytes and returns what it returns.  -ENOENT: there are
 * none that belong to the seal, which the caller has checked. */
int attachment_read(const char *directory, catalog_attachment_fn *use,
		    void *arg);

void attachment_remove(const char *directory);

#endif
