/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli/everywhere/everywhere.h"

/* kin similar --everywhere: what other hosts have, among what the mount has. */

static int add_copies(struct similar_job *job, const json_t *line,
		      const struct digests *d)
{
	const json_t *copies = json_object_get(line, "copies"), *copy;
	const int score =
		(int)json_integer_value(json_object_get(line, "score"));
	struct similar_hit hit = {
		.relation = similar_relation_of(INDEX_ALIKE, score, 0),
		.score = score,
		.distinctive = -1,
		.shared = -1,
		.size = (int64_t)d->size,
		.on_disk = -1,
	};
	size_t i;
	int err = 0;

	if (job->output.verbose)
		hit.has_measures =
			!measures_take(&job->digests, d, &hit.measures);
	for (i = 0; i < json_array_size(copies) && !err; i++) {
		copy = json_array_get(copies, i);
		hit.path = everywhere_name(copy);
		hit.host = json_string_value(json_object_get(copy, "host"));
		err = hit.path ? similar_hits_add(&job->hits, &hit) : -ENOMEM;
		free(hit.path);
	}
	return err;
}

static int take_line(void *arg, json_t *line)
{
	struct digests d = { 0 };
	int err = digests_from_json(json_object_get(line, "digests"), &d);

	d.size = (uint64_t)json_integer_value(json_object_get(line, "size"));
	if (!err)
		err = add_copies(arg, line, &d);
	digests_release(&d);
	return err == -EINVAL ? 0 : err;
}

int similar_everywhere(struct similar_job *job)
{
	const uint32_t sent = ~DIGEST_BIT(DIGEST_SDHASH);
	struct everywhere e = { .mount = &job->mount };
	int err;

	/* A file that is not hashed has no digests to ask with. */
	if (!(job->digests.set & DIGEST_BIT(DIGEST_XXH128)) ||
	    !job->digests.size)
		return 0;
	err = everywhere_ask(&e,
			     json_pack("{s:{s:I, s:o}, s:i}", "similar", "size",
				       (json_int_t)job->digests.size, "digests",
				       digests_to_json(&job->digests, sent),
				       "threshold", similar_threshold(job)),
			     take_line, job);
	if (!err && *e.reason && !*job->reason)
		(void)snprintf(job->reason, sizeof(job->reason),
			       "elsewhere: %s", e.reason);
	return err;
}
