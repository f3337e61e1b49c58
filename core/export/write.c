/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/export/export.h"

/* Ends the line and frees the object, which may be NULL. */
static int write_line(FILE *out, json_t *object)
{
	int err = 0;

	errno = 0;
	if (!object)
		err = -ENOMEM;
	else if (json_dumpf(object, out, JSON_COMPACT) ||
		 putc('\n', out) == EOF)
		err = errno ? -errno : -ENOMEM;
	json_decref(object);
	return err;
}

/* As "KEY", or the bytes as "KEY_hex" if it is not UTF-8. */
static int set_path(json_t *object, const char *key, const char *hex_key,
		    const char *path)
{
	json_t *value = json_string(path);
	size_t len = strlen(path);
	char *hex;

	if (value)
		return json_object_set_new(object, key, value) ? -ENOMEM : 0;
	hex = malloc(2 * len + 1);
	if (!hex)
		return -ENOMEM;
	hex_encode((const uint8_t *)path, len, hex);
	value = json_string(hex);
	free(hex);
	return json_object_set_new(object, hex_key, value) ? -ENOMEM : 0;
}

int export_write_head(FILE *out, const char *root, time_t made)
{
	json_t *object = json_pack("{s:i, s:I}", "kinfs_export", EXPORT_VERSION,
				   "made", (json_int_t)made);

	if (object && root && set_path(object, "root", "root_hex", root)) {
		json_decref(object);
		object = NULL;
	}
	return write_line(out, object);
}

static int add_file(json_t *array, const struct found_file *file)
{
	json_t *object = json_object();
	int err = object ? set_path(object, "path", "path_hex", file->path) :
			   -ENOMEM;

	if (!err &&
	    json_object_set_new(object, "mtime",
				json_real((double)file->mtime_ns / 1e9)))
		err = -ENOMEM;
	/* The array has it in any case. */
	return json_array_append_new(array, object) ? -ENOMEM : err;
}

/* From lines NAME=TEXT. */
static int add_digests(json_t *object, const char *lines)
{
	const char *at, *stop, *sign;
	char name[32];

	for (at = lines; *at; at = stop + 1) {
		stop = strchr(at, '\n');
		sign = strchr(at, '=');
		if (!stop || !sign || sign > stop ||
		    (size_t)(sign - at) >= sizeof(name))
			return -EBADMSG;
		memcpy(name, at, (size_t)(sign - at));
		name[sign - at] = '\0';
		if (json_object_set_new(
			    object, name,
			    json_stringn(sign + 1, (size_t)(stop - sign) - 1)))
			return -ENOMEM;
	}
	return 0;
}

static int fill_member(json_t *object, const struct found_member *m)
{
	json_t *files = json_array(), *digests = json_object();
	size_t i;
	int err = files && digests ? 0 : -ENOMEM;

	for (i = 0; i < m->file_count && !err; i++)
		err = add_file(files, &m->files[i]);
	if (!err && m->digests)
		err = add_digests(digests, m->digests);
	if (json_object_set_new(object, "files", files) ||
	    json_object_set_new(object, "digests", digests))
		err = err ? err : -ENOMEM;
	return err;
}

int export_write_group(FILE *out, const struct found_group *group)
{
	const struct found_member *m = &group->members[0];
	json_t *member =
		json_pack("{s:I, s:s, s:i}", "size", (json_int_t)m->size,
			  "xxh128", m->xxh128, "score", 100);
	int err = member ? fill_member(member, m) : -ENOMEM;

	if (err) {
		json_decref(member);
		return err;
	}
	return write_line(out, json_pack("{s:[o]}", "members", member));
}

int export_write_end(FILE *out, const struct groups_totals *t)
{
	return write_line(out, json_pack("{s:{s:I, s:I, s:b}}", "totals",
					 "groups", (json_int_t)t->groups,
					 "files", (json_int_t)t->files,
					 "complete", !t->incomplete));
}
