/* SPDX-License-Identifier: Apache-2.0 */
#include "core/source/times.h"

#include <time.h>

#include "core/base/clock.h"
#include "core/source/source.h"

#define SECOND_NS INT64_C(1000000000)

/*
 * A timestamp is the time of the last clock tick (10 ms apart at most on the
 * usual kernels), so two changes within a tick can carry the same one.
 * Filesystems that count in seconds (their nanoseconds are all zero) or in two
 * seconds (FAT) need longer.
 */
enum { SETTLE_MS = 20, SETTLE_COARSE_MS = 2100 };

/* More than the finest of the other filesystems loses of a timestamp, and less
 * than a tick. */
#define HALF_TICK_NS (SECOND_NS / 2000)

/* The clocks of two machines differ by less. */
enum { SKEW_MS = 24 * 3600 * 1000 };

/* ---- identities ---- */

/*
 * After the clock was set back, a ctime can lie in the future.  If the
 * filesystem counts in seconds, a change can get the same ctime once more, in
 * the second when the clock gets there.  So a future ctime of whole seconds is
 * stored as another value, which is no longer equal when that second comes.
 */
static int64_t ctime_of(const struct stat *st)
{
	int64_t ctime_ns = timespec_to_ns(&st->st_ctim);

	return !st->st_ctim.tv_nsec && ctime_ns > clock_ns(CLOCK_REALTIME) ?
		       ctime_ns + 1 :
		       ctime_ns;
}

void source_get_identity(const struct stat *st, struct file_identity *out)
{
	*out = (struct file_identity){
		.size = (uint64_t)st->st_size,
		.mtime_ns = timespec_to_ns(&st->st_mtim),
		.ctime_ns = ctime_of(st),
	};
}

int64_t times_age(const struct file_identity *id)
{
	return (int64_t)((uint64_t)clock_ns(CLOCK_REALTIME) -
			 (uint64_t)id->ctime_ns) /
	       1000000;
}

/* Timestamps are those of the coarse clock: a change now differs once that has
 * ticked.  (Where they are finer, after somebody has read them, too.) */
static int64_t tick_wait(const struct file_identity *id)
{
	int64_t coarse_ns = clock_ns(CLOCK_REALTIME_COARSE), left_ns;
	struct timespec tick = { 0 };

	if (coarse_ns - id->ctime_ns > HALF_TICK_NS)
		return 0;
	(void)clock_getres(CLOCK_REALTIME_COARSE, &tick);
	left_ns = coarse_ns + timespec_to_ns(&tick) - clock_ns(CLOCK_REALTIME);
	return left_ns > 0 ? left_ns / 1000000 + 1 : 1;
}

static int64_t own_wait(const struct file_identity *id, bool reported)
{
	int64_t age_ms = times_age(id);

	/* In the future, as the clock was set back: a change now differs. */
	if (age_ms < 0)
		return 0;
	if (id->ctime_ns % SECOND_NS == 0)
		return SETTLE_COARSE_MS - age_ms;
	return reported ? tick_wait(id) : SETTLE_MS - age_ms;
}

static int64_t doubtful_wait(const struct file_identity *id, int64_t same_ms)
{
	return times_age(id) > SKEW_MS ? 0 : SETTLE_COARSE_MS - same_ms;
}

bool times_are_too_young(enum times_worth worth, const struct file_identity *id,
			 bool reported, int64_t same_ms, int64_t *wait_ms_out)
{
	int64_t wait_ms = worth == TIMES_OWN ? own_wait(id, reported) :
					       doubtful_wait(id, same_ms);

	if (wait_ms <= 0)
		return false;
	*wait_ms_out = wait_ms;
	return true;
}
