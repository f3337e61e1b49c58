/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CATALOG_FIXTURE_H
#define TESTS_UNIT_CATALOG_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/bytes.h"
#include "core/catalog/catalog.h"
#include "core/digest/sise.h"
#include "tests/support/test.h"
#include "tests/unit/catalog/oracle.h"
#include "tests/support/catalog_each.h"
#include "tests/support/catalog_open.h"
#include "tests/support/catalog_set.h"

/* What the catalog tests share: a directory of their own, a catalog in it,
 * made-up files and digests, and a seeded generator. */
struct fixture {
	char directory[64];
	struct catalog_options options;
	struct catalog *c;
};

static const struct file_key ROOT = { .inode = UINT64_C(1) << 40 };

static inline uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
	return next_random(state) % n;
}

static inline struct catalog_name name_of(const char *text)
{
	return (struct catalog_name){ text, strlen(text) };
}

static inline struct file_key key_of(uint64_t inode)
{
	return (struct file_key){ .inode = inode };
}

/* Makes the bytes of a digest the digest; they stay the caller's. */
static inline void lend_digest(struct digests *d, enum digest_id id,
			       const void *bytes, size_t len)
{
	d->blocks[id] = (struct digest_block){ (uint8_t *)bytes, len };
	d->set |= DIGEST_BIT(id);
}

/* A SiSe signature with parts of so many pairs, all of that value. */
static inline void make_sise(size_t pairs, uint16_t value, struct buf *out)
{
	static struct sise_signature sig;
	size_t i;

	sig.leading.block_size = 6144;
	sig.leading.mod_value = 6143;
	sig.leading.count = pairs;
	for (i = 0; i < pairs; i++)
		sig.leading.pairs[i] = value;
	sig.secondary = sig.leading;
	sig.secondary.block_size = 3072;
	sig.secondary.mod_value = 3071;
	assert_int_equal(sise_pack(&sig, out), 0);
}

/* The bytes of a sketch with that number for its only value. */
static inline size_t pack_sketch(uint64_t n, uint8_t *bytes, size_t len)
{
	static uint8_t packed[SKETCH_PACKED_MAX];
	static struct sketch sketch;
	size_t packed_len;

	sketch = (struct sketch){ .folded = 1 << 20,
				  .count = 1,
				  .values = { n % (1 << SKETCH_VALUE_BITS) },
				  .times = { 1 } };
	packed_len = sketch_pack(&sketch, packed);
	assert_true(packed_len <= len);
	memcpy(bytes, packed, packed_len);
	return packed_len;
}

/* The digests of the nth made-up content.  room, of 64 bytes or more, holds
 * the bytes of some of them. */
static inline struct digests digests_of(uint64_t n, char *room, size_t len)
{
	uint64_t state = n;
	struct digests d = { .set = DIGEST_DEFAULT, .size = n % 100000 };
	uint8_t *bytes = (uint8_t *)room;
	/* One pair a part; one character a part. */
	const uint8_t sise[] = { 11, 1, 1, (uint8_t)n, 0x50, 0xab, 0xc0 };
	const uint8_t ssdeep[] = { 4, 1, 1, (uint8_t)(n << 2), 0x80 };

	memcpy(d.xxh128, &n, sizeof(n));
	memset(d.xxh128 + 8, 0x5a, 8);
	store_be64(d.simhash, next_random(&state));
	memset(d.traits, (int)(n % 64), sizeof(d.traits));
	memcpy(bytes, sise, sizeof(sise));
	lend_digest(&d, DIGEST_SISE, bytes, sizeof(sise));
	memcpy(bytes + 8, ssdeep, sizeof(ssdeep));
	lend_digest(&d, DIGEST_SSDEEP, bytes + 8, sizeof(ssdeep));
	lend_digest(&d, DIGEST_SIF, bytes + 16,
		    pack_sketch(n, bytes + 16, len - 16));
	return d;
}

static inline struct file_identity identity_of(uint64_t n)
{
	return (struct file_identity){ .size = n % 100000,
				       .mtime_ns = (int64_t)n,
				       .ctime_ns = -1 };
}

static inline int set_fresh(struct catalog_txn *txn, uint64_t inode, uint64_t n)
{
	char text[64];
	struct digests d = digests_of(n, text, sizeof(text));
	struct file_identity id = identity_of(n);
	struct file_key key = key_of(inode);

	return catalog_file_set_fresh(txn, &key, &id, &d);
}

static inline void fixture_data_path(const struct fixture *f, char *path,
				     size_t len)
{
	(void)snprintf(path, len, "%s/data.mdb", f->directory);
}

