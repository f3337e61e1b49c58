/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/cli/cli.h"
#include "core/cli/record.h"

static int equal_traits(const struct digests *a, const struct digests *b)
{
	int equal = 0;
	size_t i;

	for (i = 0; i < sizeof(a->traits); i++)
		equal += a->traits[i] == b->traits[i];
	return equal;
}

int measures_take(const struct digests *a, const struct digests *b,
		  struct measures *out)
{
	struct measures m = { .distance = -1, .matches = -1, .tlsh = -1 };
	int id, err;

	for (id = 0; id < DIGEST_COUNT; id++) {
		err = digest_compare((enum digest_id)id, a, b,
				     &m.by_digest[id]);
		if (err == -ENODATA)
			m.by_digest[id] = -1;
		else if (err)
			return err;
	}
	if (m.by_digest[DIGEST_SIMHASH] >= 0)
		m.distance = __builtin_popcountll(digests_simhash(a) ^
						  digests_simhash(b));
	if (m.by_digest[DIGEST_RDC] >= 0)
		m.matches = equal_traits(a, b);
	err = digest_tlsh_distance(a, b, &m.tlsh);
	if (err && err != -ENODATA)
		return err;
	*out = m;
	return 0;
}

void measures_record(const struct measures *m, struct record *r)
{
	int id;

	for (id = 0; id < DIGEST_COUNT; id++)
		if (m->by_digest[id] >= 0 ||
		    !(DIGEST_EXCHANGE & DIGEST_BIT(id)))
			record_score(r, digest_table[id]->name,
				     m->by_digest[id]);
	if (m->tlsh >= 0)
		record_number(r, "tlsh_distance", m->tlsh);
	record_score(r, "simhash_distance", m->distance);
	record_score(r, "rdc_matches", m->matches);
}
