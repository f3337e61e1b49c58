/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CATALOG_SAMPLE_H
#define TESTS_UNIT_CATALOG_SAMPLE_H

#include "tests/unit/catalog/fixture.h"

#include <sys/stat.h>

#include "core/catalog/catalog_impl.h"
#include "tests/support/catalog_each.h"
#include "tests/support/seal.h"

/*
 * Damaged files.  The promise: what differs from a sealed file is -EUCLEAN.
 * Without a seal, as after a kill, it is refused, or everything can be read and
 * written without a crash.  When it was refused and set aside, a new one opens.
 */
enum { FLIPS = 150, SEED = 20 };

struct sample {
	struct fixture f;
	char path[128];
	uint8_t *bytes;
	size_t len;
};

static inline void add_names(struct catalog_txn *txn, uint64_t i)
{
	struct file_key key = key_of(i);
	struct file_key parent = key_of(100000 + i / 50);
	char name[64];

	(void)snprintf(name, sizeof(name), "file number %d of many", (int)i);
	assert_int_equal(catalog_name_set(txn, &parent, name_of(name), &key),
			 0);
	(void)snprintf(name, sizeof(name), "dir %d", (int)(i / 50));
	assert_int_equal(catalog_name_set(txn, &ROOT, name_of(name), &parent),
			 0);
}

static inline void add_long_signature(struct catalog_txn *txn, uint64_t inode)
{
	struct file_key key = key_of(inode);
	struct file_identity id = identity_of(inode);
	char text[128];
	struct digests d = digests_of(inode, text, sizeof(text));
	struct buf sise = { 0 };

	make_sise(SISE_MAX_PAIRS, 7, &sise);
	lend_digest(&d, DIGEST_SISE, sise.data, sise.len);
	assert_int_equal(catalog_file_set_fresh(txn, &key, &id, &d), 0);
	buf_release(&sise);
}

static inline void fill_sample(struct fixture *f)
{
	struct file_identity id = identity_of(7);
	struct catalog_txn *txn;
	struct file_key key;
	uint64_t i, batch;

	for (batch = 0; batch < 6; batch++) {
		txn = begin_write(f);
		for (i = 100 * batch; i < 100 * batch + 100; i++) {
			key = key_of(i);
			if (i % 7 == 0)
				(void)catalog_file_set_pending(txn, &key, &id);
			else if (i % 30 == 1)
				add_long_signature(txn, i);
			else
				assert_int_equal(set_fresh(txn, i, i), 0);
			add_names(txn, i);
		}
		/* So that there are free pages. */
		key = key_of(100 * batch + 5);
		assert_int_equal(catalog_file_remove(txn, &key), 0);
		commit(txn);
	}
}

static inline int setup_sample(void **state)
{
	struct sample *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	fixture_init(&s->f);
	fixture_open(&s->f);
	fill_sample(&s->f);
	check_clean(&s->f);
	fixture_close(&s->f);
	fixture_data_path(&s->f, s->path, sizeof(s->path));
	s->bytes = read_whole(s->path, &s->len);
	*state = s;
	return 0;
}

static inline int teardown_sample(void **state)
{
	struct sample *s = *state;

	fixture_release(&s->f);
	free(s->bytes);
	free(s);
	return 0;
}

static inline int ignore_content(void *arg, uint32_t content,
				 const struct digests *d)
{
	(void)arg;
	(void)content;
	(void)d;
	return 0;
}

/* Reads the sketch, whatever it is. */
static inline int try_sketch(void *arg, uint32_t content, const uint8_t *packed,
			     size_t len)
{
	static struct sketch sketch;

	(void)arg;
	(void)content;
	(void)sketch_unpack(packed, len, &sketch);
	return 0;
}

static inline int ignore_key(void *arg, uint32_t content,
			     const struct file_key *key)
{
	(void)arg;
	(void)content;
	(void)key;
	return 0;
}

static inline int ignore_name(void *arg, struct catalog_name name,
			      const struct file_key *key)
{
	(void)arg;
	(void)name;
	(void)key;
	return 0;
}

