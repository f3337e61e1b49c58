/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/reference/rdc_signature.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/bytes.h"

/* [MS-RDC] 2.2.1.2. */
#define VERSION UINT32_C(0x00010001) /* library 1, build 1 */
#define FILE_TYPE 1

/* The length stands behind the MD4. */
#define LENGTH 16

/* ---- writing ---- */

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

/* ---- reading ---- */

/* The padding, at 12, is to be ignored. */
static int is_header(const uint8_t *header)
{
	return load_le32(header) == RDC_SIGNATURE_HEADER &&
	       load_le32(header + 4) == VERSION &&
	       load_le32(header + 8) == VERSION &&
	       load_le64(header + 16) == FILE_TYPE;
}

static const uint8_t *record_of(const struct rdc_signature *s, size_t i)
{
	return s->records + i * RDC_SIGNATURE_RECORD;
}

bool rdc_signature_begins(const void *data, size_t len)
{
	return len >= RDC_SIGNATURE_HEADER && is_header(data);
}

int rdc_signature_parse(const void *data, size_t len, struct rdc_signature *out)
{
	struct rdc_signature s = { 0 };
	uint16_t length;
	size_t i;

	if (!rdc_signature_begins(data, len) ||
	    (len - RDC_SIGNATURE_HEADER) % RDC_SIGNATURE_RECORD != 0)
		return -EINVAL;
	s.records = (const uint8_t *)data + RDC_SIGNATURE_HEADER;
	s.count = (len - RDC_SIGNATURE_HEADER) / RDC_SIGNATURE_RECORD;
	for (i = 0; i < s.count; i++) {
		length = load_le16(record_of(&s, i) + LENGTH);
		if (length == 0)
			return -EINVAL;
		s.size += length;
	}
	*out = s;
	return 0;
}

static int compare_records(const void *x, const void *y)
{
	return memcmp(x, y, RDC_SIGNATURE_RECORD);
}

int rdc_signature_shared(const struct rdc_signature *a,
			 const struct rdc_signature *b, uint64_t *bytes_out)
{
	size_t i, len = b->count * RDC_SIGNATURE_RECORD;
	uint8_t *sorted = malloc(len + 1);
	uint64_t bytes = 0;

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, b->records, len);
	qsort(sorted, b->count, RDC_SIGNATURE_RECORD, compare_records);
	for (i = 0; i < a->count; i++)
		if (bsearch(record_of(a, i), sorted, b->count,
			    RDC_SIGNATURE_RECORD, compare_records))
			bytes += load_le16(record_of(a, i) + LENGTH);
	free(sorted);
	*bytes_out = bytes;
	return 0;
}
