/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/digest.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/rdc/rdc.h"
#include "core/digest/sdhash/sdhash.h"
#include "core/digest/short_sketch.h"
#include "core/digest/sif/sif.h"
#include "core/digest/sise.h"
#include "core/digest/ssdeep.h"
#include "core/digest/tlsh/tlsh.h"

/* Two contents by one digest: a score of 0..100, or a distance. */

static int compare_sise(const char *a, const char *b, int *score_out)
{
	struct sise_signature *sigs = malloc(2 * sizeof(*sigs));
	int err;

	if (!sigs)
		return -ENOMEM;
	err = sise_parse(a, strlen(a), &sigs[0]);
	if (!err)
		err = sise_parse(b, strlen(b), &sigs[1]);
	if (!err)
		*score_out = sise_score(&sigs[0], &sigs[1]);
	free(sigs);
	return err;
}

static int shared_percent(const struct sif_sketch *a,
			  const struct sif_sketch *b, int *percent_out)
{
	struct sif_shares shares;
	int err = sif_find_shares(a, b, &shares);

	if (err)
		return err;
	if (!shares.samples)
		return -ENODATA;
	*percent_out = (int)(100 * shares.of_larger + 0.5);
	return 0;
}

static int compare_sif(const char *a, const char *b, int *score_out)
{
	struct sif_sketch *sketches = malloc(2 * sizeof(*sketches));
	int err;

	if (!sketches)
		return -ENOMEM;
	err = sif_parse(a, strlen(a), &sketches[0]);
	if (!err)
		err = sif_parse(b, strlen(b), &sketches[1]);
	if (!err)
		err = shared_percent(&sketches[0], &sketches[1], score_out);
	free(sketches);
	return err;
}

static int compare_sif8(const char *a, const char *b, int *score_out)
{
	struct short_sketch x, y;
	struct short_relation r;
	bool a_is_larger;
	int err = short_sketch_parse(a, strlen(a), &x);

	if (!err)
		err = short_sketch_parse(b, strlen(b), &y);
	if (err)
		return err;
	short_sketch_compare(&x, &y, &r);
	a_is_larger = x.distinct == y.distinct ? r.a_samples > r.b_samples :
						 x.distinct > y.distinct;
	if ((a_is_larger ? r.a_samples : r.b_samples) == 0)
		return -ENODATA;
	*score_out = (int)(100 * (a_is_larger ? r.a_in_b : r.b_in_a) + 0.5);
	return 0;
}

static int compare_ssdeep(const char *a, const char *b, int *score_out)
{
	struct ssdeep_signature sig_a, sig_b;
	int err = ssdeep_parse(a, strlen(a), &sig_a);

	if (!err)
		err = ssdeep_parse(b, strlen(b), &sig_b);
	if (!err)
		*score_out = ssdeep_score(&sig_a, &sig_b);
	return err;
}

static int read_sdhash(const char *text, struct sdhash_digest *out)
{
	struct sdhash_set set = { 0 };
	struct sdhash_fault fault;
	int err = sdhash_set_parse(text, strlen(text), &set, &fault);

	if (!err)
		err = sdhash_set_join(&set, out);
	sdhash_set_release(&set);
	return err;
}

static int compare_sdhash(const char *a, const char *b, int *score_out)
{
	struct sdhash_digest x = { 0 }, y = { 0 };
	int score = 0, err = read_sdhash(a, &x);

	if (!err)
		err = read_sdhash(b, &y);
	if (!err)
		score = sdhash_score(&x, &y, SDHASH_SCORE);
	sdhash_digest_release(&x);
	sdhash_digest_release(&y);
	if (!err && score < 0)
		err = -ENODATA;
	if (!err)
		*score_out = score;
	return err;
}

static int compare_simhashes(uint64_t a, uint64_t b)
{
	return 100 * (64 - __builtin_popcountll(a ^ b)) / 64;
}

static int compare_traits(const uint8_t a[RDC_TRAITS],
			  const uint8_t b[RDC_TRAITS])
{
	static const uint8_t none[RDC_TRAITS];
	int i, equal = 0;

	if (memcmp(a, none, sizeof(none)) == 0 ||
	    memcmp(b, none, sizeof(none)) == 0)
		return 0;
	for (i = 0; i < RDC_TRAITS; i++)
		equal += a[i] == b[i];
	return 100 * equal / RDC_TRAITS;
}

static int compare_contents(const struct digests *a, const struct digests *b)
{
	if (a->size != b->size ||
	    memcmp(a->xxh128, b->xxh128, sizeof(a->xxh128)) != 0)
		return 0;
	return 100;
}

int digest_compare(enum digest_id id, const struct digests *a,
		   const struct digests *b, int *score_out)
{
	if (!(a->set & b->set & DIGEST_BIT(id)))
		return -ENODATA;
	switch (id) {
	case DIGEST_SISE:
		return compare_sise(a->text[id], b->text[id], score_out);
	case DIGEST_SIF:
	case DIGEST_TEXT:
		return compare_sif(a->text[id], b->text[id], score_out);
	case DIGEST_SSDEEP:
		return compare_ssdeep(a->text[id], b->text[id], score_out);
	case DIGEST_SDHASH:
		return compare_sdhash(a->text[id], b->text[id], score_out);
	case DIGEST_SIMHASH:
		*score_out = compare_simhashes(a->simhash, b->simhash);
		return 0;
	case DIGEST_RDC:
		*score_out = compare_traits(a->traits, b->traits);
		return 0;
	case DIGEST_XXH128:
		*score_out = compare_contents(a, b);
		return 0;
	case DIGEST_SIF8:
		return compare_sif8(a->text[id], b->text[id], score_out);
	case DIGEST_SHA256:
		*score_out = strcmp(a->text[id], b->text[id]) ? 0 : 100;
		return 0;
	case DIGEST_TLSH: /* a distance */
	case DIGEST_COUNT:
		break;
	}
	return -ENODATA;
}

int digest_tlsh_distance(const struct digests *a, const struct digests *b,
			 int *distance_out)
{
	const char *x = a->text[DIGEST_TLSH], *y = b->text[DIGEST_TLSH];
	struct tlsh_digest p, q;
	int err;

	if (!(a->set & b->set & DIGEST_BIT(DIGEST_TLSH)))
		return -ENODATA;
	err = tlsh_parse(x, strlen(x), &p);
	if (!err)
		err = tlsh_parse(y, strlen(y), &q);
	if (!err)
		*distance_out = tlsh_distance(&p, &q);
	return err;
}
