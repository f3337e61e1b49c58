/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/base/text.h"
#include "core/base/bytes.h"

/*
 * The packing of digests in text form.  The first byte is the form:
 *
 *   FORM_PLAIN           length, the text as it is
 *   FORM_SHA256          32 bytes: 64 hex digits
 *   FORM_TLSH            35 bytes: T1 and 70 hex digits in upper case
 *   FORM_SSDEEP + level  two lengths, the characters of both hashes
 *   FORM_SISE + level    two lengths, the characters of both parts
 *
 * Lengths are varints.  Characters of base64 take 6 bits each, the first in the
 * lowest bits; zeros fill the last byte.  The block size is 3 * 2^level.
 *
 * A form is used only if unpacking gives exactly the same text.  Every other
 * text is stored as FORM_PLAIN.
 */
enum {
	FORM_PLAIN = 0,
	FORM_SHA256 = 1,
	FORM_TLSH = 2,
	FORM_SSDEEP = 64,
	FORM_SISE = 128,
	LEVELS = 60
};

#define SHA256_BYTES 32
#define TLSH_BYTES 35
#define TLSH_PREFIX "T1"

static uint64_t block_of(unsigned level)
{
	return UINT64_C(3) << level;
}

/* ---- characters ---- */

static size_t packed_bytes(uint64_t chars)
{
	return (size_t)(chars / 4 * 3 + (chars % 4 * 6 + 7) / 8);
}

struct packing {
	uint8_t *at;
	unsigned bits, count; /* the last count < 8 bits */
};

static void pack_chars(struct packing *p, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		p->bits |= (unsigned)(base64_codes[(uint8_t)text[i]] - 1)
			   << p->count;
		p->count += 6;
		if (p->count >= 8) {
			*p->at++ = (uint8_t)p->bits;
			p->bits >>= 8;
			p->count -= 8;
		}
	}
}

static void pack_last_byte(struct packing *p)
{
	if (p->count)
		*p->at++ = (uint8_t)p->bits;
}

struct unpacking {
	const uint8_t *at;
	unsigned bits, count;
};

static void unpack_chars(struct unpacking *u, char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (u->count < 6) {
			u->bits |= (unsigned)*u->at++ << u->count;
			u->count += 8;
		}
		text[i] = base64_digits[u->bits & 63];
		u->bits >>= 6;
		u->count -= 6;
	}
}

static size_t base64_len(const char *text)
{
	size_t len = 0;

	while (base64_codes[(uint8_t)text[len]])
		len++;
	return len;
}

/* ---- two hashes of pieces ---- */

/* A SiSe or ssdeep text in parts, which are not NUL-terminated. */
struct piece_text {
	unsigned form; /* FORM_SISE or FORM_SSDEEP */
	unsigned level;
	const char *part[2];
	size_t len[2];
};

/* The label before a part: its block size, and in SiSe the modulus. */
static int piece_label(const struct piece_text *p, int part,
		       char label[static 64])
{
	uint64_t block = block_of(p->level);
	int len;

	if (p->form == FORM_SSDEEP)
		len = part ? snprintf(label, 64, ":") :
			     snprintf(label, 64, "%" PRIu64 ":", block);
	else
		len = snprintf(label, 64,
			       "%s%" PRIu64 "(%" PRIu64 "):", part ? "::" : "",
			       block >> part, (block >> part) - 1);
	return len;
}

/* Whether text has that form and level; sets the parts. */
static bool piece_matches(struct piece_text *p, const char *text)
{
	char label[64];
	int part;

	for (part = 0; part < 2; part++) {
		size_t len = (size_t)piece_label(p, part, label);

		if (strncmp(text, label, len) != 0)
			return false;
		text += len;
		p->part[part] = text;
		p->len[part] = base64_len(text);
		text += p->len[part];
	}
	return !*text;
}

static bool piece_find(const char *text, struct piece_text *out)
{
	uint64_t block;
	const char *at = text;
	unsigned level = 0;

	if (!text_number(&at, text + strlen(text), &block))
		return false;
	while (level < LEVELS && block_of(level) < block)
		level++;
	out->level = level;
	out->form = *at == '(' ? FORM_SISE : FORM_SSDEEP;
	return level < LEVELS && (level || out->form == FORM_SSDEEP) &&
	       piece_matches(out, text);
}

