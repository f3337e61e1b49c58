/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/cli/cli.h"

int measures_take(const struct digests *a, const struct digests *b,
		  struct measures *out)
{
	struct measures m = { .distance = -1, .matches = -1, .tlsh = -1 };
	size_t i;
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
		for (i = 0, m.matches = 0; i < sizeof(a->traits); i++)
			m.matches += a->traits[i] == b->traits[i];
	err = digest_tlsh_distance(a, b, &m.tlsh);
	if (err && err != -ENODATA)
		return err;
	*out = m;
	return 0;
}
