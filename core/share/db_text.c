/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/share/db.h"

const char *db_value(const PGresult *r, int row, int column)
{
	if (row >= PQntuples(r) || column >= PQnfields(r))
		return "";
	return PQgetvalue(r, row, column);
}

void db_format_uuid(const uint8_t *uuid, char text[DB_UUID_TEXT + 1])
{
	static const uint8_t groups[] = { 4, 2, 2, 2, 6 };
	size_t i, at = 0;

	for (i = 0; i < sizeof(groups); i++) {
		if (i)
			*text++ = '-';
		hex_encode(uuid + at, groups[i], text);
		text += 2 * groups[i];
		at += groups[i];
	}
}

int db_parse_uuid(const char *text, uint8_t *uuid_out)
{
	char digits[2 * DB_UUID_BYTES + 1];
	size_t len = 0;

	for (; *text; text++) {
		if (*text == '-')
			continue;
		if (len == 2 * DB_UUID_BYTES)
			return -EINVAL;
		digits[len++] = *text;
	}
	return hex_decode(digits, len, uuid_out, DB_UUID_BYTES);
}

ssize_t db_parse_bytes(const char *text, uint8_t *out, size_t room)
{
	size_t len = strlen(text);

	if (len < 2 || strncmp(text, "\\x", 2) || len % 2 ||
	    (len - 2) / 2 > room)
		return -EINVAL;
	len = (len - 2) / 2;
	return hex_decode(text + 2, 2 * len, out, len) ? -EINVAL : (ssize_t)len;
}

static int begin_item(struct buf *array)
{
	return buf_append(array, array->len ? "," : "{", 1);
}

int db_array_add(struct buf *array, const char *text)
{
	int err = begin_item(array);

	return err ? err : buf_append_text(array, text);
}

int db_array_add_number(struct buf *array, int64_t number)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRId64, number);
	return db_array_add(array, text);
}

int db_array_add_uuid(struct buf *array, const uint8_t *uuid)
{
	char text[DB_UUID_TEXT + 1];

	db_format_uuid(uuid, text);
	return db_array_add(array, text);
}

static int append_hex(struct buf *out, const uint8_t *bytes, size_t len)
{
	int err = buf_reserve(out, 2 * len + 1);

	if (err)
		return err;
	hex_encode(bytes, len, out->data + out->len);
	out->len += 2 * len;
	return 0;
}

/* The backslash is doubled in an array. */
int db_array_add_bytes(struct buf *array, const uint8_t *bytes, size_t len)
{
	int err;

	if (!bytes)
		return db_array_add(array, "NULL");
	err = db_array_add(array, "\"\\\\x");
	if (!err)
		err = append_hex(array, bytes, len);
	return err ? err : buf_append_text(array, "\"");
}

int db_array_end(struct buf *array)
{
	return buf_append_text(array, array->len ? "}" : "{}");
}
