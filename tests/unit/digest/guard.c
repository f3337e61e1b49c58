/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/fingerprint.h"
#include "tests/support/digest_values.h"
#include "tests/unit/kernel/fixture.h"

/*
 * Updates that touch pages nobody may read, behind them and ahead of them: all
 * digests, by all variants of the kernels, give what the scalar ones give for
 * the whole content in one piece.
 */
#define MAX_LEN ((size_t)20000)

static struct digests digest_pieces(const struct bytes pieces[2])
{
	struct fingerprint *fp;
	struct digests d;
	int i;

	assert_int_equal(fingerprint_new(DIGEST_ALL, &fp), 0);
	assert_int_equal(fingerprint_begin_file(fp, "x", UINT64_MAX, SIZE_MAX),
			 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(
			fingerprint_update(fp, pieces[i].data, pieces[i].len),
			0);
	assert_int_equal(fingerprint_final(fp, &d), 0);
	fingerprint_free(fp);
	return d;
}

/* ---- where they are ---- */

struct edges {
	struct guarded left;
	struct guarded right;
};

static struct edges edges_new(void)
{
	return (struct edges){ guarded_new(MAX_LEN), guarded_new(MAX_LEN) };
}

static void edges_free(struct edges *e)
{
	guarded_free(&e->left);
	guarded_free(&e->right);
}

/* The first piece ends where memory ends, the second begins where memory
 * begins, skip bytes later. */
static void place(const struct edges *e, struct bytes b, size_t cut,
		  size_t skip, struct bytes pieces_out[2])
{
	pieces_out[0].len = cut;
	pieces_out[0].data = e->left.data + e->left.len - cut;
	pieces_out[1].len = b.len - cut;
	pieces_out[1].data = e->right.data + skip;
	memcpy(pieces_out[0].data, b.data, cut);
	memcpy(pieces_out[1].data, b.data + cut, b.len - cut);
}

static void check(const struct edges *e, struct bytes b, size_t cut,
		  size_t skip)
{
	const struct bytes whole[2] = { b, { b.data, 0 } };
	struct bytes pieces[2];
	struct digests want, have;
	const char *id;
	size_t i, count;
	const struct kernel_ops *variants = kernel_all(&count);

	kernel_use(&variants[0]);
	want = digest_pieces(whole);
	place(e, b, cut, skip, pieces);
	for (i = 0; i < count; i++) {
		kernel_use(&variants[i]);
		have = digest_pieces(pieces);
		id = digests_differ(&have, &want);
		if (id || have.set != want.set)
			fail_msg("%s, %zu bytes cut at %zu: %s",
				 variants[i].name, b.len, cut,
				 id ? id : "one is missing");
		digests_release(&have);
	}
	kernel_use(NULL);
	digests_release(&want);
}

TEST(every_short_length)
{
	struct edges e = edges_new();
	struct bytes b = bytes_new(MAX_LEN);

	for (b.len = 0; b.len <= 300; b.len++) {
		fill(b.data, b.len, b.len + 1);
		check(&e, b, b.len, 0);
		check(&e, b, 0, b.len % 64);
		check(&e, b, b.len * 7 % (b.len + 1), 0);
	}
	free(b.data);
	edges_free(&e);
}

TEST(longer_lengths_cut_anywhere)
{
	struct edges e = edges_new();
	struct bytes b = bytes_new(MAX_LEN);
	struct draws d = draws_of(17);
	unsigned i;

	for (i = 0; i < 150; i++) {
		b.len = draw(&d) % (i % 10 ? 4200 : MAX_LEN - 64);
		fill(b.data, b.len, i + 1000);
		check(&e, b, draw(&d) % (b.len + 1), draw(&d) % 64);
	}
	free(b.data);
	edges_free(&e);
}
