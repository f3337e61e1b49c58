/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_RECORD_H
#define CORE_CLI_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The JSON of a command, field by field in the order of the calls.  A
 * failure (without memory) is kept until the end, which tells it, so calls in
 * between need no check.
 *
 *	record_begin(&r);
 *	record_path(&r, "path", path);
 *	record_list(&r, "links");
 *	...
 *	record_close(&r);
 *	return record_print(&r);
 */
enum { RECORD_DEPTH = 8 };

struct record {
	json_t *open[RECORD_DEPTH]; /* the innermost is the last one */
	unsigned depth;
	bool failed;
};

void record_begin(struct record *r);

/* key: NULL in a list. */
void record_number(struct record *r, const char *key, int64_t value);
void record_time(struct record *r, const char *key, int64_t ns); /* seconds */
void record_flag(struct record *r, const char *key, bool value);
void record_text(struct record *r, const char *key, const char *value);

/* Bytes that are not UTF-8 become U+FFFD, and "<key>_hex" has all of them. */
void record_path(struct record *r, const char *key, const char *path);

/* The fields up to record_close() are of an object, or of a list, within. */
void record_object(struct record *r, const char *key);
void record_list(struct record *r, const char *key);
void record_close(struct record *r);

/* {"totals":{...}} as table_totals() prints it. */
void record_totals(struct record *r);
void record_complete(struct record *r, bool complete, const char *reason);

/* Prints all of it as a line.  EXIT_OK, or EXIT_FAILED and a message. */
int record_print(struct record *r);

#endif
