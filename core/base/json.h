/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_JSON_H
#define CORE_BASE_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A new JSON string of bytes that need not be UTF-8, as in a path: what is not
 * becomes U+FFFD, byte by byte.  NULL without memory. */
struct buf;
struct json_t;
struct json_t *json_text(const char *bytes);

/* Sets a key to a path, as json_text() makes it; where the path is not UTF-8,
 * "KEY_hex" has its bytes.  -ENOMEM. */
int json_set_path(struct json_t *object, const char *key, const char *path);
/* The object with the path too; NULL, and the object is dropped, without
 * memory.  path may be NULL: the object as it is.  object NULL: NULL. */
struct json_t *json_with_path(struct json_t *object, const char *key,
			      const char *path);
/* An owned path; the bytes, if both are there.  NULL: there is none, or it is
 * damaged, or there is no memory. */
char *json_get_path(const struct json_t *object, const char *key);

/* The list with one more item, both taken; NULL without memory. */
struct json_t *json_with_item(struct json_t *list, struct json_t *item);

/* A list of objects that have a path each.  NULL without memory. */
struct json_t *json_paths(const char *const *paths, size_t count);
/* As json_with_path(), the names of a file: the first one as "path", and the
 * others, if there are any, as a list "links". */
struct json_t *json_with_names(struct json_t *object, const char *const *names,
			       size_t count);

/* A number from 0 to most.  -EINVAL: the value is no such number; where there
 * is none, *out stays as it is. */
int json_get_number(const struct json_t *object, const char *key, uint64_t most,
		    uint64_t *out);

/* Several numbers of one object, to read up to INT64_MAX, and to make one of;
 * negative ones are left out.  NULL without memory. */
struct json_place {
	const char *key; /* NULL: the end */
	uint64_t *out;
};
int json_get_numbers(const struct json_t *object,
		     const struct json_place *places);

struct json_number {
	const char *key; /* NULL: the end */
	int64_t value;
};
struct json_t *json_numbers(const struct json_number *numbers);
#define JSON_NUMBERS(...) \
	json_numbers((const struct json_number[]){ __VA_ARGS__, { NULL, 0 } })

/*
 * Appends a value, which it takes, as jansson's flags say; as a compact line.
 * Strings may be of strangers: what utf8_safe_length() does not call safe is
 * escaped ("\u009b"), so that no name controls the terminal that shows it.
 * -ENOMEM; NULL: -ENOMEM.
 */
int json_append(struct buf *out, struct json_t *value, size_t flags);
int json_append_line(struct buf *out, struct json_t *value);

/* Writes it, likewise; without fflush().  -ENOMEM, or the error of the file. */
int json_write_line(FILE *out, struct json_t *value);

#endif
