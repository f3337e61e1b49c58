/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/digest/sketch/sketch.h"
#include "core/act/export/export.h"

/* In place of all digests, the sketch cut to a few values. */
static int keep_seed(struct found_member *m)
{
	struct digests d = { .size = m->size };
	struct sketch *sketch = calloc(1, sizeof(*sketch));
	struct buf text = { 0 };
	int err = sketch ? digests_from_json(m->digests, &d) : -ENOMEM;

	json_decref(m->digests);
	m->digests = NULL;
	if (!err)
		err = digests_sketch(&d, sketch);
	if (!err) {
		sketch_cut(sketch, SEED_VALUES);
		err = sketch_format(sketch, &text);
	}
	if (!err) {
		m->digests = json_pack("{s:s%}", "sif", text.data, text.len);
		err = m->digests ? 0 : -ENOMEM;
	}
	buf_release(&text);
	digests_release(&d);
	free(sketch);
	return err == -ENODATA ? 0 : err;
}

int export_write(FILE *out, struct groups *g, bool seeds)
{
	json_t *head = json_pack("{s:i, s:I}", "kinfs_export", EXPORT_VERSION,
				 "made", (json_int_t)time(NULL));
	int event, err = 0;

	if (!head || (g->root && json_set_path(head, "root", g->root)))
		err = -ENOMEM;
	if (err)
		json_decref(head);
	else
		err = json_write_line(out, head);
	while (!err && (event = groups_next(g)) != GROUPS_END) {
		err = event < 0 ? event : 0;
		if (event == GROUPS_GROUP && seeds)
			err = keep_seed(&g->group.members[0]);
		if (!err && event == GROUPS_GROUP)
			err = json_write_line(
				out,
				json_pack("{s:[o]}", "members",
					  found_member_json(g->group.members,
							    true)));
	}
	return err ? err :
		     json_write_line(
			     out,
			     json_pack("{s:{s:I, s:I, s:b}}", "totals",
				       "groups", (json_int_t)g->totals.groups,
				       "files", (json_int_t)g->totals.files,
				       "complete", !g->totals.incomplete));
}
