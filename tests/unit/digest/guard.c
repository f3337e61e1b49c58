/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/digest/fingerprint.h"
#include "core/digest/sdhash/sdhash.h"
#include "core/digest/reference/si2.h"
#include "core/digest/reference/sif_classic.h"
#include "tests/unit/kernel/fixture.h"

/*
 * Updates that touch pages nobody may read, behind them and ahead of them: all
 * digests, by all variants of the kernels, give what the scalar ones give for
 * the whole content in one piece.
 */
#define MAX_LEN ((size_t)20000)

static struct sdhash sdhash;

/* ---- all digests of two pieces, as text ---- */

static void append_number(struct buf *out, const char *name, uint64_t value)
{
	assert_int_equal(buf_append_format(out, "\n%s %016llx", name,
					   (unsigned long long)value),
			 0);
}

static void add_defaults(const struct bytes pieces[2], struct buf *out)
{
	struct fingerprint *fp;
	struct digests d;
	enum digest_id id;
	int i;

	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	assert_int_equal(fingerprint_begin(fp), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(
			fingerprint_update(fp, pieces[i].data, pieces[i].len),
			0);
	assert_int_equal(fingerprint_final(fp, &d), 0);
	for (id = 0; id < DIGEST_COUNT; id++) {
		if (!(d.set & DIGEST_BIT(id)))
			continue;
		assert_int_equal(buf_append_text(out, "\n"), 0);
		assert_int_equal(digest_format(&d, id, out), 0);
	}
	digests_release(&d);
	fingerprint_free(fp);
}

static void add_sdhash(const struct bytes pieces[2], uint32_t block_size,
		       struct buf *out)
{
	struct sdhash_digest d = { 0 };
	int i, err;

	assert_int_equal(sdhash_begin(&sdhash, SDHASH_4_0, block_size, &d), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(
			sdhash_update(&sdhash, pieces[i].data, pieces[i].len),
			0);
	err = sdhash_final(&sdhash);
	assert_true(err == 0 || err == -ENODATA);
	if (!err)
		assert_int_equal(sdhash_format(&d, out), 0);
	sdhash_digest_release(&d);
}

static void add_si2(const struct bytes pieces[2], struct buf *out)
{
	struct si2 s;
	int i;

	assert_int_equal(si2_init(&s), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(si2_update(&s, pieces[i].data, pieces[i].len),
				 0);
	append_number(out, "si2", si2_final(&s));
	si2_release(&s);
}

static void add_sif_classic(const struct bytes pieces[2], struct buf *out)
{
	const uint32_t *values;
	struct sif_classic s;
	size_t k, count;
	int i;

	assert_int_equal(sif_classic_init(&s, SIF_CLASSIC_BASE, 4), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(
			sif_classic_update(&s, pieces[i].data, pieces[i].len),
			0);
	values = sif_classic_values(&s, &count);
	for (k = 0; k < count; k++)
		append_number(out, "sif-classic", values[k]);
	sif_classic_release(&s);
}

static struct buf digest_pieces(const struct bytes pieces[2])
{
	struct buf out = { 0 };

	add_defaults(pieces, &out);
	add_sdhash(pieces, 0, &out);
	add_sdhash(pieces, 2048, &out);
	add_si2(pieces, &out);
	add_sif_classic(pieces, &out);
	return out;
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
	struct buf want, have;
	size_t i, count;
	const struct kernel_ops *variants = kernel_all(&count);

	kernel_use(&variants[0]);
	want = digest_pieces(whole);
	place(e, b, cut, skip, pieces);
	for (i = 0; i < count; i++) {
		kernel_use(&variants[i]);
		have = digest_pieces(pieces);
		if (have.len != want.len ||
		    memcmp(have.data, want.data, want.len) != 0)
			fail_msg("%s, %zu bytes cut at %zu:\nwant %s\nhave %s",
				 variants[i].name, b.len, cut, want.data,
				 have.data);
		buf_release(&have);
	}
	kernel_use(NULL);
	buf_release(&want);
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
