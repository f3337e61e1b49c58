/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"

/* What is within what, and what resembles a content that is not in the tree. */

enum { LEN = 30000, PART = 5000, BOOK = 400000 };

struct tree {
	struct fixture f;
	char *book;
};

/* A book, its copy, a chapter, two copies of a page of that; unrelated bytes. */
static int set_up(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));
	char other[LEN];

	assert_non_null(t);
	t->book = malloc(BOOK);
	assert_non_null(t->book);
	fixture_make(&t->f);
	make_text(t->book, BOOK, 1);
	write_file(&t->f, "book", t->book, BOOK);
	write_file(&t->f, "copy", t->book, BOOK);
	write_file(&t->f, "chapter", t->book + 100000, LEN);
	write_file(&t->f, "page1", t->book + 110000, PART);
	write_file(&t->f, "page2", t->book + 110000, PART);
	make_text(other, LEN, 2);
	write_file(&t->f, "unrelated", other, LEN);
	write_file(&t->f, "empty", "", 0);
	fixture_open(&t->f);
	wait_idle(&t->f);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct tree *t = *state;

	fixture_remove(&t->f);
	free(t->book);
	free(t);
	return 0;
}

/* These and no others, in any order, scoring as much as parts do. */
static void assert_hits(struct search_hits *hits, const char *const *paths,
			size_t count)
{
	const struct search_hit *hit;
	size_t i;

	assert_int_equal(hits->count, count);
	for (i = 0; i < count; i++) {
		hit = find_hit(hits, paths[i]);
		assert_non_null(hit);
		assert_in_range(hit->verdict.score, 90, 99);
	}
	assert_false(hits->cut);
	search_hits_release(hits);
}

static void assert_related(struct tree *t, const char *path,
			   enum index_relation relation,
			   const char *const *paths, size_t count)
{
	struct search_hits hits;

	find_related(&t->f, path, relation, &hits);
	assert_hits(&hits, paths, count);
}

static void test_a_part_is_within_its_wholes(void **state)
{
	static const char *const of_page[] = { "chapter", "book", "copy" };
	static const char *const of_chapter[] = { "book", "copy" };

	assert_related(*state, "page1", INDEX_WITHIN, of_page, 3);
	assert_related(*state, "chapter", INDEX_WITHIN, of_chapter, 2);
	assert_related(*state, "book", INDEX_WITHIN, NULL, 0);
	assert_related(*state, "unrelated", INDEX_WITHIN, NULL, 0);
	assert_related(*state, "empty", INDEX_WITHIN, NULL, 0);
}

static void test_a_whole_contains_its_parts(void **state)
{
	static const char *const of_book[] = { "chapter", "page1", "page2" };
	static const char *const of_chapter[] = { "page1", "page2" };

	assert_related(*state, "book", INDEX_CONTAINS, of_book, 3);
	assert_related(*state, "chapter", INDEX_CONTAINS, of_chapter, 2);
	assert_related(*state, "page1", INDEX_CONTAINS, NULL, 0);
	assert_related(*state, "unrelated", INDEX_CONTAINS, NULL, 0);
	assert_related(*state, "empty", INDEX_CONTAINS, NULL, 0);
}

static void test_a_part_is_not_alike(void **state)
{
	struct tree *t = *state;
	struct search_hits hits;

	find_similar(&t->f, "chapter", &hits);
	assert_int_equal(hits.count, 0);
	search_hits_release(&hits);
	find_similar(&t->f, "page1", &hits);
	assert_int_equal(hits.count, 1);
	assert_string_equal(hits.hits[0].path, "page2");
	search_hits_release(&hits);
}

/* ---- what is not in the tree ---- */

static void test_a_content_from_elsewhere_has_relatives(void **state)
{
	static const char *const alike[] = { "chapter" };
	static const char *const wholes[] = { "book", "copy", "chapter" };
	static const char *const parts[] = { "page1", "page2" };
	struct tree *t = *state;
	struct search_hits hits;
	char text[LEN];

	memcpy(text, t->book + 100000, LEN);
	make_text(text, LEN / 50, 3);
	find_related_to(&t->f, text, LEN, INDEX_ALIKE, &hits);
	assert_hits(&hits, alike, 1);
	/* Half of it, the pages at its end. */
	find_related_to(&t->f, text, LEN / 2, INDEX_WITHIN, &hits);
	assert_hits(&hits, wholes, 3);
	find_related_to(&t->f, text, LEN / 2, INDEX_CONTAINS, &hits);
	assert_hits(&hits, parts, 2);
}

/* No file is left out as the one that is asked about. */
static void test_a_content_from_elsewhere_has_copies(void **state)
{
	struct tree *t = *state;
	struct search_hits hits;

	find_related_to(&t->f, t->book, BOOK, INDEX_ALIKE, &hits);
	assert_int_equal(hits.count, 2);
	assert_int_equal(hits.hits[0].verdict.score, 100);
	assert_int_equal(hits.hits[1].verdict.score, 100);
	assert_string_equal(hits.hits[0].path, "book");
	assert_string_equal(hits.hits[1].path, "copy");
	search_hits_release(&hits);
	find_related_to(&t->f, t->book, BOOK, INDEX_WITHIN, &hits);
	assert_int_equal(hits.count, 0);
	search_hits_release(&hits);
}

static void test_a_strange_or_empty_content_has_none(void **state)
{
	struct tree *t = *state;
	struct search_hits hits;
	char text[LEN];

	make_text(text, LEN, 77);
	find_related_to(&t->f, text, LEN, INDEX_ALIKE, &hits);
	assert_int_equal(hits.count, 0);
	find_related_to(&t->f, text, LEN, INDEX_WITHIN, &hits);
	assert_int_equal(hits.count, 0);
	find_related_to(&t->f, text, 0, INDEX_ALIKE, &hits);
	assert_int_equal(hits.count, 0);
}

#define WITH_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(test_a_part_is_within_its_wholes),
		WITH_TREE(test_a_whole_contains_its_parts),
		WITH_TREE(test_a_part_is_not_alike),
		WITH_TREE(test_a_content_from_elsewhere_has_relatives),
		WITH_TREE(test_a_content_from_elsewhere_has_copies),
		WITH_TREE(test_a_strange_or_empty_content_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
