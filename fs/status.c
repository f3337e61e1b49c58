/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/status.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "core/engine/engine.h"
#include "fs/fs.h"

int status_text(struct fs *fs, struct buf *out)
{
	const struct options *o = &fs->options;
	json_t *status;
	char *text;
	int err = engine_status(fs->engine, &status);

	if (err)
		return err;
	json_object_set_new(status, "version", json_string(KINFS_VERSION));
	json_object_set_new(status, "mounted", json_true());
	json_object_set_new(status, "passthrough",
			    json_boolean(atomic_load(&fs->passthrough)));
	json_object_set_new(status, "similar_name",
			    o->similar == SIMILAR_OFF ?
				    json_null() :
				    json_string(o->similar_name));
	text = json_dumps(status, JSON_SORT_KEYS);
	json_decref(status);
	if (!text)
		return -ENOMEM;
	err = buf_append_text(out, text);
	free(text);
	return err;
}