static int piece_store(const struct piece_text *p, struct buf *out)
{
	uint8_t head[1 + 2 * VARINT_BYTES];
	struct packing packing = { 0 };
	size_t len, bytes = packed_bytes(p->len[0] + p->len[1]);
	int err;

	head[0] = (uint8_t)(p->form + p->level);
	len = 1 + store_varint(head + 1, p->len[0]);
	len += store_varint(head + len, p->len[1]);
	err = buf_append(out, head, len);
	if (!err)
		err = buf_reserve(out, bytes);
	if (err)
		return err;
	packing.at = (uint8_t *)out->data + out->len;
	pack_chars(&packing, p->part[0], p->len[0]);
	pack_chars(&packing, p->part[1], p->len[1]);
	pack_last_byte(&packing);
	out->len += bytes;
	return 0;
}

/* ---- hex ---- */

static bool is_hex(const char *text, size_t digits, const char *alphabet)
{
	return strlen(text) == digits && strspn(text, alphabet) == digits;
}

static unsigned digit_value(char digit)
{
	if (digit <= '9')
		return (unsigned)(digit - '0');
	return (unsigned)(tolower((unsigned char)digit) - 'a' + 10);
}

static int hex_store(unsigned form, const char *digits, size_t bytes,
		     struct buf *out)
{
	uint8_t record[1 + TLSH_BYTES];
	size_t i;

	record[0] = (uint8_t)form;
	for (i = 0; i < bytes; i++)
		record[1 + i] = (uint8_t)(digit_value(digits[2 * i]) << 4 |
					  digit_value(digits[2 * i + 1]));
	return buf_append(out, record, 1 + bytes);
}

static int plain_store(const char *text, struct buf *out)
{
	uint8_t head[1 + VARINT_BYTES] = { FORM_PLAIN };
	size_t len = strlen(text);
	int err = buf_append(out, head, 1 + store_varint(head + 1, len));

	return err ? err : buf_append(out, text, len);
}

static int text_store(const char *text, struct buf *out)
{
	const size_t prefix = sizeof(TLSH_PREFIX) - 1;
	struct piece_text pieces;

	if (is_hex(text, 2 * SHA256_BYTES, "0123456789abcdef"))
		return hex_store(FORM_SHA256, text, SHA256_BYTES, out);
	if (strncmp(text, TLSH_PREFIX, prefix) == 0 &&
	    is_hex(text + prefix, 2 * TLSH_BYTES, "0123456789ABCDEF"))
		return hex_store(FORM_TLSH, text + prefix, TLSH_BYTES, out);
	if (piece_find(text, &pieces))
		return piece_store(&pieces, out);
	return plain_store(text, out);
}

/* ---- reading ---- */

/* A packed text in a record. */
struct stored_text {
	unsigned form, level;
	const uint8_t *bytes;
	uint64_t len[2]; /* characters; len[1] is 0 if there is one part */
};

static bool fixed_find(struct stored_text *t, size_t bytes, const uint8_t **at,
		       const uint8_t *end)
{
	t->bytes = *at;
	if ((size_t)(end - *at) < bytes)
		return false;
	*at += bytes;
	return true;
}

static bool plain_find(struct stored_text *t, const uint8_t **at,
		       const uint8_t *end)
{
	return load_varint(at, end, &t->len[0]) &&
	       t->len[0] <= (uint64_t)(end - *at) &&
	       fixed_find(t, (size_t)t->len[0], at, end) &&
	       !memchr(t->bytes, '\0', (size_t)t->len[0]);
}

static bool pieces_find(struct stored_text *t, const uint8_t **at,
			const uint8_t *end)
{
	uint64_t chars, most;
	size_t bytes;

	if (!load_varint(at, end, &t->len[0]) ||
	    !load_varint(at, end, &t->len[1]))
		return false;
	most = (uint64_t)(end - *at) / 3 * 4 + 3;
	if (t->len[0] > most || t->len[1] > most - t->len[0])
		return false;
	chars = t->len[0] + t->len[1];
	bytes = packed_bytes(chars);
	if (!fixed_find(t, bytes, at, end))
		return false;
	/* The bits after the last character must be zeros. */
	return chars % 4 == 0 ||
	       t->bytes[bytes - 1] >> (8 - (8 * bytes - 6 * chars)) == 0;
}

