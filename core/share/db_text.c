/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/base/json.h"
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

char *db_parse_string(const char *text)
{
	size_t room = strlen(text) / 2;
	char *out = calloc(room + 1, 1);

	if (out)
		(void)db_parse_bytes(text, (uint8_t *)out, room);
	return out;
}

int db_take_labels(const PGresult *r, json_t *labels)
{
	int row;

	for (row = 0; row < PQntuples(r); row++)
		if (json_object_set_new_nocheck(labels, db_value(r, row, 0),
						json_text(db_value(r, row, 1))))
			return -ENOMEM;
	return 0;
}

int db_array_add(struct buf *array, const char *text)
{
	bool is_first = !array->len;

	/* The brace is behind the last one. */
	array->len -= !is_first;
	return buf_append_format(array, "%s%s}", is_first ? "{" : ",", text);
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
