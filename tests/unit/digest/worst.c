/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>

#include "core/digest/rdc/rdc.h"
#include "core/digest/sdhash/sdhash.h"
#include "core/digest/reference/si2.h"
#include "core/digest/reference/sif_classic.h"
#include "core/digest/sise.h"
#include "core/digest/ssdeep.h"
#include "tests/support/rdc_model.h"
#include "tests/support/sdhash_model.h"
#include "tests/support/si2_model.h"
#include "tests/support/sif_classic_model.h"
#include "tests/support/sise_model.h"
#include "tests/support/sketch_model.h"
#include "tests/support/ssdeep_model.h"
#include "tests/unit/digest/worst_inputs.h"

/*
 * Every digest of the worst contents, by every variant of the kernels, against
 * the models.  Two lengths: one that makes RDC cut by force and fills SiSe's
 * parts, and for the many periods a short one, which no block divides.
 */
#define LONG_LEN 140001
#define SHORT_LEN 9001

/* ---- what each digest says ---- */

/* Compares what a digest says of b, with the kernels in use, with the text of
 * the model. */
typedef bool agrees_fn(struct bytes b, const struct buf *want);
typedef void want_fn(struct bytes b, struct buf *want_out);

static void want_sise(struct bytes b, struct buf *want_out)
{
	char *text = model_signature(b.data, b.len, (size_t)2 * SISE_MAX_PAIRS);

	assert_int_equal(buf_append_text(want_out, text), 0);
	free(text);
}

static bool is_text(struct buf *have, const struct buf *want)
{
	bool equal = have->len == want->len &&
		     (have->len == 0 ||
		      memcmp(have->data, want->data, have->len) == 0);

	buf_release(have);
	return equal;
}

static bool sise_agrees(struct bytes b, const struct buf *want)
{
	static struct sise_signature sig;
	static struct ctph sise;
	struct buf have = { 0 };

	ctph_init(&sise, CTPH_SISE);
	ctph_update(&sise, b.data, b.len);
	sise_read(&sise, &sig);
	assert_int_equal(sise_format(&sig, &have), 0);
	return is_text(&have, want);
}

static void want_ssdeep(struct bytes b, struct buf *want_out)
{
	char text[SSDEEP_MODEL_TEXT];

	ssdeep_model(b, text);
	assert_int_equal(buf_append_text(want_out, text), 0);
}

static bool ssdeep_agrees(struct bytes b, const struct buf *want)
{
	static struct ctph ssdeep;
	struct ssdeep_signature sig;
	struct buf have = { 0 };

	ctph_init(&ssdeep, CTPH_SSDEEP);
	ctph_update(&ssdeep, b.data, b.len);
	assert_int_equal(ssdeep_read(&ssdeep, &sig), 0);
	assert_int_equal(ssdeep_format(&sig, &have), 0);
	return is_text(&have, want);
}

/* Of both digests that a sketch gives. */
static void want_sketch(struct bytes b, struct buf *want_out)
{
	static struct model_sample sample;
	static struct sketch sketch;

	model_sample(b, &sample);
	model_sketch(&sample, &sketch);
	assert_int_equal(
		buf_append(want_out, &sample.simhash, sizeof(sample.simhash)),
		0);
	assert_int_equal(buf_append(want_out, &sketch, sizeof(sketch)), 0);
}

static bool sketch_agrees(struct bytes b, const struct buf *want)
{
	static struct sketch_stream s;
	static struct sketch have, sketch;
	uint64_t simhash;

	sketch_stream_of(b, SKETCH_IN_PIECES, b.len, &s);
	sketch_final(&s, &have, &simhash);
	memcpy(&sketch, want->data + sizeof(simhash), sizeof(sketch));
	return !memcmp(&simhash, want->data, sizeof(simhash)) &&
	       sketches_are_same(&have, &sketch);
}

static void want_rdc(struct bytes b, struct buf *want_out)
{
	uint8_t traits[16];

	rdc_model(b, RDC_WINDOW, RDC_HORIZON, want_out, traits);
	assert_int_equal(buf_append(want_out, traits, sizeof(traits)), 0);
}

static void add_chunk(void *arg, const uint8_t md4[16], uint16_t length)
{
	uint8_t record[18];

	memcpy(record, md4, 16);
	store_le16(record + 16, length);
	assert_int_equal(buf_append(arg, record, sizeof(record)), 0);
}

