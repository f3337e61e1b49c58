/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_SCORE_IMPL_H
#define CORE_INDEX_SCORE_IMPL_H

#include <stdbool.h>

#include "core/index/scan.h"
#include "core/index/score.h"
#include "core/index/speak.h"

/* A content that is scored against many: what of it need be looked at only
 * once.  Must not be copied. */
struct subject {
	const struct digests *digests; /* borrowed */
	struct scan_query query;
	bool speaks; /* has a SiSe signature */
	struct speaker speaker;
};

/* -EINVAL when the SiSe text is malformed. */
int subject_init(struct subject *s, const struct digests *d);

/* As score_contents().  sise is the signature of other, NULL when it has
 * none. */
int subject_score(const struct subject *s, const struct digests *other,
		  const struct sise_signature *sise);

#endif
