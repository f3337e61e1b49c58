/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/index/fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#define CONTENTS 20000
#define READERS 3

/* Contents that are never removed; one in STEADY. */
#define STEADY 10

struct shared {
	struct index *ix;
	atomic_uint added; /* every id up to here is in, or was */
	atomic_uint wrong;
};

/* Three values: of all, of some neighbours, of its own. */
static void sketch_of(uint32_t id, struct sketch *out)
{
	*out = (struct sketch){ 0 };
	sketch_add(out, value_of(0));
	sketch_add(out, value_of(1 + id / 7));
	sketch_add(out, value_of(1000000 + id));
}

static bool is_found(struct shared *s, const struct index_query *q, uint32_t id)
{
	struct index_candidate found[8];
	size_t count, i;

	if (index_candidates(s->ix, q, false, found, 8, &count))
		return false;
	for (i = 0; i < count; i++)
		if (found[i].content == id)
			return true;
	return false;
}

/* A steady content that was added is found. */
static void look_for(struct shared *s, uint32_t id)
{
	struct sketch sketch;
	struct index_query query = { .subject = subject_of_bytes(&sketch) };

	sketch_of(id, &sketch);
	if (!is_found(s, &query, id))
		atomic_fetch_add(&s->wrong, 1);
}

static void *reader(void *arg)
{
	struct shared *s = arg;
	unsigned added, i = 0;

	do {
		added = atomic_load(&s->added);
		if (added >= STEADY)
			look_for(s, STEADY * (1 + i++ % (added / STEADY)));
	} while (added < CONTENTS);
	return NULL;
}

static void change(struct shared *s)
{
	struct sketch sketch;
	uint32_t id;
	int err;

	for (id = 1; id <= CONTENTS; id++) {
		sketch_of(id, &sketch);
		err = index_add(s->ix, id, &sketch);
		if (err)
			atomic_fetch_add(&s->wrong, 1);
		atomic_store(&s->added, id);
		if (id > 50 && (id - 50) % STEADY)
			index_remove(s->ix, id - 50);
	}
}

TEST(test_readers_see_every_steady_row)
{
	struct shared s = { 0 };
	pthread_t threads[READERS];
	int i;

	assert_int_equal(index_new(&s.ix), 0);
	for (i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, reader, &s),
				 0);
	change(&s);
	for (i = 0; i < READERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(atomic_load(&s.wrong), 0);
	index_free(s.ix);
}
