/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli/everywhere/everywhere.h"
#include "core/search/similar_request.h"

/* kin similar --everywhere: what other hosts have, among what the mount has. */

enum { THRESHOLD = 60 };

static int show_copies(struct similar_job *job, const json_t *line,
		       const struct digests *d)
{
	const json_t *copies = json_object_get(line, "copies");
	int score = (int)json_integer_value(json_object_get(line, "score"));
	struct measures measures;
	char *name;
	size_t i;
	int err = 0;

	if (measures_take(&job->digests, d, &measures))
		memset(&measures, -1, sizeof(measures));
	for (i = 0; i < json_array_size(copies) && !err; i++) {
		name = everywhere_name(json_array_get(copies, i));
		err = name ? similar_show_measured(job, score, name, d->size,
						   &measures) :
			     -ENOMEM;
		free(name);
	}
	return err;
}

static int take_line(void *arg, json_t *line)
{
	struct digests d = { 0 };
	int err = digests_from_json(json_object_get(line, "digests"), &d);

	d.size = (uint64_t)json_integer_value(json_object_get(line, "size"));
	if (!err)
		err = show_copies(arg, line, &d);
	digests_release(&d);
	return err == -EINVAL ? 0 : err;
}

int similar_everywhere(struct similar_job *job)
{
	struct everywhere e = { .mount = &job->mount, .db = job->db };
	bool all = job->relation == INDEX_ALL;
	const char *root = job->mount.root;
	int threshold = root ? (int)mount_get_number(root, "threshold", 0) : 0;
	int err, shown;

	/* A file that is not hashed has no digests to ask with. */
	if (!(job->digests.set & DIGEST_BIT(DIGEST_XXH128)) ||
	    !job->digests.size)
		return similar_show_kept(job);
	err = everywhere_ask(
		&e,
		similar_request_new(&job->digests,
				    threshold ? threshold : THRESHOLD, all),
		take_line, job);
	if (!err && *e.reason && !*job->reason)
		(void)snprintf(job->reason, sizeof(job->reason),
			       "elsewhere: %s", e.reason);
	shown = similar_show_kept(job);
	return err ? err : shown;
}

/* 1 after a message. */
int similar_only_elsewhere(struct similar_job *job)
{
	struct reader reader;
	int err;

	if (reader_init(&reader, DIGEST_DEFAULT))
		return 1;
	err = reader_digest_path(&reader, job->of, true, &job->digests);
	reader_release(&reader);
	if (err) {
		cli_complain_errno(job->of, err);
		return 1;
	}
	err = similar_everywhere(job);
	if (!err)
		return 0;
	cli_complain_errno(job->of, err);
	return 1;
}
