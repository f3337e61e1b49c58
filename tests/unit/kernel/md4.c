/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/hex.h"
#include "core/kernel/kernel.h"
#include "tests/unit/kernel/fixture.h"
#include "tests/support/md4_model.h"

#define LONGEST 4096
#define MOST 300 /* messages at once */
#define FEW 140  /* more than twice the lanes */

/* RFC 1320, A.5. */
static const char *const suite[][2] = {
	{ "", "31d6cfe0d16ae931b73c59d7e0c089c0" },
	{ "a", "bde52cb31de33e46245e05fbdbd6fb24" },
	{ "abc", "a448017aaf21d8525fc10ae87aa6729d" },
	{ "message digest", "d9130a8164549fe818874806e1c7014b" },
	{ "abcdefghijklmnopqrstuvwxyz", "d79e1c308aa5bbcdeea8ed63df412da9" },
	{ "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
	  "043f8582f241db351ce627e153e7f0e4" },
	{ "12345678901234567890123456789012345678901234567890123456789012345678"
	  "901234567890",
	  "e33b4ddc9c38f2199c3e7b164fcc0536" },
};

#define SUITE (sizeof(suite) / sizeof(suite[0]))

static void assert_hash(const uint8_t hash[16], const char *want)
{
	char have[33];

	hex_encode(hash, 16, have);
	assert_string_equal(have, want);
}

TEST(suite_of_the_rfc)
{
	struct kernel_message messages[SUITE] = { { .len = 0 } };
	uint8_t hashes[SUITE][16], hash[16];
	size_t i, k, variants;
	const struct kernel_ops *all = kernel_all(&variants);

	for (i = 0; i < SUITE; i++) {
		messages[i].data = (const uint8_t *)suite[i][0];
		messages[i].len = strlen(suite[i][0]);
		md4_model(suite[i][0], messages[i].len, hash);
		assert_hash(hash, suite[i][1]);
	}
	for (k = 0; k < variants; k++) {
		all[k].md4->many(messages, SUITE, 0, hashes);
		for (i = 0; i < SUITE; i++)
			assert_hash(hashes[i], suite[i][1]);
	}
}

static void try_many(struct kernel_message *messages, size_t count)
{
	uint8_t want[MOST][16], have[MOST + 1][16];
	size_t i, variants;
	const struct kernel_ops *all = kernel_all(&variants);

	assert_true(count <= MOST);
	for (i = 0; i < count; i++)
		md4_model(messages[i].data, messages[i].len, want[i]);
	for (i = 0; i < variants; i++) {
		memset(have, 0xa5, sizeof(have));
		assert_int_equal(all[i].md4->many(messages, count, 0, have), 0);
		if (memcmp(have, want, count * 16) != 0)
			fail_msg("%s: %zu messages, the first of %zu bytes",
				 all[i].name, count,
				 count ? messages[0].len : 0);
		assert_int_equal(have[count][0], 0xa5);
	}
}

/* Messages end where memory ends; that gives every alignment, too. */
TEST(every_length_before_a_guard)
{
	struct guarded g = guarded_new(LONGEST);
	struct kernel_message messages[MOST] = { { .len = 0 } };
	size_t first, i, count;

	fill(g.data, g.len, 4);
	for (first = 0; first <= LONGEST; first += count) {
		count = 1 + first % FEW;
		if (count > LONGEST + 1 - first)
			count = LONGEST + 1 - first;
		for (i = 0; i < count; i++) {
			messages[i].len = first + i;
			messages[i].data = g.data + g.len - messages[i].len;
		}
		try_many(messages, count);
	}
	guarded_free(&g);
}

TEST(every_count_of_mixed_lengths)
{
	struct guarded g = guarded_new(2 * LONGEST);
	struct kernel_message messages[MOST] = { { .len = 0 } };
	struct draws d = draws_of(5);
	size_t round, count, i;

	for (round = 0; round < 8; round++) {
		fill(g.data, g.len, 5 + round);
		for (count = 0; count <= MOST; count += count < FEW ? 1 : 23) {
			for (i = 0; i < count; i++) {
				messages[i].len =
					draw(&d) % (draw(&d) % 2 ? 130 : 4097);
				messages[i].data = g.data + draw(&d) % LONGEST;
			}
			try_many(messages, count);
		}
	}
	guarded_free(&g);
}

TEST(every_alignment)
{
	struct guarded g = guarded_new(LONGEST);
	struct kernel_message messages[MOST] = { { .len = 0 } };
	size_t align, i;

	fill(g.data, g.len, 6);
	for (align = 0; align < 64; align++) {
		for (i = 0; i < MOST; i++) {
			messages[i].data = g.data + (align + i) % 64;
			messages[i].len = 900 + i * align % 200;
		}
		try_many(messages, MOST);
	}
	guarded_free(&g);
}

/* No data but 0 bytes of it. */
TEST(messages_without_data)
{
	struct kernel_message messages[MOST] = { { .len = 0 } };

	try_many(messages, MOST);
}

/* ---- messages that wait for others ---- */

#define WAITING 2000 /* messages in all */

