/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_TEXT_MODEL_H
#define TESTS_SUPPORT_TEXT_MODEL_H

#include "core/digest/text/text.h"
#include "tests/support/recipe.h"

/* core/digest/text/text.h as it reads, of a whole content. */

struct model_text {
	bool is_text;
	struct bytes text; /* owned */
};

static inline void model_add(struct bytes *to, uint32_t code)
{
	if (code < 0x80) {
		to->data[to->len++] = (uint8_t)code;
		return;
	}
	if (code < 0x800) {
		to->data[to->len++] = (uint8_t)(0xc0 + code / 64);
	} else if (code < 0x10000) {
		to->data[to->len++] = (uint8_t)(0xe0 + code / 4096);
		to->data[to->len++] = (uint8_t)(0x80 + code / 64 % 64);
	} else {
		to->data[to->len++] = (uint8_t)(0xf0 + code / 262144);
		to->data[to->len++] = (uint8_t)(0x80 + code / 4096 % 64);
		to->data[to->len++] = (uint8_t)(0x80 + code / 64 % 64);
	}
	to->data[to->len++] = (uint8_t)(0x80 + code % 64);
}

/* ---- encodings ---- */

/* Zero bytes at the places place, place + step, ... of whole units. */
static inline size_t model_zeros(struct bytes head, size_t place, size_t step)
{
	size_t i, count = 0;

	for (i = 0; i + step <= head.len; i += step)
		count += head.data[i + place] == 0;
	return count;
}

static inline enum encoding model_wide(struct bytes head)
{
	size_t quarter = head.len / 4, half = head.len / 2;
	size_t f[4], t[2], i;

	for (i = 0; i < 4; i++)
		f[i] = model_zeros(head, i, 4);
	for (i = 0; i < 2; i++)
		t[i] = model_zeros(head, i, 2);
	if (quarter && f[3] == quarter && f[2] >= quarter - quarter / 8 &&
	    f[1] * 8 >= quarter && !f[0])
		return ENCODING_UTF32LE;
	if (quarter && f[0] == quarter && f[1] >= quarter - quarter / 8 &&
	    f[2] * 8 >= quarter && !f[3])
		return ENCODING_UTF32BE;
	if (t[1] * 8 >= half && !t[0])
		return ENCODING_UTF16LE;
	if (t[0] * 8 >= half && !t[1])
		return ENCODING_UTF16BE;
	return ENCODING_NONE;
}

static inline bool model_begins(struct bytes b, const char *with, size_t len)
{
	return b.len >= len && !memcmp(b.data, with, len);
}

/* A character of UTF-8 that has its shortest form and is no surrogate. */
static inline bool model_is_utf8(const uint8_t *p, size_t len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t size = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2, i;
	uint32_t code = p[0] & (0xffu >> (size + 1));

	if (p[0] < 0xc0 || p[0] >= 0xf8 || len < size)
		return false;
	for (i = 1; i < size; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return false;
		code = code * 64 + (p[i] & 63);
	}
	return code >= least[size] && code <= 0x10ffff &&
	       (code < 0xd800 || code > 0xdfff);
}

static inline enum encoding model_narrow(struct bytes b)
{
	size_t i;

	for (i = 0; i < b.len; i++)
		if (b.data[i] >= 0x80)
			return model_is_utf8(b.data + i, b.len - i) ?
				       ENCODING_UTF8 :
				       ENCODING_LATIN1;
	return ENCODING_ASCII;
}

static inline enum encoding model_encoding(struct bytes b)
{
	struct bytes head = { b.data, b.len < 1024 ? b.len : 1024 };

	if (model_begins(b, "\377\376\0\0", 4))
		return ENCODING_UTF32LE;
	if (model_begins(b, "\0\0\376\377", 4))
		return ENCODING_UTF32BE;
	if (model_begins(b, "\377\376", 2))
		return ENCODING_UTF16LE;
	if (model_begins(b, "\376\377", 2))
		return ENCODING_UTF16BE;
	if (model_zeros(head, 0, 1))
		return model_wide(head);
	return model_narrow(b);
}

/* ---- decoding ---- */

