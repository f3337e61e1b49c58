/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"

/* Digests are those of the present content, whatever happened. */

enum { LEN = 20000 };

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
