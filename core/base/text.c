/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char base64_digits[64] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "abcdefghijklmnopqrstuvwxyz0123456789+/";

const uint8_t base64_codes[256] = {
	['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,
	['G'] = 7,  ['H'] = 8,  ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12,
	['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16, ['Q'] = 17, ['R'] = 18,
	['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
	['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30,
	['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36,
	['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42,
	['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
	['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54,
	['2'] = 55, ['3'] = 56, ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60,
	['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

bool text_number(const char **at, const char *end, uint64_t *out)
{
	const char *start = *at, *p;
	uint64_t value = 0;
	unsigned digit;

	for (p = start; p < end && *p >= '0' && *p <= '9'; p++) {
		digit = (unsigned)(*p - '0');
		if (value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	if (p == start || (*start == '0' && p > start + 1))
		return false;
	*at = p;
	*out = value;
	return true;
}

bool text_path_is_above(const char *above, const char *path)
{
	size_t len = strlen(above);

	return strncmp(above, path, len) == 0 &&
	       (path[len] == '/' || path[len] == '\0' || len == 0);
}

bool text_is_plain_path(const char *path)
{
	size_t len;

	for (;; path += len + 1) {
		len = strcspn(path, "/");
		if (!len || (len <= 2 && !strncmp(path, "..", len)))
			return false;
		if (!path[len])
			return true;
	}
}

void text_unescape_octal(char *text)
{
	char *to = text;

	while (*text) {
		if (*text == '\\' && strspn(text + 1, "01234567") >= 3) {
			*to++ = (char)((text[1] - '0') << 6 |
				       (text[2] - '0') << 3 | (text[3] - '0'));
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

int text_parse_size(const char *text, uint64_t *out)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	char *end;
	unsigned long long n;
	unsigned shift = 0;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno)
		return -EINVAL;
	suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
	if (suffix) {
		shift = 10 * (unsigned)(suffix - suffixes + 1);
		end++;
	}
	if (*end || n > UINT64_MAX >> shift)
		return -EINVAL;
	*out = (uint64_t)n << shift;
	return 0;
}

const char *text_format_size(double bytes, enum text_units units,
			     char out[TEXT_SIZE_ROOM])
{
	static const char *const full[] = { "bytes", "KiB", "MiB", "GiB",
					    "TiB",   "PiB", "EiB" };
	size_t unit = 0;

	for (; bytes >= 1023.5 && unit < 6; unit++)
		bytes /= 1024;
	if (units == TEXT_UNITS_FULL)
		(void)snprintf(out, TEXT_SIZE_ROOM,
			       unit ? "%.1f %s" : "%.0f %s", bytes, full[unit]);
	else if (!unit)
		(void)snprintf(out, TEXT_SIZE_ROOM, "%.0f", bytes);
	else
		(void)snprintf(out, TEXT_SIZE_ROOM, "%.*f%c",
			       bytes < 9.95 ? 1 : 0, bytes, *full[unit]);
	return out;
}

/* ---- words that were typed wrong ---- */

enum { WORD_MAX = 40 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many characters must be put in, left out, replaced or interchanged with
 * the next to make b of a; both have at most WORD_MAX. */
static size_t word_distance(const char *a, size_t a_len, const char *b,
			    size_t b_len)
{
	size_t rows[3][WORD_MAX + 1];
	size_t i, j;

	for (j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (i = 1; i <= a_len; i++) {
		const size_t *above = rows[(i - 1) % 3];
		const size_t *before = rows[(i + 1) % 3]; /* i - 2 */
		size_t *row = rows[i % 3];

		row[0] = i;
		for (j = 1; j <= b_len; j++) {
			row[j] = least(least(above[j], row[j - 1]) + 1,
				       above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

void text_guess_begin(struct text_guess *g, const char *word, size_t len)
{
	*g = (struct text_guess){
		.word = word,
		.word_len = len,
		.distance = len / 3 + 1,
	};
}

void text_guess_offer(struct text_guess *g, const char *name, size_t len)
{
	size_t distance;

	if (len > WORD_MAX || g->word_len > WORD_MAX)
		return;
	distance = word_distance(g->word, g->word_len, name, len);
	if (distance >= g->distance)
		return;
	g->distance = distance;
	g->best = name;
	g->best_len = len;
}