static inline uint32_t model_number(const uint8_t *p, size_t len, bool big)
{
	uint32_t value = 0;
	size_t i;

	for (i = 0; i < len; i++)
		value = value << 8 | p[big ? i : len - 1 - i];
	return value;
}

static inline bool model_utf16(struct bytes b, bool big, struct bytes *out)
{
	uint32_t code, low;
	size_t i;

	for (i = 0; i + 2 <= b.len; i += 2) {
		code = model_number(b.data + i, 2, big);
		if (code >= 0xdc00 && code <= 0xdfff)
			return false;
		if (code >= 0xd800 && code <= 0xdbff) {
			if (i + 4 > b.len)
				break;
			i += 2;
			low = model_number(b.data + i, 2, big);
			if (low < 0xdc00 || low > 0xdfff)
				return false;
			code = 0x10000 + (code - 0xd800) * 1024 + low - 0xdc00;
		}
		model_add(out, code);
	}
	return true;
}

static inline bool model_utf32(struct bytes b, bool big, struct bytes *out)
{
	uint32_t code;
	size_t i;

	for (i = 0; i + 4 <= b.len; i += 4) {
		code = model_number(b.data + i, 4, big);
		if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
			return false;
		model_add(out, code);
	}
	return true;
}

static inline bool model_decode(struct bytes b, struct bytes *out)
{
	enum encoding encoding = model_encoding(b);
	size_t i;

	switch (encoding) {
	case ENCODING_NONE:
		return false;
	case ENCODING_UTF16LE:
	case ENCODING_UTF16BE:
		return model_utf16(b, encoding == ENCODING_UTF16BE, out);
	case ENCODING_UTF32LE:
	case ENCODING_UTF32BE:
		return model_utf32(b, encoding == ENCODING_UTF32BE, out);
	case ENCODING_LATIN1:
		for (i = 0; i < b.len; i++)
			model_add(out, b.data[i]);
		return true;
	default:
		if (b.len)
			memcpy(out->data, b.data, b.len);
		out->len = b.len;
		return true;
	}
}

/* ---- blanks ---- */

static inline size_t model_blank(struct bytes b, size_t i)
{
	struct bytes rest = { b.data + i, b.len - i };

	if (b.data[i] && strchr(" \t\n\v\f\r,;|", b.data[i]))
		return 1;
	if (model_begins(rest, "\302\240", 2))
		return 2;
	return model_begins(rest, "\357\273\277", 3) ? 3 : 0;
}

static inline bool model_is_control(uint8_t c)
{
	return c < 32 && c != 8 && c != 27;
}

/* The text of a content; the caller frees it. */
static inline struct model_text model_text_of(struct bytes b)
{
	struct bytes utf8 = { malloc(2 * b.len + 4), 0 };
	struct model_text m = { .text = { malloc(2 * b.len + 4), 0 } };
	size_t i = 0, len, controls = 0;

	assert_true(utf8.data && m.text.data);
	m.is_text = model_decode(b, &utf8);
	while (m.is_text && i < utf8.len) {
		len = model_blank(utf8, i);
		if (!len) {
			controls += model_is_control(utf8.data[i]);
			m.is_text &= utf8.data[i] != 0;
			m.text.data[m.text.len++] = utf8.data[i];
		}
		i += len ? len : 1;
	}
	m.is_text &= m.text.len > 0 && controls * 64 <= utf8.len;
	if (!m.is_text)
		m.text.len = 0;
	free(utf8.data);
	return m;
}

/* ---- what is tested ---- */

struct taken_text {
	uint8_t *data; /* owned */
	size_t len;
};

static inline void take_text(void *arg, const uint8_t *bytes, size_t len)
{
	struct taken_text *t = arg;

	t->data = realloc(t->data, t->len + len);
	assert_non_null(t->data);
	memcpy(t->data + t->len, bytes, len);
	t->len += len;
}

static inline bool texts_match(const struct model_text *want, bool is_text,
			       const struct taken_text *have)
{
	if (want->is_text != is_text)
		return false;
	return !is_text || (want->text.len == have->len &&
			    !memcmp(want->text.data, have->data, have->len));
}

#endif
