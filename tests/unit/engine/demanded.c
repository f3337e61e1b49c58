/* SPDX-License-Identifier: Apache-2.0 */

/* Digests that are not stored and are computed when they are asked for. */

#include "tests/unit/engine/fixture.h"

enum { BYTES = 10000, MOST = 65536 };

/* The text of that digest, or the error.  Deadlines are for other digests. */
static int ask_text(struct fixture *f, const char *name, enum digest_id id,
		    char text[MOST])
{
	struct file_request r;
	struct buf formatted = { 0 };
	struct file_digests answer;
	int fd, err;

	ask_fresh(f, name, &answer);
	file_digests_release(&answer);
	fd = open_file(f, name);
	file_request_init(&r, fd, 0);
	r.wait.demanded = DIGEST_BIT(id);
	assert_int_equal(engine_wait(f->engine, &r.wait), 0);
	err = outcome_wait(&r.outcome);
	close(fd);
	if (err)
		return err;
	err = digest_format(&r.outcome.answer.digests, id, &formatted);
	(void)snprintf(text, MOST, "%s", err ? "" : formatted.data);
	buf_release(&formatted);
	file_digests_release(&r.outcome.answer);
	return err;
}

static void open_tree(struct fixture *f)
{
	fixture_make(f);
	write_text(f, "a", BYTES);
	write_text(f, "small", 20);
	fixture_open(f);
	wait_idle(f);
}

TEST(test_a_text_is_of_the_present_content)
{
	static char first[MOST], again[MOST];
	struct fixture f;

	open_tree(&f);
	assert_int_equal(ask_text(&f, "a", DIGEST_SDHASH, first), 0);
	assert_memory_equal(first, "sdbf:", 5);
	assert_non_null(strstr(first, ":stdin:"));
	assert_int_equal(ask_text(&f, "a", DIGEST_SDHASH, again), 0);
	assert_string_equal(again, first);
	write_text(&f, "a", BYTES - 1);
	assert_int_equal(ask_text(&f, "a", DIGEST_SDHASH, again), 0);
	assert_string_not_equal(again, first);
	fixture_remove(&f);
}

TEST(test_each_digest_has_its_own_text)
{
	static char sdhash[MOST], text[MOST];
	json_int_t hashed;
	struct fixture f;

	open_tree(&f);
	hashed = hashed_files(&f);
	assert_int_equal(ask_text(&f, "a", DIGEST_SDHASH, sdhash), 0);
	assert_int_equal(ask_text(&f, "a", DIGEST_TLSH, text), 0);
	assert_memory_equal(text, "T1", 2);
	assert_int_equal(ask_text(&f, "a", DIGEST_SHA256, text), 0);
	assert_int_equal(strlen(text), 64);
	assert_int_equal(ask_text(&f, "a", DIGEST_SDHASH, text), 0);
	assert_string_equal(text, sdhash);
	assert_int_equal(ask_text(&f, "small", DIGEST_TLSH, text), -ENODATA);
	assert_int_equal(ask_text(&f, "small", DIGEST_SDHASH, text), -ENODATA);
	/* It is as if they had never been asked for. */
	assert_int_equal(hashed_files(&f), hashed);
	fixture_remove(&f);
}

TEST(test_what_does_not_fit_into_an_attribute)
{
	static char text[MOST];
	struct fixture f;

	fixture_make(&f);
	write_text(&f, "a", 4 << 20);
	fixture_open(&f);
	assert_int_equal(ask_text(&f, "a", DIGEST_SDHASH, text), -E2BIG);
	fixture_remove(&f);
}
