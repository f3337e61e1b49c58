/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/queue/demand_pool.h"
#include "tests/support/test.h"

/* Digests of single files, computed when they are asked for. */

enum { SIZE = 10000, MOST = 65536 };

struct asked {
	struct demand_pool pool;
	struct source source;
	atomic_bool stopping;
	enum digest_id id; /* of the next requests */
	int fd;

	pthread_mutex_t lock; /* everything below */
	pthread_cond_t more;
	int answers, result;
	char text[MOST];
};

static void answer(void *arg, int result, const struct buf *text)
{
	struct asked *a = arg;

	pthread_mutex_lock(&a->lock);
	a->answers++;
	a->result = result;
	if (!result)
		(void)snprintf(a->text, sizeof(a->text), "%s", text->data);
	pthread_cond_signal(&a->more);
	pthread_mutex_unlock(&a->lock);
}

static int post(struct asked *a, uid_t uid, size_t most)
{
	return demand_pool_post(&a->pool,
				&(struct demand_query){ .id = a->id,
							.fd = a->fd,
							.uid = uid,
							.most = most,
							.done = answer,
							.arg = a });
}

static int ask(struct asked *a)
{
	assert_int_equal(post(a, 0, MOST), 0);
	pthread_mutex_lock(&a->lock);
	while (!a->answers)
		pthread_cond_wait(&a->more, &a->lock);
	a->answers = 0;
	pthread_mutex_unlock(&a->lock);
	return a->result;
}

static void write_bytes(struct asked *a, size_t len, unsigned seed)
{
	unsigned char data[SIZE];
	size_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 1103515245 + 12345;
		data[i] = (unsigned char)(seed >> 16);
	}
	assert_int_equal(ftruncate(a->fd, 0), 0);
	assert_int_equal(pwrite(a->fd, data, len, 0), len);
}

static int set_up(void **state)
{
	struct asked *a = calloc(1, sizeof(*a));

	assert_non_null(a);
	a->id = DIGEST_SDHASH;
	a->fd = memfd_create("asked", MFD_CLOEXEC);
	assert_true(a->fd >= 0);
	a->source.fd = a->fd;
	assert_int_equal(source_init(&a->source), 0);
	assert_int_equal(pthread_mutex_init(&a->lock, NULL), 0);
	assert_int_equal(pthread_cond_init(&a->more, NULL), 0);
	assert_int_equal(demand_pool_init(&a->pool, &a->source, &a->stopping),
			 0);
	*state = a;
	return 0;
}

static int tear_down(void **state)
{
	struct asked *a = *state;

	demand_pool_stop(&a->pool);
	demand_pool_release(&a->pool);
	pthread_cond_destroy(&a->more);
	pthread_mutex_destroy(&a->lock);
	close(a->fd);
	free(a);
	return 0;
}

#define WITH_FIXTURE(name) TEST_WITH(name, set_up, tear_down)

WITH_FIXTURE(test_a_text_is_of_the_present_content)
{
	struct asked *a = *state;
	char first[MOST];

	demand_pool_start(&a->pool, NULL);
	write_bytes(a, SIZE, 1);
	assert_int_equal(ask(a), 0);
	assert_memory_equal(a->text, "sdbf:", 5);
	assert_non_null(strstr(a->text, ":stdin:"));
	memcpy(first, a->text, sizeof(first));
	assert_int_equal(ask(a), 0);
	assert_string_equal(a->text, first);
	write_bytes(a, SIZE - 1, 2); /* its times may be the same */
	assert_int_equal(ask(a), 0);
	assert_string_not_equal(a->text, first);
}

WITH_FIXTURE(test_each_digest_has_its_own_text)
{
	struct asked *a = *state;
	char sdhash[MOST];

	demand_pool_start(&a->pool, NULL);
	write_bytes(a, 0, 1);
	a->id = DIGEST_SHA256;
	assert_int_equal(ask(a), 0);
	assert_string_equal(a->text, "e3b0c44298fc1c149afbf4c8996fb924"
				     "27ae41e4649b934ca495991b7852b855");
	a->id = DIGEST_TLSH;
	assert_int_equal(ask(a), -ENODATA);
	write_bytes(a, SIZE, 1);
	assert_int_equal(ask(a), 0);
	assert_memory_equal(a->text, "T1", 2);
	a->id = DIGEST_SDHASH;
	assert_int_equal(ask(a), 0);
	memcpy(sdhash, a->text, sizeof(sdhash));
	a->id = DIGEST_SHA256;
	assert_int_equal(ask(a), 0);
	assert_int_equal(strlen(a->text), 64);
	a->id = DIGEST_SDHASH;
	assert_int_equal(ask(a), 0);
	assert_string_equal(a->text, sdhash);
}

WITH_FIXTURE(test_files_without_a_text)
{
	struct asked *a = *state;

	demand_pool_start(&a->pool, NULL);
	write_bytes(a, 100, 1);
	assert_int_equal(ask(a), -ENODATA);
}

WITH_FIXTURE(test_one_user_does_not_have_all_requests)
{
	struct asked *a = *state;
	int posted, err = 0;

	write_bytes(a, SIZE, 1);
	for (posted = 0; !err; posted += !err)
		err = post(a, 1, MOST);
	assert_int_equal(err, -EAGAIN);
	assert_in_range(posted, 1, DEMAND_REQUESTS_MAX - 1);
	assert_int_equal(post(a, 2, MOST), 0);
	/* At the end every one is answered. */
	demand_pool_stop(&a->pool);
	assert_int_equal(a->answers, posted + 1);
	assert_int_equal(a->result, -ECANCELED);
	assert_int_equal(post(a, 3, MOST), -ECANCELED);
}
