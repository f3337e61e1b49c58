/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unicode/ucnv.h>
#include <unicode/ucsdet.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

#include "core/base/utf8.h"
#include "core/extract/parsers.h"

/* ---- normalization ---- */

enum {
	CHUNK = 16384,  /* bytes of UTF-8 that are normalized together */
	EXPANSION = 18, /* of one character in NFKC, U+FDFA */
	UTF8_MAX = 3,   /* bytes of one unit of UTF-16 */
	SAMPLE = 65536, /* bytes that the detector gets */
	/* Percent.  A line of Russian gets 24, what is wrong at most 18; from
	 * CONFIDENT on it is no guess any more. */
	LIKELY = 20,
	CONFIDENT = 50,
};

static const UNormalizer2 *nfc, *nfkc;

int text_append_char(struct buf *out, uint32_t c)
{
	char bytes[U8_MAX_LENGTH];
	int32_t len = 0;
	UBool is_error = false;

	if (U_IS_SURROGATE(c) || c > 0x10ffff || !c)
		c = 0xfffd;
	U8_APPEND((uint8_t *)bytes, len, U8_MAX_LENGTH, (UChar32)c, is_error);
	return is_error ? 0 : buf_append(out, bytes, (size_t)len);
}

int text_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_simple(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if ((uint8_t)text[i] >= 0x7f ||
		    text_is_layout((uint8_t)text[i]))
			return false;
	return true;
}

/* Where the last character begins that what is before it does not change. */
static int32_t last_boundary(const UChar *text, int32_t len)
{
	int32_t at = len;
	UChar32 c;

	while (at > 0) {
		U16_PREV(text, 0, at, c);
		if (!text_is_layout((uint32_t)c) &&
		    unorm2_hasBoundaryBefore(nfc, c))
			return at;
	}
	return 0;
}

/* Without what is for the layout, compatible characters as what they are.  All of
 * these are one unit. */
static int32_t simplify(const UChar *text, int32_t len, UChar *out)
{
	UErrorCode err = U_ZERO_ERROR;
	int32_t i, n, kept = 0;

	for (i = 0; i < len; i++) {
		if (text_is_layout(text[i]))
			continue;
		n = text_is_compatible(text[i]) ?
			    unorm2_getDecomposition(nfkc, text[i], out + kept,
						    EXPANSION, &err) :
			    -1;
		if (n < 0)
			out[kept] = text[i];
		kept += n < 0 ? 1 : n;
	}
	return kept;
}

/* Gives out what is there, but for the end, to which more may belong. */
static enum extract_status normalize(struct document *d, bool is_last)
{
	static UChar wide[CHUNK], simple[(CHUNK + 1) * EXPANSION];
	static UChar result[(CHUNK + 1) * EXPANSION];
	static char narrow[(CHUNK + 1) * EXPANSION * UTF8_MAX];
	struct buf *raw = &d->raw;
	int32_t len, kept, rest = 0, taken, out_len;
	UErrorCode err = U_ZERO_ERROR;
	enum extract_status status;

	if (is_simple(raw->data, raw->len)) {
		status = document_put(d, raw->data, raw->len);
		buf_clear(raw);
		return status;
	}
	u_strFromUTF8WithSub(wide, CHUNK, &len, raw->data, (int32_t)raw->len,
			     0xfffd, NULL, &err);
	if (!is_last)
		rest = last_boundary(wide, len);
	taken = rest ? rest : len;
	kept = simplify(wide, taken, simple);
	kept = unorm2_normalize(nfc, simple, kept, result,
				sizeof(result) / sizeof(result[0]), &err);
	if (kept != taken || u_memcmp(result, wide, taken))
		d->result.flags &= ~(uint32_t)EXTRACT_PLAIN;
	u_strToUTF8(narrow, sizeof(narrow), &out_len, result, kept, &err);
	if (U_FAILURE(err))
		return EXTRACT_DAMAGED;
	status = document_put(d, narrow, (size_t)out_len);
	u_strToUTF8(narrow, sizeof(narrow), &out_len, wide + taken, len - taken,
		    &err);
	buf_clear(raw);
	if (buf_append(raw, narrow, (size_t)out_len))
		return EXTRACT_LIMIT;
	return status;
}

enum extract_status document_text(struct document *d, const void *text,
				  size_t len)
{
	enum extract_status status = d->is_full ? EXTRACT_LIMIT : EXTRACT_OK;
	const char *at = text;
	size_t part, i;

	while (len && !status) {
		if (d->raw.len > CHUNK - U8_MAX_LENGTH) {
			status = normalize(d, false);
			continue;
		}
		part = CHUNK - d->raw.len;
		part = part < len ? part : len;
		for (i = 1; i < U8_MAX_LENGTH && part < len &&
			    U8_IS_TRAIL((uint8_t)at[part]);
		     i++)
			part--;
		if (buf_append(&d->raw, at, part))
			return EXTRACT_LIMIT;
		at += part;
		len -= part;
	}
	return status;
}

enum extract_status document_flush(struct document *d)
{
	enum extract_status status = EXTRACT_OK;

