/* SPDX-License-Identifier: Apache-2.0 */

#include <limits.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/source/listing.h"
#include "core/source/source.h"
#include "core/source/times.h"
#include "tests/support/test.h"

/* What the times of a file are worth, and when. */

static time_t now; /* 0: the real one */

static long ticked; /* nanoseconds of now at the last tick */

/* Stands before the C library's. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
	if (!now || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return (int)syscall(SYS_clock_gettime, clock, out);
	*out = (struct timespec){ .tv_sec = now };
	if (clock == CLOCK_REALTIME_COARSE)
		out->tv_nsec = ticked;
	else
		out->tv_nsec = ticked + 999999;
	return 0;
}

enum { THEN = 1700000000 };

static struct file_identity identity_at(time_t when, long ctime_nsec)
{
	struct stat st = {
		.st_size = 1,
		.st_mtim = { .tv_sec = 1000000000, .tv_nsec = 5 },
		.st_ctim = { .tv_sec = THEN, .tv_nsec = ctime_nsec },
	};
	struct file_identity id;

	now = when;
	source_get_identity(&st, &id);
	return id;
}

static bool is_too_young_at(time_t when, const struct file_identity *id)
{
	int64_t wait_ms = 0;
	bool young;

	now = when;
	young = times_are_too_young(TIMES_OWN, id, false, 0, &wait_ms);
	if (young)
		assert_in_range(wait_ms, 1, 2100);
	return young;
}

/* The clock gets to a second in which a file was changed before: the state that
 * was hashed before that second is not the one that is hashed after it. */
TEST(test_whole_seconds_in_the_future)
{
	struct file_identity long_before = identity_at(THEN - 5000, 0);
	struct file_identity before = identity_at(THEN - 1, 0);
	struct file_identity at = identity_at(THEN, 0);
	struct file_identity after = identity_at(THEN + 3, 0);

	assert_true(file_identity_equal(&long_before, &before));
	assert_false(is_too_young_at(THEN - 2, &before));
	assert_false(file_identity_equal(&before, &at));
	assert_true(is_too_young_at(THEN, &at));
	assert_true(is_too_young_at(THEN + 2, &at));
	assert_false(is_too_young_at(THEN + 3, &at));
	assert_true(file_identity_equal(&at, &after));
}

TEST(test_nanoseconds_in_the_future)
{
	struct file_identity before = identity_at(THEN - 5000, 7);
	struct file_identity after = identity_at(THEN + 3, 7);

	assert_true(file_identity_equal(&before, &after));
	assert_false(is_too_young_at(THEN - 2, &before));
	assert_false(is_too_young_at(THEN + 1, &before));
}

/* A change now would get the time of the last tick. */
TEST(test_a_change_that_is_over_is_old_after_a_tick)
{
	struct file_identity id = identity_at(THEN, 8000000);
	int64_t wait_ms;

	ticked = 8000000;
	assert_true(times_are_too_young(TIMES_OWN, &id, true, 0, &wait_ms));
	assert_in_range(wait_ms, 1, 11);
	ticked = 8000500; /* the filesystem has cut off as much */
	assert_true(times_are_too_young(TIMES_OWN, &id, true, 0, &wait_ms));
	ticked = 9000000;
	assert_false(times_are_too_young(TIMES_OWN, &id, true, 0, &wait_ms));
	assert_true(times_are_too_young(TIMES_OWN, &id, false, 0, &wait_ms));
	id = identity_at(THEN, 0);
	assert_true(times_are_too_young(TIMES_OWN, &id, true, 0, &wait_ms));
	ticked = 0;
}

/* Whatever somebody set the mtime to. */
TEST(test_the_ctime_tells_how_finely_is_counted)
{
	struct file_identity id = identity_at(THEN + 1, 0);

	assert_true(id.mtime_ns % 1000000000 != 0);
	assert_true(is_too_young_at(THEN + 1, &id));
}

static bool is_doubtful_for(const struct file_identity *id, int64_t same_ms)
{
	int64_t wait_ms;

	return times_are_too_young(TIMES_DOUBTFUL, id, true, same_ms, &wait_ms);
}

TEST(test_another_clock)
{
	struct file_identity id = identity_at(THEN + 3600, 7);

	assert_true(is_doubtful_for(&id, 0));
	assert_true(is_doubtful_for(&id, 2000));
	assert_false(is_doubtful_for(&id, 2100));
	now = THEN - 3600;
	assert_true(is_doubtful_for(&id, 0));
	now = THEN + 2 * 24 * 3600;
	assert_false(is_doubtful_for(&id, 0));
}

