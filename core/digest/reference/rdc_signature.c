/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/reference/rdc_signature.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/bytes.h"

/* [MS-RDC] 2.2.1.2. */
#define VERSION UINT32_C(0x00010001) /* library 1, build 1 */
#define FILE_TYPE 1

/* The length stands behind the MD4. */
#define LENGTH 16

static void write_bytes(struct rdc_signature_writer *writer, const void *data,
			size_t len)
{
	if (!writer->err)
		writer->err = writer->write(writer->arg, data, len);
}

void rdc_signature_begin(struct rdc_signature_writer *writer,
			 rdc_signature_write_fn *write, void *arg)
{
	uint8_t header[RDC_SIGNATURE_HEADER] = { 0 };

	*writer = (struct rdc_signature_writer){ write, arg, 0 };
	store_le32(header, sizeof(header));
	store_le32(header + 4, VERSION);
	store_le32(header + 8, VERSION); /* that a reader needs */
	store_le64(header + 16, FILE_TYPE);
	write_bytes(writer, header, sizeof(header));
}

void rdc_signature_add(void *writer, const uint8_t md4[16], uint16_t length)
{
	uint8_t record[RDC_SIGNATURE_RECORD];

	memcpy(record, md4, LENGTH);
	store_le16(record + LENGTH, length);
	write_bytes(writer, record, sizeof(record));
}

int rdc_signature_append(void *buf, const void *data, size_t len)
{
	return buf_append(buf, data, len);
}
