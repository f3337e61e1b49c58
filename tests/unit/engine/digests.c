/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"

/* Digests are those of the present content, whatever happened. */

enum { LEN = 20000 };

TEST(test_scan_hashes_everything)
{
	struct fixture f;
	struct file_digests answer;
	char text[LEN], name[32];
	int i;

	fixture_make(&f);
	for (i = 0; i < 50; i++) {
		make_text(text, LEN, (uint64_t)i + 1);
		(void)snprintf(name, sizeof(name), "file%d", i);
		write_file(&f, name, text, (size_t)i * 100);
	}
	fixture_open(&f);
	wait_idle(&f);
	assert_int_equal(status_number(&f, "fresh"), 50);
	assert_int_equal(status_number(&f, "pending"), 0);
	for (i = 0; i < 50; i++) {
		int fd;

		make_text(text, LEN, (uint64_t)i + 1);
		(void)snprintf(name, sizeof(name), "file%d", i);
		fd = open_file(&f, name);
		assert_int_equal(engine_ask(f.engine, fd, DIGEST_ALL, &answer),
				 0);
		close(fd);
		assert_int_equal(answer.state, DIGESTS_FRESH);
		assert_digests_of(&answer.digests, text, (size_t)i * 100);
		file_digests_release(&answer);
	}
	fixture_remove(&f);
}

TEST(test_a_change_is_never_answered_with_the_old_value)
{
	struct fixture f;
	struct file_digests answer;
	char text[LEN];
	int i, fd;

	fixture_make(&f);
	make_text(text, LEN, 1);
	write_file(&f, "a", text, LEN);
	fixture_open(&f);
	for (i = 0; i < 20; i++) {
		ask_fresh(&f, "a", &answer);
		assert_digests_of(&answer.digests, text, LEN);
		file_digests_release(&answer);
		make_text(text, LEN, (uint64_t)i + 2);
		write_file(&f, "a", text, LEN);
		fd = open_file(&f, "a");
		assert_int_equal(engine_ask(f.engine, fd, DIGEST_ALL, &answer),
				 0);
		assert_int_equal(answer.state, DIGESTS_PENDING);
		tell_closed(&f, fd);
		close(fd);
	}
	fixture_remove(&f);
}

TEST(test_a_remount_reads_nothing)
{
	struct fixture f;
	struct file_digests answer;
	char text[LEN];

	fixture_make(&f);
	make_text(text, LEN, 1);
	write_file(&f, "a", text, LEN);
	write_file(&f, "b", text, LEN / 2);
	fixture_open(&f);
	wait_idle(&f);
	fixture_close(&f);
	fixture_open(&f);
	wait_idle(&f);
	ask_fresh(&f, "a", &answer);
	assert_digests_of(&answer.digests, text, LEN);
	file_digests_release(&answer);
	assert_int_equal(hashed_files(&f), 0);
	fixture_remove(&f);
}

static void stat_of(struct fixture *f, const char *path,
		    struct file_identity *out)
{
	int fd = open_file(f, path);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	source_get_identity(&st, out);
	close(fd);
}

static void change_mode(struct fixture *f, const char *path, mode_t mode)
{
	char full[128];

	(void)snprintf(full, sizeof(full), "%s/%s", f->source, path);
	assert_int_equal(chmod(full, mode), 0);
}

TEST(test_a_moved_ctime_that_was_told_costs_no_reading)
{
	struct fixture f;
	struct file_digests answer;
	struct file_identity before, after;
	struct file_key key;
	char text[LEN];

	fixture_make(&f);
	make_text(text, LEN, 1);
	write_file(&f, "told", text, LEN);
	write_file(&f, "untold", text, LEN);
	fixture_open(&f);
	wait_idle(&f);
	assert_int_equal(hashed_files(&f), 2);
	key_of(&f, "told", &key);
	stat_of(&f, "told", &before);
	change_mode(&f, "told", 0640);
	stat_of(&f, "told", &after);
	engine_metadata_changed(f.engine, &key, &before, &after);
	ask_fresh(&f, "told", &answer);
	assert_digests_of(&answer.digests, text, LEN);
	file_digests_release(&answer);
	assert_int_equal(hashed_files(&f), 2);
	/* The same behind the host's back: it could be a new content. */
	change_mode(&f, "untold", 0640);
	ask_fresh(&f, "untold", &answer);
	file_digests_release(&answer);
	assert_int_equal(hashed_files(&f), 3);
	fixture_remove(&f);
}