static void assert_type(uint64_t type, enum times_worth times,
			enum inode_numbers numbers)
{
	struct filesystem found = filesystem_of_type(type);

	assert_int_equal(found.times, times);
	assert_int_equal(found.numbers, numbers);
}

TEST(test_filesystems)
{
	static const uint64_t kept[] = { 0xef53, 0x58465342, 0x9123683e,
					 0x01021994 };
	static const uint64_t images[] = { 0x73717368, 0xe0f5e1e2, 0x9660 };
	static const uint64_t doubtful[] = {
		0x4d44,     0x2011bab0, /* FAT, exFAT */
		0x6969,     0xfe534d42, /* NFS, SMB */
		0x65735546, 0x01021997, /* FUSE, 9p */
		0x12345678,
	};
	size_t i;

	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		assert_type(kept[i], TIMES_OWN, NUMBERS_KEPT);
	for (i = 0; i < sizeof(images) / sizeof(images[0]); i++)
		assert_type(images[i], TIMES_OWN, NUMBERS_OF_IMAGE);
	for (i = 0; i < sizeof(doubtful) / sizeof(doubtful[0]); i++)
		assert_type(doubtful[i], TIMES_DOUBTFUL, NUMBERS_MADE_UP);
	assert_type(0x794c7630, TIMES_OWN, NUMBERS_MADE_UP); /* overlayfs */
	assert_int_equal(filesystem_of_root(-1).times, TIMES_DOUBTFUL);
}

/* The files of a directory on a filesystem that makes numbers up are known by
 * their names, but for those whose mtime something else has as well. */
TEST(test_what_a_name_tells)
{
	static const struct {
		int64_t mtime_ns;
		bool directory, known;
	} want[] = { { 1, false, true },  { 2, false, false },
		     { 2, false, false }, { 3, false, false },
		     { 3, true, true },   { 4, false, false },
		     { 5, false, true } };
	enum { COUNT = sizeof(want) / sizeof(want[0]) };
	struct source_entry entries[COUNT];
	struct source_listing l = { .entries = entries, .count = COUNT };
	size_t i;

	for (i = 0; i < COUNT; i++)
		entries[i] = (struct source_entry){
			.identity.mtime_ns = want[i].mtime_ns,
			.directory = want[i].directory,
			.known_by_name = true,
		};
	assert_int_equal(source_listing_tell_apart(&l, true, 4), 0);
	for (i = 0; i < COUNT; i++)
		assert_int_equal(entries[i].known_by_name, want[i].known);
}

/* Files may have any time at all; what is made of it must not be undefined,
 * which the run with -fsanitize=undefined sees. */
TEST(test_any_time)
{
	static const time_t seconds[] = {
		0,          1,           INT32_MAX,   (time_t)INT32_MAX + 1,
		9223372036, 10000000000, 15032385535, -2147483648,
		LONG_MAX,   LONG_MIN,
	};
	struct file_identity id, last = { .mtime_ns = -1 };
	int64_t wait_ms;

	now = 0;
	for (size_t i = 0; i < 2 * sizeof(seconds) / sizeof(seconds[0]); i++) {
		struct timespec t = { .tv_sec = seconds[i / 2],
				      .tv_nsec = i % 2 ? 5 : 0 };
		struct stat st = { .st_size = 1, .st_mtim = t, .st_ctim = t };

		source_get_identity(&st, &id);
		assert_true(id.mtime_ns != last.mtime_ns);
		(void)times_are_too_young(TIMES_OWN, &id, false, 0, &wait_ms);
		(void)times_are_too_young(TIMES_OWN, &id, true, 0, &wait_ms);
		(void)times_are_too_young(TIMES_DOUBTFUL, &id, true, 0,
					  &wait_ms);
		last = id;
	}
}

TEST(test_far_times_keep_their_order)
{
	static const time_t times[] = { INT32_MIN,  -1,         0,
					INT32_MAX,  9223372036, 9223372037,
					15032385535 };
	int64_t have, before = INT64_MIN;
	size_t i;

	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		have = time_in_order(timespec_to_ns(
			&(struct timespec){ .tv_sec = times[i] }));
		assert_true(have > before || have == INT64_MAX);
		before = have;
	}
}
