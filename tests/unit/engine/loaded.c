/* SPDX-License-Identifier: Apache-2.0 */

/* The contents of the catalog are in the index after the next start. */

#include "tests/unit/engine/fixture.h"

/* More contents than are handed over to the index before it takes some. */
enum { PAIRS = 160, BYTES = 3000 };

static void name_pair(size_t i, char first[16], char second[16])
{
	(void)snprintf(first, 16, "a%zu", i);
	(void)snprintf(second, 16, "b%zu", i);
}

TEST(test_all_contents_are_loaded)
{
	char data[BYTES], first[16], second[16];
	struct search_hits hits;
	struct fixture f;
	size_t i;

	fixture_make(&f);
	write_file(&f, "empty", "", 0);
	for (i = 0; i < PAIRS; i++) {
		name_pair(i, first, second);
		make_text(data, sizeof(data), i + 1);
		write_file(&f, first, data, sizeof(data));
		write_file(&f, second, data, sizeof(data) - 100);
	}
	fixture_open(&f);
	wait_idle(&f);
	fixture_close(&f);
	fixture_open(&f);
	wait_idle(&f);
	assert_int_equal(hashed_files(&f), 0);
	for (i = 0; i < PAIRS; i++) {
		name_pair(i, first, second);
		find_similar(&f, first, &hits);
		assert_int_equal(hits.count, 1);
		assert_non_null(find_hit(&hits, second));
		search_hits_release(&hits);
	}
	fixture_remove(&f);
}
