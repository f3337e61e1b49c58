/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "core/digest/sise.h"
#include "core/digest/ssdeep.h"
#include "tests/support/recipe.h"
#include "tests/support/test.h"

/* The short form of ssdeep, beside the SiSe signature of the same content. */

static struct digest_value value_of(const struct buf *b)
{
	return (struct digest_value){ (const uint8_t *)b->data, b->len };
}

static void assert_comes_back(const struct buf *ssdeep, const struct buf *sise,
			      struct buf *shortened)
{
	struct buf whole = { 0 };

	buf_clear(shortened);
	assert_int_equal(
		ssdeep_shorten(value_of(ssdeep), value_of(sise), shortened), 0);
	assert_int_equal(
		ssdeep_complete(value_of(shortened), value_of(sise), &whole),
		0);
	assert_int_equal(whole.len, ssdeep->len);
	assert_memory_equal(whole.data, ssdeep->data, whole.len);
	buf_release(&whole);
}

/* Both digests of an input. */
static void digest(struct bytes input, struct buf *ssdeep, struct buf *sise)
{
	static struct ssdeep_signature a;
	static struct sise_signature b;
	static struct ctph both;

	ctph_init(&both, CTPH_SISE | CTPH_SSDEEP);
	ctph_update(&both, input.data, input.len);
	assert_int_equal(ssdeep_read(&both, &a), 0);
	sise_read(&both, &b);
	buf_clear(ssdeep);
	buf_clear(sise);
	assert_int_equal(ssdeep_pack(&a, ssdeep), 0);
	assert_int_equal(sise_pack(&b, sise), 0);
}

TEST(test_it_comes_back_and_is_short)
{
	struct buf ssdeep = { 0 }, sise = { 0 }, other = { 0 }, kept = { 0 };
	struct buf shortened = { 0 };
	size_t all = 0, shorter = 0, len;
	struct bytes input;

	for (len = 0; len < 200000; len = len * 5 / 4 + 1) {
		input = recipe_random(len + 1, len);
		digest(input, &ssdeep, &sise);
		assert_comes_back(&ssdeep, &sise, &shortened);
		all += ssdeep.len;
		shorter += shortened.len;
		if (len)
			/* With the signature of another content, too. */
			assert_comes_back(&ssdeep, &other, &kept);
		buf_clear(&other);
		assert_int_equal(buf_append(&other, sise.data, sise.len), 0);
		free(input.data);
	}
	assert_true(shorter < all * 2 / 3);
	buf_release(&ssdeep);
	buf_release(&sise);
	buf_release(&other);
	buf_release(&kept);
	buf_release(&shortened);
}

/* Cut, with another number in front, or beside another signature: an error, or
 * a digest in its form. */
TEST(test_other_bytes_are_refused_or_a_digest)
{
	struct buf ssdeep = { 0 }, sise = { 0 }, bytes = { 0 }, whole = { 0 };
	const struct digest_value empty = { (const uint8_t *)"", 0 };
	struct bytes input = recipe_random(7, 3000);
	struct digest_value v;
	unsigned number;
	size_t len;

	digest(input, &ssdeep, &sise);
	assert_int_equal(ssdeep_shorten(value_of(&ssdeep), empty, &bytes),
			 -EINVAL);
	assert_int_equal(ssdeep_shorten(empty, value_of(&sise), &bytes),
			 -EINVAL);
	buf_clear(&bytes);
	assert_int_equal(
		ssdeep_shorten(value_of(&ssdeep), value_of(&sise), &bytes), 0);
	v = value_of(&bytes);
	assert_int_equal(ssdeep_complete(v, empty, &whole), -EINVAL);
	for (len = 0; len < bytes.len; len++) {
		v.len = len;
		assert_int_equal(ssdeep_complete(v, value_of(&sise), &whole),
				 -EINVAL);
	}
	v.len = bytes.len;
	for (number = 0; number < 256; number++) {
		bytes.data[0] = (char)number;
		buf_clear(&whole);
		if (!ssdeep_complete(v, value_of(&sise), &whole))
			assert_int_equal(digest_ssdeep.check(value_of(&whole)),
					 0);
	}
	free(input.data);
	buf_release(&ssdeep);
	buf_release(&sise);
	buf_release(&bytes);
	buf_release(&whole);
}
