/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_JSON_H
#define CORE_BASE_JSON_H

/* A new JSON string of bytes that need not be UTF-8, as in a path: when they
 * are not, each byte above 127 becomes U+FFFD.  NULL without memory. */
struct json_t;
struct json_t *json_text(const char *bytes);

#endif
