/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"

#include "core/base/bytes.h"

#include "core/catalog/catalog_impl.h"
#include "core/engine/engine_impl.h"

/* What cannot be read in the catalog while the engine runs is hashed again, and
 * all the rest goes on. */

enum { FILES = 60, TEXT = 60000, ASKED = 6 };

static void content_of(int i, char *out)
{
	/* Ten families of files that are alike. */
	make_text(out, TEXT, (uint64_t)i % 10 + 1);
	(void)snprintf(out, 32, "file %d", i);
}

static void name_of(int i, char *out, size_t size)
{
	(void)snprintf(out, size, "file-%d", i);
}

static void make(struct fixture *f)
{
	char text[TEXT], name[32];
	int i;

	fixture_make(f);
	for (i = 0; i < FILES; i++) {
		content_of(i, text);
		name_of(i, name, sizeof(name));
		write_file(f, name, text, TEXT);
	}
	fixture_open(f);
	wait_idle(f);
	assert_int_equal(status_number(f, "fresh"), FILES);
	fixture_close(f);
}

static void assert_digests(struct fixture *f)
{
	struct file_digests answer;
	char text[TEXT], name[32];
	int i;

	for (i = 0; i < FILES; i += FILES / ASKED) {
		content_of(i, text);
		name_of(i, name, sizeof(name));
		ask_fresh(f, name, &answer);
		assert_digests_of(&answer.digests, text, TEXT);
		file_digests_release(&answer);
	}
}

/* Makes the record of one file unreadable, and another one's content. */
static void spoil(struct fixture *f)
{
	uint8_t key[FILE_KEY_BYTES_MAX], content[4];
	struct catalog_txn *txn;
	struct file_record r;
	struct file_key k;

	assert_int_equal(catalog_write(f->engine->catalog, &txn), 0);
	key_of(f, "file-0", &k);
	assert_int_equal(
		txn_put(txn, DB_FILES, key, file_key_store(&k, key), "", 0), 0);
	key_of(f, "file-10", &k);
	assert_int_equal(catalog_file_get(txn, &k, &r), 0);
	store_be32(content, r.content);
	assert_int_equal(
		txn_put(txn, DB_CONTENTS, content, sizeof(content), "", 0), 0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
}

static void change(struct fixture *f, const char *name, const char *text)
{
	struct file_digests answer;
	int fd;

	write_file(f, name, text, strlen(text));
	fd = open_file(f, name);
	tell_closed(f, fd);
	close(fd);
	ask_fresh(f, name, &answer);
	assert_digests_of(&answer.digests, text, strlen(text));
	file_digests_release(&answer);
}

static void test_what_cannot_be_read_while_it_runs(void **state)
{
	struct fixture f;

	(void)state;
	make(&f);
	fixture_open(&f);
	wait_idle(&f);
	spoil(&f);
	assert_digests(&f);
	change(&f, "file-0", "the file that had the unreadable record");
	change(&f, "file-1", "a file of which all is in order");
	/* What can be written is, and nothing is tried for ever. */
	assert_int_equal(commit_settle(&f.engine->commit), 0);
	assert_true(atomic_load(&f.engine->damaged));
	change(&f, "file-0", "what the sample cannot have had");
	fixture_close(&f);
	fixture_open(&f);
	wait_idle(&f);
	assert_int_equal(status_number(&f, "fresh"), FILES);
	fixture_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_cannot_be_read_while_it_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
