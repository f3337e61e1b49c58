/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/directory_cache.h"
#include "tests/unit/search/fixture.h"

enum { TRUST_MS = 50, BEGIN_MS = 1000 };

static struct directory_cache cache;

static int set_up_all(void **state)
{
	directory_cache_init(&cache, SIZE_MAX);
	return set_up(state);
}

static int tear_down_all(void **state)
{
	directory_cache_release(&cache);
	return tear_down(state);
}

static void key_of(const struct world *w, const char *path,
		   struct file_key *out)
{
	struct stat st;
	int fd = openat(w->fd, path, O_PATH | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	source_get_key(&w->source, fd, &st, out);
	close(fd);
}

/* Looks up a directory in a turn that begins at that time. */
static int look_up(struct world *w, const struct file_key *key, int64_t now_ms)
{
	const struct directory_cache_entry *found;
	struct catalog_txn *txn;
	int err;

	directory_cache_begin_turn(&cache, now_ms, TRUST_MS);
	assert_int_equal(catalog_read(w->catalog, &txn), 0);
	err = directory_cache_get(&cache, txn, &w->source, key, &found);
	catalog_abort(txn);
	return err;
}

#define WITH_CACHE(name) TEST_WITH(name, set_up_all, tear_down_all)

WITH_CACHE(test_a_directory_is_trusted_for_a_short_time)
{
	struct world *w = *state;
	struct file_key key;

	make_directory(w, "d");
	make_directory_in(w, "d", "in");
	key_of(w, "d/in", &key);
	assert_int_equal(look_up(w, &key, BEGIN_MS), 0);
	assert_int_equal(renameat(w->fd, "d", w->fd, "e"), 0);
	assert_int_equal(look_up(w, &key, BEGIN_MS + TRUST_MS - 1), 0);
	assert_int_equal(look_up(w, &key, BEGIN_MS + TRUST_MS), -ENOENT);
}

/* The use of a directory does not make it verified. */
WITH_CACHE(test_a_round_ends_while_directories_are_used)
{
	struct world *w = *state;
	struct file_key key;
	int64_t ms;

	make_directory(w, "d");
	key_of(w, "d", &key);
	assert_int_equal(look_up(w, &key, BEGIN_MS), 0);
	assert_int_equal(renameat(w->fd, "d", w->fd, "e"), 0);
	for (ms = 1; ms < TRUST_MS; ms++)
		assert_int_equal(look_up(w, &key, BEGIN_MS + ms), 0);
	assert_int_equal(look_up(w, &key, BEGIN_MS + ms), -ENOENT);
}

WITH_CACHE(test_a_new_snapshot_ends_trust)
{
	struct world *w = *state;
	struct file_key key;

	make_directory(w, "d");
	key_of(w, "d", &key);
	assert_int_equal(look_up(w, &key, BEGIN_MS), 0);
	assert_int_equal(renameat(w->fd, "d", w->fd, "e"), 0);
	make_directory(w, "other");
	assert_int_equal(look_up(w, &key, BEGIN_MS), -ENOENT);
}

enum { MANY = DIRECTORY_CACHE_SIZE / 8 };

/* Looks up so many directories in one turn; returns how many stay open. */
static unsigned look_up_many(struct world *w)
{
	struct file_key keys[MANY];
	char name[16];
	unsigned i, kept = 0;
	size_t at;

	for (i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "d%u", i);
		make_directory(w, name);
		key_of(w, name, &keys[i]);
	}
	for (i = 0; i < MANY; i++)
		assert_int_equal(look_up(w, &keys[i], BEGIN_MS), 0);
	for (at = 0; at < DIRECTORY_CACHE_SIZE; at++)
		kept += cache.entries[at].path && cache.entries[at].fd >= 0;
	return kept;
}

/* In one turn the directories of a large family stay open. */
WITH_CACHE(test_many_directories_are_open_at_once)
{
	assert_int_equal(look_up_many(*state), MANY + 1); /* and the top */
}

WITH_CACHE(test_no_more_are_open_than_allowed)
{
	directory_cache_init(&cache, 30);
	assert_in_range(look_up_many(*state), 2, 30);
	directory_cache_release(&cache);
	directory_cache_init(&cache, 0);
	assert_int_equal(cache.sets, 1);
}