TEST(test_touching_does_not_cover_a_change)
{
	struct fixture f;
	struct file_digests answer;
	struct file_identity before, after;
	struct file_key key;
	char text[LEN];

	fixture_make(&f);
	make_text(text, LEN, 1);
	write_file(&f, "a", text, LEN);
	fixture_open(&f);
	wait_idle(&f);
	key_of(&f, "a", &key);
	/* The content changed before the host began to look. */
	make_text(text, LEN, 2);
	write_file(&f, "a", text, LEN);
	stat_of(&f, "a", &before);
	change_mode(&f, "a", 0640);
	stat_of(&f, "a", &after);
	engine_metadata_changed(f.engine, &key, &before, &after);
	ask_fresh(&f, "a", &answer);
	assert_digests_of(&answer.digests, text, LEN);
	file_digests_release(&answer);
	fixture_remove(&f);
}

TEST(test_rules_skip)
{
	static const char *const globs[] = { "*.tmp", "/build/*.o" };
	struct fixture f;
	struct file_digests answer;
	char path[128], text[LEN];
	int fd;

	fixture_make(&f);
	make_text(text, LEN, 1);
	(void)snprintf(path, sizeof(path), "%s/build", f.source);
	assert_int_equal(mkdir(path, 0700), 0);
	write_file(&f, "small", text, 10);
	write_file(&f, "x.tmp", text, LEN);
	write_file(&f, "build/x.o", text, LEN);
	write_file(&f, "build/x.c", text, LEN);
	f.options.min_size = 100;
	f.options.excludes = globs;
	f.options.exclude_count = 2;
	fixture_open(&f);
	wait_idle(&f);
	assert_int_equal(status_number(&f, "fresh"), 1);
	assert_int_equal(status_number(&f, "skipped"), 3);
	fd = open_file(&f, "small");
	assert_int_equal(engine_ask(f.engine, fd, DIGEST_ALL, &answer), 0);
	assert_int_equal(answer.state, DIGESTS_SKIPPED);
	assert_string_equal(answer.rule, "min_size");
	close(fd);
	fd = open_file(&f, "x.tmp");
	assert_int_equal(engine_ask(f.engine, fd, DIGEST_ALL, &answer), 0);
	assert_int_equal(answer.state, DIGESTS_SKIPPED);
	assert_string_equal(answer.rule, "exclude");
	close(fd);
	fixture_remove(&f);
}

TEST(test_waiting_ends_at_the_deadline_and_at_the_end)
{
	struct fixture f;
	struct file_request late, never;
	char text[LEN];
	int fd;

	fixture_make(&f);
	make_text(text, LEN, 1);
	write_file(&f, "a", text, LEN);
	f.options.source_fd = f.source_fd;
	f.options.source = f.source;
	f.options.catalog_dir = f.catalog;
	/* Nothing runs, so nothing will be hashed ... */
	assert_int_equal(engine_open(&f.options, &f.engine), 0);
	fd = open_file(&f, "a");
	file_request_init(&never, fd, DEADLINE_S * 1000);
	assert_int_equal(engine_wait(f.engine, &never.wait), 0);
	assert_int_equal(never.outcome.calls, 0);
	fixture_close(&f);
	assert_int_equal(outcome_wait(&never.outcome), -ECANCELED);
	/* ... and a file that is read for ever is not waited for. */
	f.options.max_size = 0;
	fixture_open(&f);
	wait_idle(&f);
	make_text(text, LEN, 2);
	write_file(&f, "a", text, LEN);
	file_request_init(&late, fd, 0);
	assert_int_equal(engine_wait(f.engine, &late.wait), 0);
	assert_int_equal(late.outcome.calls, 1);
	assert_int_equal(outcome_wait(&late.outcome), 0);
	assert_int_equal(late.outcome.answer.state, DIGESTS_PENDING);
	close(fd);
	fixture_remove(&f);
}

