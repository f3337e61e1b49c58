/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench.h"

#include "core/index/postings_impl.h"
#include "tests/bench/inputs.h"

/* A content has so many keys, of which some are anchors. */
#define KEYS 16
#define ANCHORS 4
#define FINDS 1000000

struct result {
	double add;     /* ns an entry */
	double longest; /* ms of a single addition */
	double absent;  /* ns a key that nobody has */
	double present;
	double halve; /* ms of the addition that halves the limit */
	double sweep; /* ns an entry */
	double bytes; /* an entry */
	double resident;
};

static uint32_t draw_key(uint64_t *state)
{
	return (uint32_t)(draw(state) % POSTINGS_KEYS);
}

/* No key has this bit, so that those that have it are keys of nobody. */
#define NOBODY (1u << 8)

static double add_one(struct postings *p, uint32_t content, uint64_t *state)
{
	uint32_t keys[KEYS];
	double start;
	int i;

	for (i = 0; i < KEYS; i++)
		keys[i] = draw_key(state) & ~NOBODY;
	start = cpu_seconds();
	fail_errno("postings", postings_add(p, content, keys, KEYS, ANCHORS));
	return cpu_seconds() - start;
}

/* Of a million keys: those that the first contents were added with, or keys
 * next to them. */
static double time_finds(const struct postings *p, uint32_t bit, size_t most)
{
	uint64_t state = 1;
	size_t i, found = 0;
	uint32_t out[8];
	double start = cpu_seconds(), draws;

	for (i = 0; i < FINDS; i++)
		found += draw_key(&state) | bit;
	draws = cpu_seconds() - start;
	state = 1;
	found = 0;
	start = cpu_seconds();
	for (i = 0; i < FINDS; i++)
		found += postings_find(p, (draw_key(&state) & ~NOBODY) | bit,
				       out, 8) > 0;
	if (found != (bit ? 0 : most))
		fail("postings: %zu keys of %zu found", found, most);
	return (cpu_seconds() - start - draws) * 1e9 / FINDS;
}

static bool lives(void *arg, uint32_t content)
{
	(void)arg;
	return content % 8;
}

static struct result measure(size_t contents)
{
	size_t entries = contents * KEYS, before = resident_kib(), count;
	struct result r = { 0 };
	uint64_t state = 1;
	struct postings *p;
	unsigned part;
	uint32_t i = 0;
	double t;

	fail_errno("postings", postings_new(entries, &p));
	while (i < contents) {
		t = add_one(p, i++, &state);
		r.add += t * 1e9 / (double)entries;
		r.longest = t * 1e3 > r.longest ? t * 1e3 : r.longest;
	}
	count = p->count;
	r.bytes = (double)postings_bytes(p) / (double)count;
	r.resident = (double)((resident_kib() - before) * KIB) / (double)count;
	r.absent = time_finds(p, NOBODY, FINDS);
	r.present = time_finds(p, 0, FINDS);
	while (postings_limit(p) == POSTINGS_KEYS)
		r.halve = add_one(p, i++, &state) * 1e3;
	count = p->count;
	t = cpu_seconds();
	for (part = 0; part < POSTINGS_PARTS; part++)
		postings_sweep_part(p, part, lives, NULL);
	r.sweep = (cpu_seconds() - t) * 1e9 / (double)count;
	postings_free(p);
	return r;
}

/* 100,000 contents of one key; ns each. */
static double measure_popular(bool descending)
{
	enum { COUNT = 100000 };
	uint32_t i, key = 12345;
	struct postings *p;
	double start;

	fail_errno("postings", postings_new(COUNT, &p));
	start = cpu_seconds();
	for (i = 0; i < COUNT; i++)
		fail_errno("postings",
			   postings_add(p, descending ? COUNT - i : i, &key, 1,
					1));
	start = cpu_seconds() - start;
	postings_free(p);
	return start * 1e9 / COUNT;
}

void bench_postings(const struct bench *b)
{
	static const size_t sizes[] = { 1 << 20, 1 << 24 };
	char entries[24];
	size_t i;

	printf("\nPostings, contents of %d keys; one run; ns an entry or a key,"
	       " ms, bytes an entry\n"
	       "%10s%8s%9s%8s%9s%10s%8s%8s%10s\n",
	       KEYS, "entries", "add ns", "most ms", "absent", "present",
	       "halve ms", "sweep", "bytes", "resident");
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct result r = measure(sizes[i] / KEYS);

		(void)snprintf(entries, sizeof(entries), "%zu", sizes[i]);
		printf("%10s%8.1f%9.2f%8.1f%9.1f%10.2f%8.2f%8.2f%10.2f\n",
		       entries, r.add, r.longest, r.absent, r.present, r.halve,
		       r.sweep, r.bytes, r.resident);
		(void)fflush(stdout);
		figure(b, "postings", "add", entries, "ns", r.add);
		figure(b, "postings", "absent", entries, "ns", r.absent);
		figure(b, "postings", "bytes", entries, "bytes", r.bytes);
	}
	printf("One key of 100000, ns an entry: ascending %.0f, descending"
	       " %.0f\n",
	       measure_popular(false), measure_popular(true));
}