/* No two messages end at the same byte: that tells which are left. */
struct waiting {
	const struct kernel_md4 *ops;
	struct kernel_message messages[MOST];
	const uint8_t *ends[MOST]; /* of them */
	size_t ids[MOST];
	size_t count;
	uint8_t have[WAITING][16];
};

static void add_waiting(struct waiting *w, size_t id, const uint8_t *data,
			size_t len)
{
	w->messages[w->count] =
		(struct kernel_message){ .data = data, .len = len };
	w->ends[w->count] = data + len;
	w->ids[w->count++] = id;
}

static void hash_waiting(struct waiting *w, size_t leave)
{
	const struct kernel_message *m = w->messages;
	uint8_t hashes[MOST][16];
	size_t i, left, kept = 0, bytes = 0;

	left = w->ops->many(w->messages, w->count, leave, hashes);
	for (i = 0; i < w->count; i++) {
		if (kept == left || w->ends[i] != m->data + m->len) {
			memcpy(w->have[w->ids[i]], hashes[i - kept], 16);
			continue;
		}
		bytes += m++->len;
		w->ends[kept] = w->ends[i];
		w->ids[kept++] = w->ids[i];
	}
	assert_int_equal(kept, left);
	assert_true(bytes <= leave);
	w->count = left;
}

static void try_waiting(const struct kernel_ops *ops, struct guarded g,
			uint64_t seed)
{
	static struct waiting w;
	struct draws d = draws_of(seed);
	size_t id, leave, most = 1 + draw(&d) % (MOST - 1);
	size_t lens[WAITING];
	uint8_t want[16];

	w.ops = ops->md4;
	w.count = 0;
	for (id = 0; id < WAITING; id++) {
		lens[id] = draw(&d) % (draw(&d) % 8 ? 600 : g.len - WAITING);
		add_waiting(&w, id, g.data + g.len - id - lens[id], lens[id]);
		leave = draw(&d) % 3 ? draw(&d) % (4 * LONGEST) : SIZE_MAX;
		while (w.count >= most) {
			hash_waiting(&w, leave);
			leave = 0;
		}
	}
	hash_waiting(&w, 0);
	for (id = 0; id < WAITING; id++) {
		md4_model(g.data + g.len - id - lens[id], lens[id], want);
		if (memcmp(w.have[id], want, 16) != 0)
			fail_msg("%s, seed %llu: message %zu of %zu bytes",
				 ops->name, (unsigned long long)seed, id,
				 lens[id]);
	}
}

TEST(messages_wait_for_others)
{
	struct guarded g = guarded_new(3 * LONGEST);
	size_t i, variants;
	const struct kernel_ops *all = kernel_all(&variants);
	uint64_t seed;

	for (seed = 1; seed <= 20; seed++) {
		fill(g.data, g.len, seed);
		for (i = 0; i < variants; i++)
			try_waiting(&all[i], g, seed);
	}
	guarded_free(&g);
}

/* ---- suffixes ---- */

static void model_suffixed(const uint8_t *prefix, uint64_t minima[16])
{
	uint8_t message[17], hash[16];
	uint64_t value;
	unsigned i;

	memcpy(message, prefix, 16);
	for (i = 0; i < 16; i++) {
		message[16] = (uint8_t)(i + 1);
		md4_model(message, sizeof(message), hash);
		value = load_be64(hash);
		if (value < minima[i])
			minima[i] = value;
	}
}

TEST(least_of_suffixed_messages)
{
	struct guarded g = guarded_new(1);
	uint64_t want[16], have[16];
	size_t i, count, variants;
	const struct kernel_ops *all = kernel_all(&variants);

	for (count = 0; count <= g.len / 16; count += 1 + count / 8) {
		const uint8_t *data = g.data + g.len - 16 * count;

		fill(g.data, g.len, 1 + count);
		memset(want, 0xff, sizeof(want));
		/* What was there before counts. */
		want[count % 16] = count;
		for (i = 0; i < count; i++)
			model_suffixed(data + 16 * i, want);
		for (i = 0; i < variants; i++) {
			memset(have, 0xff, sizeof(have));
			have[count % 16] = count;
			all[i].md4->suffixed((const uint8_t(*)[16])data, count,
					     have);
			if (memcmp(have, want, sizeof(want)) != 0)
				fail_msg("%s: %zu prefixes", all[i].name,
					 count);
		}
	}
	guarded_free(&g);
}

/* One prefix at a time shows all 16 values, not the least ones alone. */
TEST(suffixed_messages_one_by_one)
{
	uint8_t data[2000 * 16];
	uint64_t want[16], have[16];
	size_t i, k, variants;
	const struct kernel_ops *all = kernel_all(&variants);

	fill(data, sizeof(data), 9);
	for (i = 0; i < sizeof(data); i += 16) {
		memset(want, 0xff, sizeof(want));
		model_suffixed(data + i, want);
		for (k = 0; k < variants; k++) {
			memset(have, 0xff, sizeof(have));
			all[k].md4->suffixed((const uint8_t(*)[16])(data + i),
					     1, have);
			assert_memory_equal(have, want, sizeof(want));
		}
	}
}