static inline void fixture_init(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	(void)snprintf(f->directory, sizeof(f->directory), "%s",
		       "/tmp/kinfs-catalog-XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	f->options.directory = f->directory;
	f->options.source = "/made/up";
	f->options.digest_set = DIGEST_DEFAULT;
}

static inline void fixture_open(struct fixture *f)
{
	assert_int_equal(catalog_open(&f->options, &f->c), 0);
}

static inline void fixture_close(struct fixture *f)
{
	catalog_free(f->c);
	f->c = NULL;
}

/* Removes a directory of files. */
static inline void fixture_remove(const char *directory)
{
	char path[512];
	struct dirent *e;
	DIR *dir = opendir(directory);

	if (!dir)
		return;
	while ((e = readdir(dir)) != NULL) {
		(void)snprintf(path, sizeof(path), "%s/%s", directory,
			       e->d_name);
		(void)unlink(path);
	}
	(void)closedir(dir);
	(void)rmdir(directory);
}

static inline void fixture_release(struct fixture *f)
{
	fixture_close(f);
	fixture_remove(f->directory);
}

static inline int fixture_setup(void **state)
{
	struct fixture *f = malloc(sizeof(*f));

	assert_non_null(f);
	fixture_init(f);
	*state = f;
	return 0;
}

static inline int fixture_setup_open(void **state)
{
	(void)fixture_setup(state);
	fixture_open(*state);
	return 0;
}

static inline int fixture_teardown(void **state)
{
	fixture_release(*state);
	free(*state);
	return 0;
}

static inline struct catalog_txn *begin_write(struct fixture *f)
{
	struct catalog_txn *txn;

	assert_int_equal(catalog_write(f->c, &txn), 0);
	return txn;
}

static inline struct catalog_txn *begin_read(struct fixture *f)
{
	struct catalog_txn *txn;

	assert_int_equal(catalog_read(f->c, &txn), 0);
	return txn;
}

static inline void commit(struct catalog_txn *txn)
{
	assert_int_equal(catalog_commit(txn, NULL), 0);
}

static inline uint64_t count_files(struct fixture *f)
{
	struct catalog_txn *txn = begin_read(f);
	struct catalog_counts n;

	assert_int_equal(catalog_counts(txn, &n), 0);
	catalog_abort(txn);
	return n.files;
}

/* Adds files first..first+count-1, of as many contents, in one transaction.
 * Asserts nothing: also for children and threads. */
static inline int add_many(struct catalog *c, uint64_t first, uint64_t count)
{
	struct catalog_txn *txn;
	uint64_t i;
	int err;

	err = catalog_write(c, &txn);
	if (err)
		return err;
	for (i = first; !err && i < first + count; i++)
		err = set_fresh(txn, i, i);
	if (!err)
		return catalog_commit(txn, NULL);
	catalog_abort(txn);
	return err;
}

static inline int child_result(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static inline void check_clean(struct fixture *f)
{
	struct catalog_txn *txn = begin_read(f);
	const char *wrong = oracle_find(txn, &ROOT);

	if (wrong)
		fail_msg("the catalog has %s", wrong);
	catalog_abort(txn);
}

static inline void *read_whole(const char *path, size_t *len_out)
{
	FILE *in = fopen(path, "rb");
	uint8_t *data;
	long len;

	assert_non_null(in);
	assert_int_equal(fseek(in, 0, SEEK_END), 0);
	len = ftell(in);
	assert_true(len >= 0);
	rewind(in);
	data = malloc((size_t)len + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)len, in), len);
	(void)fclose(in);
	*len_out = (size_t)len;
	return data;
}

static inline void write_whole(const char *path, const void *data, size_t len)
{
	FILE *out = fopen(path, "wb");

	assert_non_null(out);
	assert_int_equal(fwrite(data, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

/* Collects paths, one a line. */
static inline int append_path(void *arg, const char *path)
{
	struct buf *b = arg;
	int err = buf_append_text(b, path);

	return err ? err : buf_append(b, "\n", 1);
}

static inline void assert_paths(struct catalog_txn *txn, uint64_t inode,
				const char *want)
{
	struct file_key key = key_of(inode);
	struct buf have = { 0 };

	assert_int_equal(
		catalog_path_each(txn, &ROOT, &key, append_path, &have), 0);
	assert_string_equal(have.data ? have.data : "", want);
	buf_release(&have);
}

#define WITH_CATALOG(name) TEST_WITH(name, fixture_setup_open, fixture_teardown)
#define WITH_FOLDER(name) TEST_WITH(name, fixture_setup, fixture_teardown)

#endif
