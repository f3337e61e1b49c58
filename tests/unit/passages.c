/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/passages/passages.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "tests/unit/index/fixture.h"

/* What two contents have in common, against what was put into both. */

/* Appends so many letters in words and lines. */
static void add_text(struct buf *b, struct random *r, size_t letters)
{
	char c;

	while (letters--) {
		c = (char)('a' + random_below(r, 26));
		assert_int_equal(buf_append(b, &c, 1), 0);
		if (!random_below(r, 6))
			assert_int_equal(
				buf_append(b, random_below(r, 8) ? " " : "\n",
					   1),
				0);
	}
}

/* The same text in another layout and case. */
static void add_changed(struct buf *b, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		const char c = text[i] >= 'a' && text[i] <= 'z' && i % 3 ?
				       (char)(text[i] - 'a' + 'A') :
				       text[i];

		assert_int_equal(buf_append(b, &c, 1), 0);
		if (i % 40 == 0)
			assert_int_equal(buf_append_text(b, "\n> "), 0);
	}
}

static size_t count_lines(const struct buf *b, size_t place)
{
	size_t lines = 1, i;

	for (i = 0; i < place; i++)
		lines += b->data[i] == '\n';
	return lines;
}

static void find(const struct buf *a, const struct buf *b, size_t least,
		 struct passage **out, size_t *count)
{
	struct folded_content x, y;

	assert_int_equal(folded_init(&x, a->data, a->len), 0);
	assert_int_equal(folded_init(&y, b->data, b->len), 0);
	assert_int_equal(passages_find(&x, &y, least, out, count), 0);
	folded_release(&x);
	folded_release(&y);
}

/* Of each length a passage that is folded, at random places of two texts. */
TEST(test_a_passage_is_found_where_it_is)
{
	struct random r = { 1 };
	size_t letters, count, end, begin_b;
	struct buf a, b, passage;
	struct passage *found;

	for (letters = 2 * PASSAGE_BLOCK - 1; letters < 5000;
	     letters += letters / 2) {
		a = b = passage = (struct buf){ 0 };
		add_text(&passage, &r, letters);
		add_text(&a, &r, random_below(&r, 3000));
		add_text(&b, &r, random_below(&r, 3000));
		end = a.len;
		begin_b = b.len;
		buf_append(&a, passage.data, passage.len);
		add_changed(&b, passage.data, passage.len);
		add_text(&a, &r, 500);
		add_text(&b, &r, 700);
		find(&a, &b, 1, &found, &count);
		assert_int_equal(count, 1);
		/* But for half words at its ends, and chance. */
		assert_in_range(found->a, end > 8 ? end - 8 : 0, end + 26);
		assert_in_range(found->a_end, end + passage.len - 26,
				end + passage.len + 8);
		assert_in_range(found->b, begin_b > 8 ? begin_b - 8 : 0,
				begin_b + 30);
		assert_true(found->b_end - found->b + 52 >= passage.len);
		free(found);
		/* A bound that is longer than it in both. */
		find(&a, &b, 2 * passage.len + 20, &found, &count);
		assert_int_equal(count, 0);
		free(found);
		buf_release(&a);
		buf_release(&b);
		buf_release(&passage);
	}
}

/* A word that was changed does not make two passages; a paragraph does. */
TEST(test_what_is_changed_a_little_is_one_passage)
{
	struct random r = { 2 };
	struct buf a = { 0 }, b = { 0 }, first = { 0 }, second = { 0 };
	struct passage *found;
	size_t count, gap;

	add_text(&first, &r, 400);
	add_text(&second, &r, 400);
	for (gap = 20; gap <= 400; gap += 380) {
		buf_clear(&a);
		buf_clear(&b);
		buf_append(&a, first.data, first.len);
		add_text(&a, &r, gap);
		buf_append(&a, second.data, second.len);
		buf_append(&b, first.data, first.len);
		add_text(&b, &r, gap);
		buf_append(&b, second.data, second.len);
		find(&a, &b, 1, &found, &count);
		assert_int_equal(count, gap == 20 ? 1 : 2);
		assert_in_range(found[0].a, 0, 26);
		assert_in_range(found[count - 1].b_end, b.len - 26, b.len);
		free(found);
	}
	buf_release(&a);
	buf_release(&b);
	buf_release(&first);
	buf_release(&second);
}

/* Nothing is found in strangers, in repeated bytes, in what is empty. */
TEST(test_strangers_have_none)
{
	static const char *const texts[] = { "", " \n\n ", "short" };
	struct random r = { 3 };
	struct buf a = { 0 }, b = { 0 };
	struct passage *found;
	size_t count, i;

	add_text(&a, &r, 20000);
	add_text(&b, &r, 20000);
	find(&a, &b, 1, &found, &count);
	assert_int_equal(count, 0);
	free(found);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		buf_clear(&b);
		buf_append_text(&b, texts[i]);
		find(&a, &b, 1, &found, &count);
		assert_int_equal(count, 0);
		free(found);
	}
	buf_clear(&a);
	buf_clear(&b);
	for (i = 0; i < 5000; i++) {
		buf_append(&a, "z", 1);
		buf_append(&b, "z", 1);
	}
	find(&a, &b, 1, &found, &count);
	assert_int_equal(count, 0);
	free(found);
	buf_release(&a);
	buf_release(&b);
}

TEST(test_lines_are_counted)
{
	struct random r = { 4 };
	struct buf a = { 0 };
	struct folded_content c;
	size_t place;

	add_text(&a, &r, 5000);
	assert_int_equal(folded_init(&c, a.data, a.len), 0);
	for (place = 0; place < a.len; place += 1 + random_below(&r, 50))
		assert_int_equal(folded_line(&c, place),
				 count_lines(&a, place));
	folded_release(&c);
	buf_release(&a);
}