static bool rdc_agrees(struct bytes b, const struct buf *want)
{
	static struct rdc rdc;
	struct buf have = { 0 };
	uint8_t traits[16];

	assert_int_equal(rdc_init(&rdc, RDC_WINDOW, RDC_HORIZON), 0);
	rdc.on_chunk = add_chunk;
	rdc.arg = &have;
	rdc_begin(&rdc);
	rdc_update(&rdc, b.data, b.len);
	rdc_final(&rdc, traits);
	assert_int_equal(buf_append(&have, traits, sizeof(traits)), 0);
	return is_text(&have, want);
}

static void want_si2(struct bytes b, struct buf *want_out)
{
	uint64_t value = si2_model(b);

	assert_int_equal(buf_append(want_out, &value, sizeof(value)), 0);
}

static bool si2_agrees(struct bytes b, const struct buf *want)
{
	struct si2 s;
	uint64_t value;

	assert_int_equal(si2_init(&s), 0);
	assert_int_equal(si2_update(&s, b.data, b.len), 0);
	value = si2_final(&s);
	si2_release(&s);
	return memcmp(&value, want->data, sizeof(value)) == 0;
}

static void want_sif_classic(struct bytes b, struct buf *want_out)
{
	size_t count;
	uint32_t *values = sif_classic_model(b, SIF_CLASSIC_BASE, 0, &count);

	assert_int_equal(buf_append(want_out, values, count * sizeof(*values)),
			 0);
	free(values);
}

static bool sif_classic_agrees(struct bytes b, const struct buf *want)
{
	const uint32_t *values;
	struct sif_classic s;
	size_t count;
	bool equal;

	assert_int_equal(sif_classic_init(&s, SIF_CLASSIC_BASE, 0), 0);
	assert_int_equal(sif_classic_update(&s, b.data, b.len), 0);
	values = sif_classic_values(&s, &count);
	equal = count * sizeof(*values) == want->len &&
		memcmp(values, want->data, want->len) == 0;
	sif_classic_release(&s);
	return equal;
}

static bool sdhash_is(struct bytes b, uint32_t block_size)
{
	struct sdhash_model want = sdhash_model(b, SDHASH_4_0, block_size);
	struct sdhash_digest have = { 0 };
	static struct sdhash s;
	bool equal;

	assert_int_equal(sdhash_begin(&s, SDHASH_4_0, block_size, &have), 0);
	assert_int_equal(sdhash_update(&s, b.data, b.len), 0);
	assert_int_equal(sdhash_final(&s), 0);
	equal = sdhash_model_agrees(&want, &have);
	sdhash_digest_release(&have);
	free(want.filters);
	return equal;
}

static bool sdhash_agrees(struct bytes b, const struct buf *want)
{
	(void)want;
	return sdhash_is(b, 0) && sdhash_is(b, SDHASH_DEFAULT_BLOCK);
}

/* ---- all of them, with every variant ---- */

struct digest {
	const char *name;
	want_fn *want;
	agrees_fn *agrees;
};

static const struct digest digests[] = {
	{ "sise", want_sise, sise_agrees },
	{ "ssdeep", want_ssdeep, ssdeep_agrees },
	{ "sketch", want_sketch, sketch_agrees },
	{ "rdc", want_rdc, rdc_agrees },
	{ "si2", want_si2, si2_agrees },
	{ "sif-classic", want_sif_classic, sif_classic_agrees },
	/* Compares with the model itself. */
	{ "sdhash", NULL, sdhash_agrees },
};

/* Names of a variant that disagrees, NULL if none does. */
static const char *first_wrong(const struct digest *d, struct bytes b)
{
	size_t i, count;
	const struct kernel_ops *variants = kernel_all(&count);
	const char *wrong = NULL;
	struct buf want = { 0 };

	if (d->want)
		d->want(b, &want);
	for (i = 0; i < count && !wrong; i++) {
		kernel_use(&variants[i]);
		if (!d->agrees(b, &want))
			wrong = variants[i].name;
	}
	kernel_use(NULL);
	buf_release(&want);
	return wrong;
}

static void check_all(unsigned kind, size_t len)
{
	struct bytes b = worst_input(kind, len);
	const char *wrong;
	char name[32];
	size_t i;

	for (i = 0; i < sizeof(digests) / sizeof(digests[0]); i++) {
		wrong = first_wrong(&digests[i], b);
		if (wrong)
			fail_msg("%s of %zu bytes, %s, by %s is wrong",
				 digests[i].name, len, worst_name(kind, name),
				 wrong);
	}
	free(b.data);
}

TEST(worst_contents)
{
	unsigned kind;

	for (kind = 0; kind < WORST_PERIODS; kind++)
		check_all(kind, LONG_LEN);
}

TEST(all_short_periods)
{
	unsigned kind;

	for (kind = WORST_PERIODS; kind < WORST_KINDS; kind++)
		check_all(kind, SHORT_LEN);
}
