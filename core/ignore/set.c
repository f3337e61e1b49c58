/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ignore/ignore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/hex.h"

enum { HASH_DIGITS = 32 };

/* ---- order ---- */

static int compare_contents(const struct ignore_content *a,
			    const struct ignore_content *b)
{
	int order = memcmp(a->xxh128, b->xxh128, sizeof(a->xxh128));

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_pairs(const struct ignore_pair *a,
			 const struct ignore_pair *b)
{
	int order = compare_contents(&a->a, &b->a);

	return order ? order : compare_contents(&a->b, &b->b);
}

static struct ignore_pair pair_of(const struct ignore_content *a,
				  const struct ignore_content *b)
{
	if (compare_contents(a, b) > 0)
		return (struct ignore_pair){ *b, *a };
	return (struct ignore_pair){ *a, *b };
}

/* Of equal pairs the first in the file comes first. */
static int compare_lines(const void *a, const void *b)
{
	const struct ignore_line *x = a, *y = b;
	int order = compare_pairs(&x->pair, &y->pair);

	return order ? order :
		       (x->number > y->number) - (x->number < y->number);
}

/* Where the pair is, or would be. */
static size_t find_place(const struct ignore_set *set,
			 const struct ignore_pair *pair, bool *found_out)
{
	size_t low = 0, high = set->pair_count;

	*found_out = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_pairs(&set->pairs[middle].pair, pair);

		if (!order) {
			*found_out = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- reading ---- */

/* Takes digits off the text; false when there are none or too many. */
static bool parse_size(const char **text, const char *end, uint64_t *out)
{
	const char *p = *text;
	uint64_t value = 0;

	while (p < end && *p >= '0' && *p <= '9') {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return false;
		p++;
	}
	if (p == *text)
		return false;
	*text = p;
	*out = value;
	return true;
}

static bool parse_content(const char **text, const char *end,
			  struct ignore_content *out)
{
	const char *p = *text;

	if (end - p <= HASH_DIGITS || p[HASH_DIGITS] != ':' ||
	    hex_decode(p, HASH_DIGITS, out->xxh128, sizeof(out->xxh128)))
		return false;
	p += HASH_DIGITS + 1;
	if (!parse_size(&p, end, &out->size))
		return false;
	*text = p;
	return true;
}

static bool skip_blanks(const char **text, const char *end)
{
	const char *p = *text;

	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
		p++;
	if (p == *text)
		return false;
	*text = p;
	return true;
}

static bool parse_pair(const char *p, size_t len, struct ignore_pair *out)
{
	const char *end = p + len;
	struct ignore_content a, b;

	if (!parse_content(&p, end, &a) || !skip_blanks(&p, end) ||
	    !parse_content(&p, end, &b))
		return false;
	if (p < end && (!skip_blanks(&p, end) || (p < end && *p != '#')))
		return false;
	*out = pair_of(&a, &b);
	return true;
}

static int append_line(struct ignore_line **lines, size_t *count,
		       const struct ignore_line *line)
{
	struct ignore_line *more =
		array_with_room(*lines, *count, sizeof(*more));

	if (!more)
		return -ENOMEM;
	*lines = more;
	more[*count] = *line;
	more[*count].text = malloc(line->len + 1);
	if (!more[*count].text)
		return -ENOMEM;
	memcpy(more[*count].text, line->text, line->len);
	more[(*count)++].text[line->len] = '\0';
	return 0;
}

static int add_line(struct ignore_set *set, const char *text, size_t len,
		    size_t number)
{
	struct ignore_line line = { .text = (char *)text,
				    .len = len,
				    .number = number };

	if (parse_pair(text, len, &line.pair))
		return append_line(&set->pairs, &set->pair_count, &line);
	line.damaged = len && *text != '#';
	set->damaged_count += line.damaged;
	return append_line(&set->others, &set->other_count, &line);
}

static void sort_pairs(struct ignore_set *set)
{
	size_t i, kept = 0;

	if (set->pair_count)
		qsort(set->pairs, set->pair_count, sizeof(*set->pairs),
		      compare_lines);
	for (i = 0; i < set->pair_count; i++) {
		if (kept && !compare_pairs(&set->pairs[kept - 1].pair,
					   &set->pairs[i].pair))
			free(set->pairs[i].text);
		else
			set->pairs[kept++] = set->pairs[i];
	}
	set->pair_count = kept;
}

int ignore_set_parse(const char *data, size_t len, struct ignore_set *out)
{
	struct ignore_set set = { 0 };
	const char *end = len ? data + len : data, *line_end;
	size_t number = 0;
	int err = 0;

	for (; data < end && !err; data = line_end + 1) {
		line_end = memchr(data, '\n', (size_t)(end - data)) ?: end;
		err = add_line(&set, data, (size_t)(line_end - data), ++number);
		if (line_end == end)
			break;
	}
	if (err) {
		ignore_set_release(&set);
		return err;
	}
	sort_pairs(&set);
	*out = set;
	return 0;
}

static void release_lines(struct ignore_line *lines, size_t count)
{
	while (count)
		free(lines[--count].text);
	free(lines);
}

void ignore_set_release(struct ignore_set *set)
{
	release_lines(set->pairs, set->pair_count);
	release_lines(set->others, set->other_count);
	*set = (struct ignore_set){ 0 };
}

/* ---- looking up and changing ---- */

bool ignore_set_has(const struct ignore_set *set,
		    const struct ignore_content *a,
		    const struct ignore_content *b)
{
	const struct ignore_pair pair = pair_of(a, b);
	bool found;

	(void)find_place(set, &pair, &found);
	return found;
}

static int format_pair(const struct ignore_pair *pair, const char *remark,
		       struct buf *out)
{
	char a[HASH_DIGITS + 1], b[HASH_DIGITS + 1];

	hex_encode(pair->a.xxh128, sizeof(pair->a.xxh128), a);
	hex_encode(pair->b.xxh128, sizeof(pair->b.xxh128), b);
	return buf_append_format(out, "%s:%llu %s:%llu # %s", a,
				 (unsigned long long)pair->a.size, b,
				 (unsigned long long)pair->b.size, remark);
}

int ignore_set_add(struct ignore_set *set, const struct ignore_content *a,
		   const struct ignore_content *b, const char *remark)
{
	struct ignore_line line = { .pair = pair_of(a, b) };
	struct buf text = { 0 };
	bool found;
	size_t place = find_place(set, &line.pair, &found), moved;
	int err;

	if (found)
		return 0;
	moved = set->pair_count - place;
	err = format_pair(&line.pair, remark, &text);
	line.text = text.data;
	line.len = text.len;
	if (!err)
		err = append_line(&set->pairs, &set->pair_count, &line);
	buf_release(&text);
	if (err)
		return err;
	line = set->pairs[set->pair_count - 1];
	memmove(&set->pairs[place + 1], &set->pairs[place],
		moved * sizeof(line));
	set->pairs[place] = line;
	return 1;
}

bool ignore_set_remove(struct ignore_set *set, const struct ignore_content *a,
		       const struct ignore_content *b)
{
	const struct ignore_pair pair = pair_of(a, b);
	bool found;
	size_t place = find_place(set, &pair, &found);

	if (!found)
		return false;
	free(set->pairs[place].text);
	set->pair_count--;
	memmove(&set->pairs[place], &set->pairs[place + 1],
		(set->pair_count - place) * sizeof(*set->pairs));
	return true;
}

static int format_lines(const struct ignore_line *lines, size_t count,
			struct buf *out)
{
	size_t i;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		err = buf_append(out, lines[i].text, lines[i].len);
		if (!err)
			err = buf_append(out, "\n", 1);
	}
	return err;
}

int ignore_set_format(const struct ignore_set *set, struct buf *out)
{
	int err = format_lines(set->others, set->other_count, out);

	return err ? err : format_lines(set->pairs, set->pair_count, out);
}
