/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/json.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/hex.h"
#include "core/base/utf8.h"

json_t *json_text(const char *bytes)
{
	struct buf clean = { 0 };
	json_t *text;
	int len, err = 0;

	for (; *bytes && !err; bytes += len > 0 ? len : 1) {
		len = (unsigned char)*bytes < 0x80 ?
			      1 :
			      utf8_check((const uint8_t *)bytes,
					 strnlen(bytes, 4));
		err = len > 0 ? buf_append(&clean, bytes, (size_t)len) :
				buf_append_text(&clean, "\xef\xbf\xbd");
	}
	text = err ? NULL : json_string(clean.data ? clean.data : "");
	buf_release(&clean);
	return text;
}

static void name_hex(const char *key, char out[32])
{
	(void)snprintf(out, 32, "%s_hex", key);
}

int json_set_path(json_t *object, const char *key, const char *path)
{
	json_t *text = json_string(path), *bytes;
	char name[32], *hex;

	if (!text) {
		hex = malloc(2 * strlen(path) + 1);
		if (!hex)
			return -ENOMEM;
		hex_encode((const uint8_t *)path, strlen(path), hex);
		name_hex(key, name);
		bytes = json_string(hex);
		free(hex);
		if (json_object_set_new(object, name, bytes))
			return -ENOMEM;
		text = json_text(path);
	}
	return json_object_set_new(object, key, text) ? -ENOMEM : 0;
}

json_t *json_with_path(json_t *object, const char *key, const char *path)
{
	if (!path || !json_set_path(object, key, path))
		return object;
	json_decref(object);
	return NULL;
}

char *json_get_path(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	const char *hex;
	char name[32], *path;
	size_t len;

	name_hex(key, name);
	hex = json_string_value(json_object_get(object, name));
	len = hex ? strlen(hex) / 2 : 0;
	if (!hex)
		return text ? strdup(text) : NULL;
	path = calloc(1, len + 1);
	if (path && (hex_decode(hex, strlen(hex), (uint8_t *)path, len) ||
		     strlen(path) != len)) {
		free(path);
		return NULL;
	}
	return path;
}

json_t *json_with_item(json_t *list, json_t *item)
{
	if (!json_array_append_new(list, item))
		return list;
	json_decref(list);
	return NULL;
}

json_t *json_paths(const char *const *paths, size_t count)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < count; i++)
		list = json_with_item(
			list, json_with_path(json_object(), "path", paths[i]));
	return list;
}

json_t *json_with_names(json_t *object, const char *const *names, size_t count)
{
	object = json_with_path(object, "path", names[0]);
	if (count == 1 ||
	    !json_object_set_new(object, "links",
				 json_paths(names + 1, count - 1)))
		return object;
	json_decref(object);
	return NULL;
}

int json_get_number(const json_t *object, const char *key, uint64_t most,
		    uint64_t *out)
{
	const json_t *value = json_object_get(object, key);
	json_int_t number = json_integer_value(value);

	if (!value)
		return 0;
	if (!json_is_integer(value) || number < 0 || (uint64_t)number > most)
		return -EINVAL;
	*out = (uint64_t)number;
	return 0;
}

int json_get_numbers(const json_t *object, const struct json_place *places)
{
	int err = 0;

	for (; places->key && !err; places++)
		err = json_get_number(object, places->key, INT64_MAX,
				      places->out);
	return err;
}

json_t *json_numbers(const struct json_number *n)
{
	json_t *object = json_object();

	for (; n->key; n++)
		if (n->value >= 0 &&
		    json_object_set_new(object, n->key,
					json_integer(n->value))) {
			json_decref(object);
			return NULL;
		}
	return object;
}

/* A character as JSON escapes it: "\u007f", two of these above U+FFFF. */
static int append_escaped(struct buf *out, const char *text, int len)
{
	uint32_t code = len == 1 ? (uint8_t)*text :
				   utf8_decode((const uint8_t *)text, len);

	if (code < 0x10000)
		return buf_append_format(out, "\\u%04x", code);
	return buf_append_format(out, "\\u%04x\\u%04x",
				 0xd800 + ((code - 0x10000) >> 10),
				 0xdc00 + (code & 0x3ff));
}

/* Outside of strings JSON has safe characters alone. */
static int append_safe(const char *text, size_t len, void *out)
{
	const char *end = text + len, *begin = text;
	size_t n;
	int err = 0;

	while (text < end && !err) {
		n = utf8_safe_length(text);
		text += n;
		if (n)
			continue;
		n = *(const uint8_t *)text < 0x80 ?
			    1 :
			    (size_t)utf8_check((const uint8_t *)text,
					       (size_t)(end - text));
		err = buf_append(out, begin, (size_t)(text - begin));
		if (!err)
			err = append_escaped(out, text, (int)n);
		begin = text += n;
	}
	return err ? err : buf_append(out, begin, (size_t)(text - begin));
}

int json_append(struct buf *out, json_t *value, size_t flags)
{
	int failed =
		!value || json_dump_callback(value, append_safe, out, flags);

	json_decref(value);
	return failed ? -ENOMEM : 0;
}

int json_append_line(struct buf *out, json_t *value)
{
	int err = json_append(out, value, JSON_COMPACT);

	return err ? err : buf_append_text(out, "\n");
}

int json_write_line(FILE *out, json_t *value)
{
	struct buf line = { 0 };
	int err = json_append_line(&line, value);

	errno = 0;
	if (!err && fwrite(line.data, 1, line.len, out) != line.len)
		err = errno ? -errno : -EIO;
	buf_release(&line);
	return err;
}
