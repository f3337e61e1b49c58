/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/ask.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/share/schema.h"

enum { THRESHOLD = 60, LIMIT = 256, LIMIT_MAX = 10000 };

int ask_print(FILE *out, json_t *value)
{
	int failed;

	if (!value)
		return -ENOMEM;
	failed = json_dumpf(value, out, JSON_COMPACT) || putc('\n', out) == EOF;
	json_decref(value);
	return failed ? -EIO : 0;
}

int ask_print_end(FILE *out, const char *reason)
{
	return ask_print(out, json_pack("{s:b, s:b, s:o}", "end", 1, "complete",
					!*reason, "reason", json_text(reason)));
}

/* A connection that was lost meanwhile is made anew, once. */
static int connect_now(struct ask *a)
{
	int err = 0;

	if (a->db->conn && PQstatus(a->db->conn) == CONNECTION_BAD)
		db_close(a->db);
	if (!a->db->conn) {
		a->is_checked = false;
		err = db_open(a->db, a->conninfo, a->wait_ms);
	}
	if (!err && !a->is_checked) {
		db_set_timeout(a->db, a->wait_ms);
		err = schema_check(a->db, &a->share_limit);
		a->is_checked = !err;
	}
	if (err)
		db_close(a->db);
	return err;
}

static int number_of(const json_t *request, const char *name, int usual,
		     int most)
{
	const json_t *value = json_object_get(request, name);
	json_int_t n =
		json_is_integer(value) ? json_integer_value(value) : usual;

	return n < 1 ? 1 : n > most ? most : (int)n;
}

static int answer_similar(struct ask *a, const json_t *request, FILE *out)
{
	const json_t *similar = json_object_get(request, "similar");
	struct digests d = { 0 };
	struct question q = {
		.digests = &d,
		.threshold = number_of(request, "threshold", THRESHOLD, 100),
		.limit = (size_t)number_of(request, "limit", LIMIT, LIMIT_MAX),
		.wait_ms = a->wait_ms,
		.boilerplate = json_is_true(json_object_get(request, "all")),
		.but = a->but,
	};
	char reason[sizeof(a->db->message)] = "the request has no digests";
	int err = digests_from_json(json_object_get(similar, "digests"), &d);

	d.size = (uint64_t)json_integer_value(json_object_get(similar, "size"));
	if (err || !(d.set & DIGEST_BIT(DIGEST_XXH128))) {
		err = 0;
	} else if (connect_now(a)) {
		memcpy(reason, a->db->message, sizeof(reason));
	} else {
		q.share_limit = a->share_limit;
		err = ask_question(a->db, &q, out, reason, sizeof(reason));
	}
	digests_release(&d);
	return err ? err : ask_print_end(out, reason);
}

static int answer_groups(struct ask *a, const json_t *request, FILE *out)
{
	const json_t *least =
		json_object_get(json_object_get(request, "groups"), "min_size");
	char reason[sizeof(a->db->message)] = "";
	int err = 0;

	if (connect_now(a))
		memcpy(reason, a->db->message, sizeof(reason));
	else
		err = ask_groups(a->db, (uint64_t)json_integer_value(least),
				 out, reason, sizeof(reason));
	if (*reason)
		db_close(a->db);
	return err ? err : ask_print_end(out, reason);
}

int ask_answer(struct ask *a, const json_t *request, FILE *out)
{
	int err;

	if (json_object_get(request, "similar"))
		err = answer_similar(a, request, out);
	else if (json_object_get(request, "groups"))
		err = answer_groups(a, request, out);
	else
		err = ask_print_end(out, "the request is not understood");
	return err || fflush(out) ? -EIO : 0;
}
