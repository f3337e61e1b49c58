/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_JSON_H
#define CORE_BASE_JSON_H

/* A new JSON string of bytes that need not be UTF-8, as in a path: when they
 * are not, each byte above 127 becomes U+FFFD.  NULL without memory. */
struct json_t;
struct json_t *json_text(const char *bytes);

/* A path under a key, or where it is not UTF-8 its bytes as "KEY_hex".
 * -ENOMEM. */
int json_set_path(struct json_t *object, const char *key, const char *path);
/* An owned path; the bytes, if both are there.  NULL: there is none, or it is
 * damaged, or there is no memory. */
char *json_get_path(const struct json_t *object, const char *key);

#endif
