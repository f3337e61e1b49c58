/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/digest/sketch/sketch.h"
#include "core/act/export/export.h"
#include "core/act/export/seeds.h"

static int write_content(FILE *out, const struct found_member *m)
{
	json_t *files = json_array(), *file;
	size_t i;
	int err = files ? 0 : -ENOMEM;

	for (i = 0; i < m->file_count && !err; i++) {
		file = json_object();
		if (json_set_path(file, "path", m->files[i].path) ||
		    json_object_set_new(
			    file, "mtime",
			    json_real((double)m->files[i].mtime_ns / 1e9)) ||
		    json_array_append(files, file))
			err = -ENOMEM;
		json_decref(file);
	}
	if (err) {
		json_decref(files);
		return err;
	}
	return json_write_line(
		out,
		json_pack("{s:[{s:I, s:s, s:i, s:o, s:O*}]}", "members", "size",
			  (json_int_t)m->size, "xxh128", m->xxh128, "score",
			  100, "files", files, "digests", m->digests));
}

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
			err = write_content(out, &g->group.members[0]);
	}
	return err ? err :
		     json_write_line(
			     out,
			     json_pack("{s:{s:I, s:I, s:b}}", "totals",
				       "groups", (json_int_t)g->totals.groups,
				       "files", (json_int_t)g->totals.files,
				       "complete", !g->totals.incomplete));
}
