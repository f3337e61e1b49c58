/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "core/digest/fingerprint.h"
#include "tests/unit/digest/worst_inputs.h"

/*
 * No content may keep a worker busy for very much longer than another of its
 * size: one digest of it is compared with all that are kept of random bytes.
 * Processor time, within one run and with a wide margin: this is about
 * algorithms, not about speed.
 */
#define LEN ((size_t)1 << 20)
#define ROUNDS 5
#define MOST_TIMES 20

/* These keep up with one byte after the other; periods between them add
 * nothing. */
static const unsigned periods[] = { 1, 2, 3, 5, 7, 8, 13, 16, 32, 50, 64 };

static double processor_seconds(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double seconds_for(struct bytes b, uint32_t set)
{
	struct fingerprint *fp;
	struct digests d;
	double start;

	assert_int_equal(fingerprint_new(set, &fp), 0);
	start = processor_seconds();
	assert_int_equal(fingerprint_begin_file(fp, "f", b.len, SIZE_MAX), 0);
	assert_int_equal(fingerprint_update(fp, b.data, b.len), 0);
	assert_int_equal(fingerprint_final(fp, &d), 0);
	start = processor_seconds() - start;
	digests_release(&d);
	fingerprint_free(fp);
	return start;
}

/* How many times longer a digest of b takes; both have their best of some
 * rounds. */
static double times_longer(struct bytes b, struct bytes usual, uint32_t set)
{
	double here, there, best = 1e9, best_usual = 1e9;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		here = seconds_for(b, set);
		there = seconds_for(usual, DIGEST_DEFAULT);
		best = here < best ? here : best;
		best_usual = there < best_usual ? there : best_usual;
	}
	return best / best_usual;
}

static void check_kind(unsigned kind, struct bytes usual)
{
	struct bytes b = worst_input(kind, LEN);
	enum digest_id id;
	double ratio;
	char name[32];

	for (id = 0; id < DIGEST_COUNT; id++) {
		ratio = times_longer(b, usual, DIGEST_BIT(id));
		print_message("%-14s %-8s %.2f\n", worst_name(kind, name),
			      digest_table[id]->name, ratio);
		if (ratio > MOST_TIMES)
			fail_msg("%s takes %.1f times as long for %s",
				 digest_table[id]->name, ratio,
				 worst_name(kind, name));
	}
	free(b.data);
}

TEST(no_content_takes_very_long)
{
	struct bytes usual = worst_input(WORST_RANDOM, LEN);
	unsigned kind;
	size_t i;

	for (kind = WORST_RANDOM + 1; kind <= WORST_KEYS; kind++)
		check_kind(kind, usual);
	for (i = 0; i < sizeof(periods) / sizeof(periods[0]); i++)
		check_kind(WORST_PERIODS + periods[i] - 1, usual);
	free(usual.data);
}