static inline int ignore_path(void *arg, const char *path)
{
	(void)arg;
	(void)path;
	return 0;
}

/* Reads all there is, whatever the results. */
static inline void read_all(struct catalog *c)
{
	struct catalog_txn *txn;
	struct file_record r;
	struct file_key key;
	struct sketch sketch;
	struct digests d;
	uint32_t i;

	if (catalog_read(c, &txn))
		return;
	(void)oracle_find(txn, &ROOT);
	(void)catalog_content_each(txn, ignore_content, NULL);
	(void)catalog_sketch_each(txn, try_sketch, NULL);
	for (i = 0; i < 700; i++) {
		key = key_of(i < 600 ? i : 100000 + i - 600);
		(void)catalog_file_get(txn, &key, &r);
		(void)catalog_path_each(txn, &ROOT, &key, ignore_path, NULL);
		(void)catalog_entry_each(txn, &key, ignore_name, NULL);
		(void)catalog_copy_each(txn, i, ignore_key, NULL);
		if (catalog_content_get(txn, i, CONTENT_ALL, &d) == 0)
			digests_release(&d);
		(void)catalog_sketch_get(txn, i, &sketch);
		(void)catalog_pending_next(txn, &key, &key, &r);
	}
	catalog_abort(txn);
}

/* Commits, or does not; a growing map would hide what is asked here. */
static inline void end_write(struct catalog_txn *txn)
{
	(void)catalog_commit(txn, NULL);
}

static inline void write_all(struct catalog *c)
{
	struct catalog_txn *txn;
	struct file_key key;
	uint64_t i;

	if (catalog_write(c, &txn) == 0) {
		for (i = 0; i < 600; i += 3)
			(void)set_fresh(txn, i, 5000 + i);
		end_write(txn);
	}
	if (catalog_write(c, &txn) == 0) {
		key = ROOT;
		(void)catalog_file_remove(txn, &key);
		end_write(txn);
	}
	(void)add_many(c, 0, 100);
}

static inline void break_seal(struct sample *s)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/sealed", s->f.directory);
	(void)unlink(path);
}

/* Opens what is there now; uses it if that works.  The result of opening. */
static inline int try_all(struct sample *s)
{
	int err = catalog_open(&s->f.options, &s->f.c);

	if (err) {
		assert_true(err == -EUCLEAN || err == -EMEDIUMTYPE);
		return err;
	}
	read_all(s->f.c);
	write_all(s->f.c);
	read_all(s->f.c);
	fixture_close(&s->f);
	return 0;
}

static inline int try_unsealed(struct sample *s)
{
	break_seal(s);
	return try_all(s);
}

/* As it was sealed; damage is done to that. */
static inline void restore(struct sample *s)
{
	write_whole(s->path, s->bytes, s->len);
	break_seal(s);
	seal_directory(s->f.directory);
}

static inline void replace(struct sample *s, struct buf *aside)
{
	int err;

	assert_int_equal(catalog_begin(&s->f.options, &s->f.c), 0);
	err = catalog_finish(s->f.c);
	assert_true(err == -EUCLEAN || err == -EMEDIUMTYPE);
	assert_false(catalog_is_open(s->f.c));
	assert_int_equal(catalog_replace(s->f.c, aside), 0);
	catalog_admit(s->f.c, 0);
	assert_true(catalog_is_open(s->f.c));
	assert_int_equal(count_files(&s->f), 0);
	fixture_close(&s->f);
}

static inline void assert_set_aside_and_opened(struct sample *s)
{
	struct buf aside = { 0 };

	replace(s, &aside);
	assert_int_equal(access(aside.data, F_OK), 0);
	fixture_open(&s->f);
	assert_int_equal(count_files(&s->f), 0);
	fixture_close(&s->f);
	assert_int_equal(unlink(aside.data), 0);
	buf_release(&aside);
}

#define WITH_SAMPLE(name) TEST_WITH(name, setup_sample, teardown_sample)

#endif
