/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/status.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "core/engine/engine.h"
#include "fs/fs.h"

/* From an object to another. */
static void share(const json_t *from, json_t *to, const char *key)
{
	json_t *value = json_object_get(from, key);

	if (value)
		json_object_set(to, key, value);
}

static void share_within(const json_t *from, json_t *to, const char *object,
			 const char *key)
{
	json_t *part = json_object();

	share(json_object_get(from, object), part, key);
	json_object_set_new(to, object, part);
}

/* What has nothing of the content of files.  Numbers of contents and bytes
 * would tell whether somebody has a content that the caller can guess. */
static json_t *public_status(const json_t *whole)
{
	static const char *const keys[] = {
		"digests", "idle",    "mounted",   "passthrough",
		"paused",  "rate",    "percent",   "similar_name",
		"source",  "stalled", "threshold", "version",
	};
	json_t *o = json_object();
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		share(whole, o, keys[i]);
	share_within(whole, o, "scan", "running");
	share_within(whole, o, "catalog", "error");
	return o;
}

int status_text(struct fs *fs, bool whole, struct buf *out)
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
	if (!whole) {
		json_t *part = public_status(status);

		json_decref(status);
		status = part;
	}
	text = status ? json_dumps(status, JSON_SORT_KEYS) : NULL;
	json_decref(status);
	if (!text)
		return -ENOMEM;
	err = buf_append_text(out, text);
	free(text);
	return err;
}