/* An idle engine, and a file that it has not been told of; opened. */
static int fixture_with_file(struct fixture *f, char text[static LEN])
{
	fixture_make(f);
	fixture_open(f);
	wait_idle(f);
	make_text(text, LEN, 1);
	write_file(f, "a", text, LEN);
	return open_file(f, "a");
}

TEST(test_a_request_that_waits_gets_the_digests)
{
	struct file_request pending, fresh;
	struct fixture f;
	char text[LEN];
	int fd;

	fd = fixture_with_file(&f, text);
	file_request_init(&pending, fd, DEADLINE_S * 1000);
	assert_int_equal(engine_wait(f.engine, &pending.wait), 0);
	assert_int_equal(outcome_wait(&pending.outcome), 0);
	assert_int_equal(pending.outcome.answer.state, DIGESTS_FRESH);
	assert_digests_of(&pending.outcome.answer.digests, text, LEN);
	/* When it was made, and when it was answered. */
	assert_int_equal(pending.opened, 2);
	assert_true(engine_digests_hold(f.engine, fd, &pending.outcome.answer));

	file_request_init(&fresh, fd, DEADLINE_S * 1000);
	assert_int_equal(engine_wait(f.engine, &fresh.wait), 0);
	assert_int_equal(fresh.outcome.calls, 1);
	assert_digests_of(&fresh.outcome.answer.digests, text, LEN);
	assert_int_equal(fresh.opened, 1);

	make_text(text, LEN, 2);
	write_file(&f, "a", text, LEN);
	assert_false(engine_digests_hold(f.engine, fd, &fresh.outcome.answer));
	file_digests_release(&pending.outcome.answer);
	file_digests_release(&fresh.outcome.answer);
	close(fd);
	fixture_remove(&f);
}

static struct fixture *changing;

/* The file changes after it was hashed and before the request is answered. */
static void change_before_the_answer(struct file_request *r)
{
	char text[LEN];

	if (r->opened != 2)
		return;
	make_text(text, LEN, 2);
	write_file(changing, "a", text, LEN);
}

TEST(test_the_answer_is_of_the_present_content)
{
	struct file_request r;
	struct fixture f;
	char text[LEN];
	int fd;

	fd = fixture_with_file(&f, text);
	file_request_init(&r, fd, DEADLINE_S * 1000);
	changing = &f;
	r.on_open = change_before_the_answer;
	assert_int_equal(engine_wait(f.engine, &r.wait), 0);
	assert_int_equal(outcome_wait(&r.outcome), 0);
	make_text(text, LEN, 2);
	assert_int_equal(r.outcome.answer.state, DIGESTS_FRESH);
	assert_digests_of(&r.outcome.answer.digests, text, LEN);
	assert_in_range(r.opened, 3, 4);
	file_digests_release(&r.outcome.answer);
	close(fd);
	fixture_remove(&f);
}

struct asker {
	struct fixture *f;
	int fd;
};

static void *ask_often(void *arg)
{
	struct asker *a = arg;
	int i;

	for (i = 0; i < 200; i++) {
		struct file_request r;

		file_request_init(&r, a->fd, 1000);
		if (engine_wait(a->f->engine, &r.wait) ||
		    outcome_wait(&r.outcome))
			return a;
		file_digests_release(&r.outcome.answer);
	}
	return NULL;
}

TEST(test_many_requests_while_it_changes)
{
	enum { ASKERS = 8 };
	struct fixture f;
	struct asker asker;
	struct file_digests answer;
	pthread_t threads[ASKERS];
	char text[LEN];
	void *failed;
	int i;

	fixture_make(&f);
	make_text(text, LEN, 1);
	write_file(&f, "a", text, LEN);
	fixture_open(&f);
	asker = (struct asker){ &f, open_file(&f, "a") };
	for (i = 0; i < ASKERS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, ask_often, &asker),
			0);
	for (i = 0; i < 30; i++) {
		make_text(text, LEN, (uint64_t)i + 2);
		write_file(&f, "a", text, LEN);
		tell_closed(&f, asker.fd);
		engine_rescan(f.engine);
	}
	for (i = 0; i < ASKERS; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	close(asker.fd);
	ask_fresh(&f, "a", &answer);
	assert_digests_of(&answer.digests, text, LEN);
	file_digests_release(&answer);
	fixture_remove(&f);
}
