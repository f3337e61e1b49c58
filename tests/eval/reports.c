/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/corpus.h"
#include "tests/eval/reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/fingerprint.h"
#include "core/index/index.h"
#include "tests/eval/eval.h"
#include "tests/eval/material.h"
#include "tests/eval/truth.h"

#define REPORTS 900
#define FIELDS 9
#define SECTION 460 /* bytes of the template in front of each field */
#define FIELD_LEAST 22
#define FIELD_MOST 38
#define TEXT_CLASS 0
#define SEED 23
#define THRESHOLD 60

struct reports {
	struct digests digests[REPORTS];
	struct windows windows[REPORTS];
	struct index *ix;
};

static void write_report(const struct bytes *template, struct material *m,
			 struct bytes *out, uint64_t *state)
{
	struct bytes field;
	size_t i;

	out->len = 0;
	for (i = 0; i < FIELDS; i++) {
		memcpy(out->data + out->len, template->data + i * SECTION,
		       SECTION);
		out->len += SECTION;
		if (!material_cut(
			    m,
			    FIELD_LEAST +
				    draw_below(state,
					       FIELD_MOST - FIELD_LEAST + 1),
			    &field))
			fail("reports: the material is used up");
		memcpy(out->data + out->len, field.data, field.len);
		out->len += field.len;
	}
}

static void reports_init(struct reports *r)
{
	uint8_t report[FIELDS * (SECTION + FIELD_MOST)];
	struct bytes template, b = { .data = report };
	struct fingerprint *fingerprint;
	struct material m = material_generate(TEXT_CLASS, SEED, (size_t)MIB);
	uint64_t state = SEED;
	struct sketch sketch;
	size_t i;

	fail_errno("index", index_new(&r->ix));
	fail_errno("fingerprint",
		   fingerprint_new(DIGEST_BIT(DIGEST_SIF), &fingerprint));
	if (!material_cut(&m, (size_t)FIELDS * SECTION, &template))
		fail("reports: the material is used up");
	for (i = 0; i < REPORTS; i++) {
		struct digests *d = &r->digests[i];

		write_report(&template, &m, &b, &state);
		windows_init(&r->windows[i], b.data, b.len);
		digest_content(fingerprint, &b, d);
		fail_errno("sketch", digests_sketch(d, &sketch));
		fail_errno("index", index_add(r->ix, (uint32_t)i + 1, &sketch));
	}
	fingerprint_free(fingerprint);
	material_release(&m);
}

static void reports_release(struct reports *r)
{
	size_t i;

	for (i = 0; i < REPORTS; i++) {
		digests_release(&r->digests[i]);
		windows_release(&r->windows[i]);
	}
	index_free(r->ix);
	free(r);
}

static int fetch_sketch(void *arg, uint32_t content, struct sketch *out)
{
	const struct reports *r = arg;

	return digests_sketch(&r->digests[content - 1], out);
}

/* How many are listed for all. */
static size_t count_listed(struct reports *r)
{
	const struct index_store store = { .sketch = fetch_sketch, .arg = r };
	struct index_match matches[REPORTS];
	struct sketch sketch;
	struct index_query q = { .subject = subject_of_bytes(&sketch),
				 .rules = { .relation = INDEX_ALIKE,
					    .threshold = THRESHOLD },
				 .most = REPORTS };
	size_t listed = 0, count;

	for (q.self = 1; q.self <= REPORTS; q.self++) {
		fail_errno("sketch", fetch_sketch(r, q.self, &sketch));
		fail_errno("search",
			   index_search(r->ix, &q, &store, matches, &count));
		listed += count;
	}
	return listed;
}

void reports_evaluate(struct figures *figures)
{
	const size_t pairs = (size_t)REPORTS * (REPORTS - 1);
	struct reports *r = allocate(sizeof(*r));
	double least = 100, most = 0, shared, listed;
	size_t i, j;

	reports_init(r);
	for (i = 0; i < REPORTS; i++)
		for (j = 0; j < i; j += 1 + i % 7) {
			shared =
				(double)truth_of(&r->windows[i], &r->windows[j])
					.shared;
			least = shared < least ? shared : least;
			most = shared > most ? shared : most;
		}
	listed = 100 * (double)count_listed(r) / (double)pairs;
	printf("\n%d reports made from one template, of which two share %.1f to "
	       "%.1f %%: of the\nothers %.3f %% are listed at threshold %d\n",
	       REPORTS, least, most, listed, THRESHOLD);
	figures_add(figures, listed, "template.%d", THRESHOLD);
	reports_release(r);
}
