/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/record.h"

#include <assert.h>
#include <errno.h>

#include "core/base/json.h"
#include "core/cli/cli.h"

void record_begin(struct record *r)
{
	*r = (struct record){ .open = { json_object() }, .depth = 1 };
	r->failed = !r->open[0];
}

static void record_value(struct record *r, const char *key, json_t *value)
{
	json_t *to = r->open[r->depth - 1];

	if (key ? json_object_set_new(to, key, value) :
		  json_array_append_new(to, value))
		r->failed = true;
}

void record_number(struct record *r, const char *key, int64_t value)
{
	record_value(r, key, json_integer(value));
}

void record_time(struct record *r, const char *key, int64_t ns)
{
	record_value(r, key, json_real((double)ns / 1e9));
}

void record_flag(struct record *r, const char *key, bool value)
{
	record_value(r, key, json_boolean(value));
}

void record_text(struct record *r, const char *key, const char *value)
{
	record_value(r, key, json_string(value));
}

void record_path(struct record *r, const char *key, const char *path)
{
	if (json_set_path(r->open[r->depth - 1], key, path))
		r->failed = true;
}

static void go_in(struct record *r, const char *key, json_t *within)
{
	assert(r->depth < RECORD_DEPTH);
	record_value(r, key, within);
	/* Borrowed of the outer one; NULL after a failure, and refused then. */
	r->open[r->depth++] = r->failed ? NULL : within;
}

void record_object(struct record *r, const char *key)
{
	go_in(r, key, json_object());
}

void record_list(struct record *r, const char *key)
{
	go_in(r, key, json_array());
}

void record_close(struct record *r)
{
	r->depth--;
}

void record_totals(struct record *r)
{
	record_begin(r);
	record_object(r, "totals");
}

void record_complete(struct record *r, bool complete, const char *reason)
{
	record_flag(r, "complete", complete);
	if (!complete && reason)
		record_text(r, "reason", reason);
	record_close(r);
}

int record_print(struct record *r)
{
	assert(r->depth == 1);
	if (!r->failed)
		return cli_print_json(r->open[0]);
	json_decref(r->open[0]);
	cli_complain_errno(NULL, -ENOMEM);
	return EXIT_FAILED;
}
