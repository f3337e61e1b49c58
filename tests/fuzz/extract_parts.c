/* SPDX-License-Identifier: Apache-2.0 */
#include <zlib.h>

#include "core/base/buf.h"
#include "core/base/bytes.h"

#include "tests/fuzz/extract_document.h"

/*
 * A document in a zip, as its parts: "name NUL content NUL name ...".  They are
 * stored, with sums that are right, so that what is changed is their content.
 */
enum { PARTS_MAX = 64, LOCAL = 30, CENTRAL = 46, END = 22 };

struct part {
	const uint8_t *name, *content;
	size_t name_len, content_len, offset;
};

static size_t take(const uint8_t **at, const uint8_t *end)
{
	const uint8_t *nul = memchr(*at, 0, (size_t)(end - *at));
	size_t len = (size_t)((nul ? nul : end) - *at);

	*at = nul ? nul + 1 : end;
	return len;
}

static void append_head(struct buf *zip, const struct part *p, bool is_central)
{
	uint8_t head[CENTRAL] = { 'P', 'K', is_central ? 1 : 3,
				  is_central ? 2 : 4 };
	uint8_t *same = head + (is_central ? 6 : 4); /* from there on */

	store_le16(same, 20);
	store_le32(same + 10,
		   (uint32_t)crc32(0, p->content, (uInt)p->content_len));
	store_le32(same + 14, (uint32_t)p->content_len);
	store_le32(same + 18, (uint32_t)p->content_len);
	store_le16(same + 22, (uint16_t)p->name_len);
	if (is_central)
		store_le32(head + 42, (uint32_t)p->offset);
	assert_int_equal(buf_append(zip, head, is_central ? CENTRAL : LOCAL),
			 0);
	assert_int_equal(buf_append(zip, p->name, p->name_len), 0);
}

static void make_zip(const uint8_t *data, size_t len, struct buf *zip)
{
	const uint8_t *at = data, *end = data + len;
	struct part parts[PARTS_MAX] = { 0 };
	uint8_t tail[END] = { 'P', 'K', 5, 6 };
	size_t i, count, central;

	for (count = 0; count < PARTS_MAX && at < end; count++) {
		struct part *p = &parts[count];

		p->offset = zip->len;
		p->name = at;
		p->name_len = take(&at, end);
		p->content = at;
		p->content_len = take(&at, end);
		append_head(zip, p, false);
		assert_int_equal(buf_append(zip, p->content, p->content_len),
				 0);
	}
	central = zip->len;
	for (i = 0; i < count; i++)
		append_head(zip, &parts[i], true);
	store_le16(tail + 8, (uint16_t)count);
	store_le16(tail + 10, (uint16_t)count);
	store_le32(tail + 12, (uint32_t)(zip->len - central));
	store_le32(tail + 16, (uint32_t)central);
	assert_int_equal(buf_append(zip, tail, sizeof(tail)), 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct buf zip = { 0 };

	make_zip(data, len, &zip);
	fuzz_document((const uint8_t *)zip.data, zip.len);
	buf_release(&zip);
	return 0;
}