/* Takes one text off the front of *at; false: it is not valid. */
static bool text_find(const uint8_t **at, const uint8_t *end,
		      struct stored_text *out)
{
	struct stored_text t = { 0 };
	bool found = false;

	if (*at == end)
		return false;
	t.form = *(*at)++;
	if (t.form == FORM_PLAIN) {
		found = plain_find(&t, at, end);
	} else if (t.form == FORM_SHA256) {
		found = fixed_find(&t, SHA256_BYTES, at, end);
	} else if (t.form == FORM_TLSH) {
		found = fixed_find(&t, TLSH_BYTES, at, end);
	} else if (t.form >= FORM_SSDEEP) {
		t.level = t.form & (FORM_SSDEEP - 1);
		t.form -= t.level;
		found = t.level < LEVELS &&
			(t.form == FORM_SSDEEP ||
			 (t.form == FORM_SISE && t.level)) &&
			pieces_find(&t, at, end);
	}
	*out = t;
	return found;
}

static int pieces_text(const struct stored_text *t, struct buf *out)
{
	struct unpacking unpacking = { .at = t->bytes };
	struct piece_text p = { .form = t->form, .level = t->level };
	char label[64];
	int part, err = 0;

	for (part = 0; part < 2 && !err; part++) {
		size_t len = (size_t)t->len[part];

		err = buf_append(out, label,
				 (size_t)piece_label(&p, part, label));
		if (!err)
			err = buf_reserve(out, len + 1);
		if (err)
			break;
		unpack_chars(&unpacking, out->data + out->len, len);
		out->len += len;
		out->data[out->len] = '\0';
	}
	return err;
}

static int hex_text(const struct stored_text *t, size_t bytes, struct buf *out)
{
	const char *prefix = t->form == FORM_TLSH ? TLSH_PREFIX : "";
	char digits[2 * TLSH_BYTES + 1];
	size_t i;

	hex_encode(t->bytes, bytes, digits);
	for (i = 0; t->form == FORM_TLSH && digits[i]; i++)
		digits[i] = (char)toupper((unsigned char)digits[i]);
	return buf_append_format(out, "%s%s", prefix, digits);
}

/* Unpacks the text; the caller frees it. */
static int stored_text_unpack(const struct stored_text *t, char **out)
{
	struct buf text = { 0 };
	int err;

	if (t->form == FORM_PLAIN)
		err = buf_append(&text, t->bytes, (size_t)t->len[0]);
	else if (t->form == FORM_SHA256)
		err = hex_text(t, SHA256_BYTES, &text);
	else if (t->form == FORM_TLSH)
		err = hex_text(t, TLSH_BYTES, &text);
	else
		err = pieces_text(t, &text);
	if (err)
		buf_release(&text);
	else
		*out = buf_take(&text);
	return err;
}

/* ---- the texts of a content ---- */

int texts_store(const struct digests *d, struct buf *out)
{
	size_t id;
	int err = 0;

	for (id = 0; id < DIGEST_COUNT && !err; id++)
		if (d->set & CATALOG_TEXTS & DIGEST_BIT(id))
			err = text_store(d->text[id], out);
	return err;
}

int texts_check(const MDB_val *bytes)
{
	const uint8_t *at = bytes->mv_data, *end = at + bytes->mv_size;
	struct stored_text text;

	while (at < end)
		if (!text_find(&at, end, &text))
			return -EUCLEAN;
	return 0;
}

int texts_decode(const MDB_val *bytes, uint32_t wanted, struct digests *d)
{
	const uint8_t *at = bytes->mv_data, *end = at + bytes->mv_size;
	struct stored_text text;
	size_t id;
	int err = 0;

	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		if (!(d->set & CATALOG_TEXTS & DIGEST_BIT(id)))
			continue;
		err = text_find(&at, end, &text) ? 0 : -EUCLEAN;
		if (!err && (wanted & DIGEST_BIT(id)))
			err = stored_text_unpack(&text, &d->text[id]);
	}
	return err || at == end ? err : -EUCLEAN;
}