	if (d->is_full)
		return EXTRACT_LIMIT;
	if (d->raw.len)
		status = normalize(d, true);
	return status || d->is_visible ? status : EXTRACT_NO_TEXT;
}

/* ---- character sets ---- */

/* What is called Latin-1 is the set of Windows that contains it. */
static UConverter *open_converter(const char *charset, uint32_t *flags)
{
	static const char *const latin[] = { "iso-8859-1", "iso_8859-1",
					     "latin1", "us-ascii", "ascii" };
	UErrorCode err = U_ZERO_ERROR;
	UConverter *converter;
	size_t i;

	for (i = 0; i < sizeof(latin) / sizeof(latin[0]); i++)
		if (!strcasecmp(charset, latin[i]))
			charset = "windows-1252";
	converter = ucnv_open(charset, &err);
	if (U_SUCCESS(err))
		return converter;
	*flags |= EXTRACT_GUESSED;
	err = U_ZERO_ERROR;
	converter = ucnv_open("windows-1252", &err);
	return U_SUCCESS(err) ? converter : NULL;
}

enum extract_status text_decode(const char *charset, const uint8_t *data,
				size_t len, struct buf *out,
				uint32_t *flags_out)
{
	static UChar wide[CHUNK];
	static char narrow[CHUNK * UTF8_MAX];
	UConverter *converter = open_converter(charset, flags_out);
	const char *from = (const char *)data, *end = from + len;
	enum extract_status status = EXTRACT_OK;
	int32_t out_len;
	UErrorCode err;
	UChar *to, half = 0;

	if (!converter)
		return EXTRACT_LIMIT;
	do {
		err = U_ZERO_ERROR;
		to = wide;
		if (half)
			*to++ = half;
		half = 0;
		ucnv_toUnicode(converter, &to, wide + CHUNK, &from, end, NULL,
			       true, &err);
		if (U_FAILURE(err) && err != U_BUFFER_OVERFLOW_ERROR)
			break;
		len = (size_t)(to - wide);
		/* A pair of surrogates stays together. */
		if (err == U_BUFFER_OVERFLOW_ERROR && U16_IS_LEAD(to[-1]))
			half = wide[--len];
		u_strToUTF8WithSub(narrow, sizeof(narrow), &out_len, wide,
				   (int32_t)len, 0xfffd, NULL,
				   &(UErrorCode){ U_ZERO_ERROR });
		if (buf_append(out, narrow, (size_t)out_len))
			status = EXTRACT_LIMIT;
	} while (err == U_BUFFER_OVERFLOW_ERROR && !status);
	ucnv_close(converter);
	return status;
}

static const char *detect_narrow(const uint8_t *data, size_t len,
				 uint32_t *flags)
{
	UErrorCode err = U_ZERO_ERROR;
	UCharsetDetector *detector = ucsdet_open(&err);
	const UCharsetMatch *match;
	const char *name = NULL;
	int32_t confidence;

	ucsdet_setText(detector, (const char *)data,
		       (int32_t)(len < SAMPLE ? len : SAMPLE), &err);
	match = ucsdet_detect(detector, &err);
	confidence = match ? ucsdet_getConfidence(match, &err) : 0;
	if (confidence >= LIKELY)
		name = ucsdet_getName(match, &err);
	/* The names are constants of the library. */
	ucsdet_close(detector);
	if (confidence < CONFIDENT)
		*flags |= EXTRACT_GUESSED;
	return name ? name : "windows-1252";
}

/*
 * Thai (TIS-620, windows-874), which ICU does not know: consonants are 0xa1 to
 * 0xce, and vowels above and below a line and tones follow one of these, or each
 * other.  In other sets the bytes of these marks are letters and halves of
 * letters that follow anything.
 */
static bool is_thai(const uint8_t *data, size_t len)
{
	size_t i, high = 0, marks = 0, wrong = 0;
	bool after_letter = false, is_mark;

	len = len < SAMPLE ? len : SAMPLE;
	for (i = 0; i < len; i++) {
		is_mark = data[i] == 0xd1 ||
			  (data[i] >= 0xd4 && data[i] <= 0xda) ||
			  (data[i] >= 0xe7 && data[i] <= 0xee);
		high += data[i] >= 0x80;
		marks += is_mark;
		wrong += (is_mark && !after_letter) || data[i] > 0xfb ||
			 (data[i] > 0xda && data[i] < 0xdf);
		after_letter = is_mark || (data[i] >= 0xa1 && data[i] <= 0xce);
	}
	return marks * 10 > high && wrong * 50 < marks;
}

/* UTF-8 in which a few bytes are wrong: not every tenth of its characters of more
 * than one byte.  Other sets give such sequences by chance alone. */
static bool is_nearly_utf8(const uint8_t *data, size_t len)
{
	size_t i, step, right = 0, wrong = 0;
	int n;

	for (i = 0; i < len; i += step) {
		n = data[i] < 0x80 ? 1 : utf8_check(data + i, len - i);
		step = n > 0 ? (size_t)n : 1;
		right += n > 1;
		wrong += n <= 0;
	}
	return wrong * 10 < right;
}

