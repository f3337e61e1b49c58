/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/utf8.h"

#include <stdbool.h>
#include <string.h>

/* The Unicode Standard, table 3-7: what the first byte allows. */
struct utf8_form {
	uint8_t first, last; /* of the first byte */
	uint8_t len;
	uint8_t least, most; /* of the second byte */
};

static const struct utf8_form utf8_forms[] = {
	{ 0xc2, 0xdf, 2, 0x80, 0xbf }, { 0xe0, 0xe0, 3, 0xa0, 0xbf },
	{ 0xe1, 0xec, 3, 0x80, 0xbf }, { 0xed, 0xed, 3, 0x80, 0x9f },
	{ 0xee, 0xef, 3, 0x80, 0xbf }, { 0xf0, 0xf0, 4, 0x90, 0xbf },
	{ 0xf1, 0xf3, 4, 0x80, 0xbf }, { 0xf4, 0xf4, 4, 0x80, 0x8f },
};

static int check_form(const struct utf8_form *form, const uint8_t *bytes,
		      size_t len)
{
	size_t i;

	for (i = 1; i < form->len && i < len; i++) {
		uint8_t least = i == 1 ? form->least : 0x80;
		uint8_t most = i == 1 ? form->most : 0xbf;

		if (bytes[i] < least || bytes[i] > most)
			return 0;
	}
	return i < form->len ? -1 : form->len;
}

int utf8_check(const uint8_t *bytes, size_t len)
{
	size_t i;

	if (!len)
		return -1;
	for (i = 0; i < sizeof(utf8_forms) / sizeof(utf8_forms[0]); i++)
		if (bytes[0] >= utf8_forms[i].first &&
		    bytes[0] <= utf8_forms[i].last)
			return check_form(&utf8_forms[i], bytes, len);
	return 0;
}

bool utf8_is_text(const uint8_t *bytes, size_t len)
{
	size_t i = 0;
	int n;

	while (i < len) {
		n = bytes[i] < 0x80 ? bytes[i] != 0 :
				      utf8_check(bytes + i, len - i);
		if (n <= 0)
			return false;
		i += (size_t)n;
	}
	return true;
}

/* ---- what may be shown ---- */

/* The controls of ISO 8859, the separators of lines and of paragraphs, the
 * controls of direction, those of annotations, and all that has the property
 * Default_Ignorable_Code_Point in Unicode 15. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x80, 0x9f },       { 0xad, 0xad },       { 0x34f, 0x34f },
	{ 0x61c, 0x61c },     { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },   { 0x200b, 0x200f },   { 0x2028, 0x202e },
	{ 0x2060, 0x206f },   { 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },
	{ 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },
	{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

uint32_t utf8_decode(const uint8_t *bytes, int len)
{
	uint32_t code = bytes[0] & (0x7fU >> len);
	int i;

	for (i = 1; i < len; i++)
		code = code << 6 | (bytes[i] & 0x3fU);
	return code;
}

static bool is_hidden(uint32_t code)
{
	size_t i;

	for (i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (code >= hidden[i].first && code <= hidden[i].last)
			return true;
	return false;
}

size_t utf8_safe_length(const char *text)
{
	const uint8_t *bytes = (const uint8_t *)text;
	int len;

	if (*bytes < 0x80)
		return *bytes >= ' ' && *bytes != 0x7f;
	len = utf8_check(bytes, strnlen(text, 4));
	return len > 0 && !is_hidden(utf8_decode(bytes, len)) ? (size_t)len : 0;
}

int utf8_append_safe(struct buf *out, const char *text)
{
	size_t len;
	int err = 0;

	for (; *text && !err; text += len ? len : 1) {
		len = utf8_safe_length(text);
		err = len ? buf_append(out, text, len) :
			    buf_append_format(out, "\\%03o",
					      (unsigned char)*text);
	}
	return err;
}

void utf8_print_safe(FILE *out, const char *text)
{
	struct buf safe = { 0 };

	(void)utf8_append_safe(&safe, text);
	(void)fwrite(safe.data, 1, safe.len, out);
	buf_release(&safe);
}
