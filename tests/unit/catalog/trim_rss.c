/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/unit/catalog/fixture.h"
#include "tests/support/mapped.h"

enum { FILES = 20000 };

static size_t resident_kib(const struct fixture *f)
{
	char path[128];

	fixture_data_path(f, path, sizeof(path));
	return mapped_kib(path);
}

static int add(void *arg, uint32_t content, const struct digests *d)
{
	uint64_t *sum = arg;

	*sum = *sum * 31 + content + digests_simhash(d);
	return 0;
}

static uint64_t walk(struct catalog_txn *txn)
{
	uint64_t sum = 0;

	assert_int_equal(catalog_content_each(txn, add, &sum), 0);
	return sum;
}

static void fill(struct fixture *f)
{
	struct catalog_txn *txn = begin_write(f);
	uint64_t i;

	for (i = 1; i <= FILES; i++)
		assert_int_equal(set_fresh(txn, i, i), 0);
	commit(txn);
}

WITH_CATALOG(test_leaves_the_memory_to_others)
{
	struct fixture *f = *state;
	struct catalog_txn *txn;
	size_t before;

	fill(f);
	txn = begin_read(f);
	(void)walk(txn);
	catalog_abort(txn);
	before = resident_kib(f);
	assert_true(before > 500);
	assert_int_equal(catalog_trim_rss(f->c), 0);
	assert_true(resident_kib(f) < before / 2);
}

WITH_CATALOG(test_changes_nothing)
{
	struct fixture *f = *state;
	struct catalog_txn *reader, *writer;
	uint64_t sum;

	fill(f);
	reader = begin_read(f);
	sum = walk(reader);
	writer = begin_write(f);
	assert_int_equal(set_fresh(writer, FILES + 1, FILES + 1), 0);
	assert_int_equal(catalog_trim_rss(f->c), 0);
	assert_true(walk(reader) == sum);
	assert_true(walk(writer) != sum);
	commit(writer);
	assert_true(walk(reader) == sum);
	catalog_abort(reader);
	assert_int_equal(catalog_trim_rss(f->c), 0);
	assert_int_equal(count_files(f), FILES + 1);
}

WITH_CATALOG(test_of_an_empty_catalog)
{
	struct fixture *f = *state;

	assert_int_equal(catalog_trim_rss(f->c), 0);
	assert_int_equal(count_files(f), 0);
}

/* Where the path begins in a line of /proc/self/maps, and how much of a line
 * was once read at a time. */
enum { PATH_COLUMN = 73, LINE_PART = 511 };

/* A file below what the catalog's map is, with a long path of which a part
 * looks like a range of nearly all memory. */
WITH_CATALOG(test_a_path_is_no_range_of_memory)
{
	static const char range[] = "0-7ffffffff000";
	struct fixture *f = *state;
	char path[1024];
	int len = snprintf(path, sizeof(path), "%s/%0200d", f->directory, 0);
	void *map;
	int fd;

	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path + len, sizeof(path) - (size_t)len, "/%0*d%s",
		       LINE_PART - PATH_COLUMN - len - 1, 0, range);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	map = mmap((void *)(uintptr_t)0x10000000, 4096, PROT_READ, MAP_SHARED,
		   fd, 0);
	assert_true(map != MAP_FAILED);
	assert_int_equal(catalog_trim_rss(f->c), 0);
	assert_int_equal(count_files(f), 0);
	assert_int_equal(munmap(map, 4096), 0);
	(void)close(fd);
	assert_int_equal(unlink(path), 0);
	path[len] = '\0';
	assert_int_equal(rmdir(path), 0);
}