/* NULL: it is no text. */
static const char *detect(const uint8_t *data, size_t len, uint32_t *flags)
{
	if (len >= 3 && !memcmp(data, "\xef\xbb\xbf", 3))
		return "UTF-8";
	if (len >= 4 && !memcmp(data, "\xff\xfe\0\0", 4))
		return "UTF-32";
	if (len >= 2 &&
	    (!memcmp(data, "\xff\xfe", 2) || !memcmp(data, "\xfe\xff", 2)))
		return "UTF-16";
	if (memchr(data, 0, len))
		return sniff_wide(data, len);
	if (sniff_controls(data, len))
		return NULL;
	if (is_nearly_utf8(data, len) && !utf8_is_text(data, len)) {
		*flags |= EXTRACT_GUESSED;
		return "UTF-8";
	}
	if (!utf8_is_text(data, len) && is_thai(data, len))
		return "windows-874";
	/* The escape sequences of ISO-2022 are ASCII. */
	if (!utf8_is_text(data, len) || memmem(data, len, "\033$", 2))
		return detect_narrow(data, len, flags);
	*flags |= EXTRACT_PLAIN;
	return "UTF-8";
}

/* ---- a text ---- */

enum { NAME_MAX_LEN = 40, HEAD_BYTES = 4096 };

/* What the document says of its character set is better than a guess. */
static const char *charset_of_html(const uint8_t *data, size_t len, char *name)
{
	const char *head = (const char *)data, *at;
	size_t i = 0;

	len = len < HEAD_BYTES ? len : HEAD_BYTES;
	at = memmem(head, len, "charset=", 8);
	if (!at)
		at = memmem(head, len, "encoding=", 9);
	if (!at)
		return NULL;
	at = (const char *)memchr(at, '=', 9) + 1;
	at += at < head + len && (*at == '"' || *at == '\'');
	while (at < head + len && i < NAME_MAX_LEN - 1 && (uint8_t)*at > ' ' &&
	       !strchr("\"'/>;?", *at))
		name[i++] = *at++;
	name[i] = '\0';
	return i ? name : NULL;
}

/* Whether the set exists and fits.  Bytes that happen to be UTF-8 are no text of a
 * set with one byte a character, whatever a mail says. */
static bool is_credible(const char *charset, const uint8_t *data, size_t len)
{
	UErrorCode err = U_ZERO_ERROR;
	UConverter *converter = ucnv_open(charset, &err);
	const bool is_narrow =
		U_SUCCESS(err) && ucnv_getMaxCharSize(converter) == 1;

	ucnv_close(converter);
	return U_SUCCESS(err) && !(is_narrow && utf8_is_text(data, len));
}

enum extract_status text_read_as(struct document *d, enum extract_kind kind,
				 const char *charset, const uint8_t *data,
				 size_t len)
{
	const bool is_known = kind != EXTRACT_UNKNOWN;
	const char *text = (const char *)data;
	enum extract_status status = EXTRACT_OK;
	struct buf decoded = { 0 };
	char named[NAME_MAX_LEN];
	uint32_t flags = 0;

	if (!len)
		return EXTRACT_OK;
	if (!charset || !is_credible(charset, data, len)) {
		charset = detect(data, len, &flags);
		if (!charset && !is_known)
			return EXTRACT_UNSUPPORTED;
		if ((!charset || strncmp(charset, "UTF", 3)) &&
		    (kind == EXTRACT_HTML || sniff_html(text, len)) &&
		    charset_of_html(data, len, named)) {
			charset = named;
			flags = 0;
		}
	}
	if (!charset || strcmp(charset, "UTF-8") || !utf8_is_text(data, len)) {
		status = text_decode(charset ? charset : "", data, len,
				     &decoded, &flags);
		text = decoded.data ? decoded.data : "";
		len = decoded.len;
	}
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
		text += 3;
		len -= 3;
	}
	if (!is_known)
		kind = d->result.kind = !status && sniff_html(text, len) ?
						EXTRACT_HTML :
						EXTRACT_TEXT;
	if (is_known || kind == EXTRACT_HTML)
		flags &= ~(uint32_t)EXTRACT_PLAIN;
	d->result.flags |= flags;
	if (!status && len)
		status = kind == EXTRACT_HTML ? html_read(d, text, len) :
						document_text(d, text, len);
	buf_release(&decoded);
	return status;
}

/* Opens what these need for the first time. */
int text_warm_up(void)
{
	UErrorCode err = U_ZERO_ERROR;
	struct buf out = { 0 };
	uint32_t flags = 0;

	nfc = unorm2_getNFCInstance(&err);
	nfkc = unorm2_getNFKCInstance(&err);
	if (U_FAILURE(err))
		return -1;
	(void)text_decode("KOI8-R", (const uint8_t *)"x", 1, &out, &flags);
	(void)detect_narrow((const uint8_t *)"caf\xe9 au lait", 12, &flags);
	buf_release(&out);
	return 0;
}
