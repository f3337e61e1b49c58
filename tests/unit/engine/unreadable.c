/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"
#include "tests/support/index_count.h"

#include <signal.h>

#include "core/catalog/catalog_impl.h"
#include "core/engine/engine_impl.h"

/* When something in the catalog cannot be read while the engine runs, another
 * catalog takes its place, and everything is hashed again. */

enum { FILES = 60, TEXT = 60000, ASKED = 6, REPLACED = 3 };

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
	struct catalog_txn *txn;
	struct file_record r;
	struct file_key k;

	assert_int_equal(catalog_write(f->engine->catalog, &txn), 0);
	key_of(f, "file-0", &k);
	assert_int_equal(txn_put(txn, DB_FILES, key_of_file(&k), "", 0), 0);
	key_of(f, "file-10", &k);
	assert_int_equal(catalog_file_get(txn, &k, &r), 0);
	assert_int_equal(txn_put(txn, DB_CONTENTS, key_of_id(r.content), "", 0),
			 0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
}

static void change(struct fixture *f, const char *name, const char *text)
{
	struct file_digests answer;
	struct file_key key;
	int fd;

	write_file(f, name, text, strlen(text));
	fd = open_file(f, name);
	key_of(f, name, &key);
	/* As a mount does: a scan may have read the directory a moment ago. */
	engine_name_added(f->engine, &f->engine->source.root, name, &key,
			  false);
	tell_closed(f, fd);
	close(fd);
	ask_fresh(f, name, &answer);
	assert_digests_of(&answer.digests, text, strlen(text));
	file_digests_release(&answer);
}

/* So many catalogs were set aside. */
static void assert_replaced(struct fixture *f, int times)
{
	char path[128];
	int i;

	for (i = 1; i <= times + 1; i++) {
		(void)snprintf(path, sizeof(path), "%s/data.mdb.damaged-%d",
			       f->catalog, i);
		assert_int_equal(access(path, F_OK), i <= times ? 0 : -1);
	}
}

TEST(test_what_cannot_be_read_while_it_runs)
{
	struct fixture f;

	make(&f);
	fixture_open(&f);
	wait_idle(&f);
	spoil(&f);
	assert_digests(&f);
	change(&f, "file-0", "the file that had the unreadable record");
	change(&f, "file-1", "a file of which all is in order");
	assert_int_equal(events_settle(&f.engine->events), 0);
	change(&f, "file-0", "what the sample cannot have had");
	wait_idle(&f);
	assert_replaced(&f, 1);
	fixture_close(&f);
	fixture_open(&f);
	wait_idle(&f);
	assert_int_equal(hashed_files(&f), 0);
	assert_int_equal(status_number(&f, "fresh"), FILES);
	fixture_remove(&f);
}

static void cut_data(struct fixture *f)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/data.mdb", f->catalog);
	assert_int_equal(truncate(path, 8192), 0);
}

/* cmocka has a handler of its own during each test. */
static void open_with_handler(struct fixture *f)
{
	(void)signal(SIGBUS, SIG_DFL);
	fixture_open(f);
	wait_idle(f);
}

static void assert_similar(struct fixture *f)
{
	struct search_hits hits;

	find_similar(f, "file-2", &hits);
	assert_int_equal(hits.count, FILES / 10 - 1);
	search_hits_release(&hits);
}

/* The index knows nothing of contents that the new catalog does not have. */
static void assert_index(struct fixture *f)
{
	assert_int_equal(index_count(f->engine->index),
			 status_number(f, "contents"));
}

TEST(test_the_file_is_cut_again_and_again)
{
	char name[64], text[64];
	struct fixture f;
	int i;

	make(&f);
	open_with_handler(&f);
	assert_similar(&f);
	for (i = 1; i <= REPLACED; i++) {
		cut_data(&f);
		(void)snprintf(name, sizeof(name), "new-%d", i);
		(void)snprintf(text, sizeof(text), "written in round %d", i);
		change(&f, name, text);
		assert_digests(&f);
		wait_idle(&f);
		assert_similar(&f);
		assert_int_equal(status_number(&f, "fresh"), FILES + i);
		assert_replaced(&f, i);
		assert_index(&f);
	}
	/* Once more, and it goes on without a catalog. */
	cut_data(&f);
	change(&f, "new-0", "written without a catalog");
	assert_int_equal(events_settle(&f.engine->events), -EUCLEAN);
	assert_int_equal(catalog_failure(f.engine->catalog), -EUCLEAN);
	assert_digests(&f);
	assert_replaced(&f, REPLACED);
	fixture_close(&f);
	fixture_open(&f);
	wait_idle(&f);
	assert_replaced(&f, REPLACED + 1);
	assert_int_equal(status_number(&f, "fresh"), FILES + REPLACED + 1);
	fixture_remove(&f);
}

/* Threads ask while the file is cut. */
struct asker {
	struct fixture *f;
	atomic_bool enough;
};

static void *ask_on(void *arg)
{
	struct asker *a = arg;
	int fd = open_file(a->f, "file-3");

	while (!atomic_load(&a->enough)) {
		struct file_digests answer;
		json_t *status;

		assert_int_equal(
			engine_ask(a->f->engine, fd, DIGEST_ALL, &answer), 0);
		file_digests_release(&answer);
		assert_int_equal(engine_status(a->f->engine, &status), 0);
		json_decref(status);
	}
	close(fd);
	return NULL;
}

TEST(test_it_is_cut_while_it_is_read_and_written)
{
	struct asker a = { 0 };
	char name[64], text[64];
	pthread_t threads[2];
	struct fixture f;
	int i;

	make(&f);
	open_with_handler(&f);
	a.f = &f;
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_on, &a),
				 0);
	for (i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "new-%d", i);
		(void)snprintf(text, sizeof(text), "the text of file %d", i);
		change(&f, name, text);
		events_hurry(&f.engine->events);
		if (i == 20)
			cut_data(&f);
	}
	wait_idle(&f);
	assert_replaced(&f, 1);
	atomic_store(&a.enough, true);
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(status_number(&f, "fresh"), FILES + 40);
	assert_index(&f);
	fixture_remove(&f);
}
