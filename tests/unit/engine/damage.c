/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"

#include "core/catalog/catalog_impl.h"
#include "tests/support/seal.h"

/*
 * Any page of the catalog of a small tree is lost, of one that was closed and
 * of one whose engine was killed.  The promise: the engine opens all the same,
 * no digest is ever wrong, and at the latest after one more start every file
 * has its digests again.
 */
enum { FILES = 40, PAGE = 4096 };

struct sample {
	struct fixture f;
	char path[128]; /* of the catalog's data */
	char *bytes;
	size_t len;
	struct digests digests[FILES];
};

/* Some have signatures that take pages of their own. */
static size_t length_of(int i)
{
	return i % 8 ? 200 + 37 * (size_t)i : 60000 + (size_t)i;
}

static const char *name_of(int i)
{
	static char name[32];

	(void)snprintf(name, sizeof(name), "d%d/f%d", i % 3, i);
	return name;
}

static void ignore_log(void *ctx, const char *message)
{
	(void)ctx;
	(void)message;
}

static char *read_whole(const char *path, size_t *len_out)
{
	FILE *in = fopen(path, "r");
	struct stat st;
	char *bytes;

	assert_non_null(in);
	assert_int_equal(fstat(fileno(in), &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	*len_out = (size_t)st.st_size;
	assert_int_equal(fread(bytes, 1, *len_out, in), *len_out);
	(void)fclose(in);
	return bytes;
}

static void write_whole(const char *path, const char *bytes, size_t len)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

static void fill(struct sample *s)
{
	char directory[128];
	int i;

	for (i = 0; i < 3; i++) {
		(void)snprintf(directory, sizeof(directory), "%s/d%d",
			       s->f.source, i);
		assert_int_equal(mkdir(directory, 0700), 0);
	}
	for (i = 0; i < FILES; i++)
		write_text(&s->f, name_of(i), length_of(i));
}

static int setup(void **state)
{
	struct sample *s = calloc(1, sizeof(*s));
	int i;

	assert_non_null(s);
	fixture_make(&s->f);
	s->f.options.host.log = ignore_log;
	fill(s);
	fixture_open(&s->f);
	wait_idle(&s->f);
	for (i = 0; i < FILES; i++) {
		struct file_digests answer;

		ask_fresh(&s->f, name_of(i), &answer);
		assert_int_equal(answer.state, DIGESTS_FRESH);
		s->digests[i] = answer.digests;
	}
	fixture_close(&s->f);
	(void)snprintf(s->path, sizeof(s->path), "%s/data.mdb", s->f.catalog);
	s->bytes = read_whole(s->path, &s->len);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct sample *s = *state;
	int i;

	for (i = 0; i < FILES; i++)
		digests_release(&s->digests[i]);
	fixture_remove(&s->f);
	free(s->bytes);
	free(s);
	return 0;
}

static bool are_equal(const struct digests *a, const struct digests *b)
{
	struct buf x = { 0 }, y = { 0 };
	bool equal = a->set == b->set;
	int id;

	for (id = 0; equal && id < DIGEST_COUNT; id++) {
		if (!(a->set & DIGEST_BIT(id)))
			continue;
		buf_clear(&x);
		buf_clear(&y);
		assert_int_equal(digest_format(a, id, &x), 0);
		assert_int_equal(digest_format(b, id, &y), 0);
		equal = x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
	}
	buf_release(&x);
	buf_release(&y);
	return equal;
}

/* How many of the files have no digests.  Those that have some have the right
 * ones. */
static int count_lost(struct sample *s, size_t at)
{
	int lost = 0, i;

	fixture_open(&s->f);
	wait_idle(&s->f);
	for (i = 0; i < FILES; i++) {
		struct file_digests answer;

		ask_waiting(&s->f, name_of(i), &answer);
		if (answer.state != DIGESTS_FRESH)
			lost++;
		else if (!are_equal(&answer.digests, &s->digests[i]))
			fail_msg("zeros at %zu: %s has other digests", at,
				 name_of(i));
		file_digests_release(&answer);
	}
	fixture_close(&s->f);
	return lost;
}

/* The engine that wrote it was not killed. */
static void seal(struct sample *s, const char *bytes)
{
	write_whole(s->path, bytes, s->len);
	seal_directory(s->f.catalog);
}

static int lose_once(struct sample *s, size_t at, size_t len, bool sealed)
{
	char *bytes = malloc(s->len), path[128];
	int first, second;

	assert_non_null(bytes);
	memcpy(bytes, s->bytes, s->len);
	memset(bytes + at, 0, len);
	seal(s, s->bytes);
	write_whole(s->path, bytes, s->len);
	(void)snprintf(path, sizeof(path), "%s/sealed", s->f.catalog);
	if (!sealed)
		assert_int_equal(unlink(path), 0);
	free(bytes);
	first = count_lost(s, at);
	second = first ? count_lost(s, at) : 0;
	if (second)
		fail_msg("zeros at %zu: %d files without digests after "
			 "another start",
			 at, second);
	return first;
}

static int lose(struct sample *s, size_t at, size_t len)
{
	return lose_once(s, at, len, true) + lose_once(s, at, len, false);
}

#define WITH_FIXTURE(name) TEST_WITH(name, setup, teardown)

WITH_FIXTURE(test_any_page_may_be_lost)
{
	struct sample *s = *state;
	size_t page;

	for (page = 0; page < s->len / PAGE; page++)
		(void)lose(s, PAGE * page, PAGE);
}

/* Signatures are read when they are asked for, and not before.  The data may
 * hold a copy of the bytes that is no longer in use. */
WITH_FIXTURE(test_a_part_of_a_signature_may_be_lost)
{
	struct sample *s = *state;
	struct digest_value v = digest_value_of(&s->digests[0], DIGEST_SISE);
	int late = 0;
	char *at;

	for (at = s->bytes; (at = memmem(at, s->len - (size_t)(at - s->bytes),
					 v.bytes, v.len));
	     at++)
		late += lose(s, (size_t)(at - s->bytes) + v.len / 2, v.len / 4);
	/* The file is hashed again. */
	assert_int_equal(late, 0);
}
