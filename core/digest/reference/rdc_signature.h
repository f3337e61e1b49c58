/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_REFERENCE_RDC_SIGNATURE_H
#define CORE_DIGEST_REFERENCE_RDC_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Signature files, [MS-RDC] 2.2.2: a header, and for each chunk of a file, in
 * order, its MD4 and its length.  What msrdc writes for the same file with the
 * same window and horizon has the same bytes.
 */
#define RDC_SIGNATURE_HEADER 24
#define RDC_SIGNATURE_RECORD 18

/* Takes the next bytes; returns 0 or a negative errno. */
typedef int rdc_signature_write_fn(void *arg, const void *data, size_t len);

struct rdc_signature_writer {
	rdc_signature_write_fn *write;
	void *arg;
	int err; /* the first error; nothing is written after it */
};

/* Writes the header. */
void rdc_signature_begin(struct rdc_signature_writer *writer,
			 rdc_signature_write_fn *write, void *arg);

/* An rdc_chunk_fn with a writer as its argument: writes a record.  When the
 * last chunk has come the file is complete if err is 0. */
void rdc_signature_add(void *writer, const uint8_t md4[16], uint16_t length);

/* An rdc_signature_write_fn that appends to a struct buf. */
int rdc_signature_append(void *buf, const void *data, size_t len);

#endif
