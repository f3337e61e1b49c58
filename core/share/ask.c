/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/ask.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/share/question/question.h"
#include "core/share/schema.h"

enum { THRESHOLD = 60, LIMIT = 256, LIMIT_MAX = 10000 };

/* ---- lines ---- */

int ask_print(FILE *out, json_t *value)
{
	int failed;

	if (!value)
		return -ENOMEM;
	failed = json_dumpf(value, out, JSON_COMPACT) || putc('\n', out) == EOF;
	json_decref(value);
	return failed ? -EIO : 0;
}

/* A server may send what is no UTF-8. */
json_t *ask_text(const char *text)
{
	json_t *value = json_string(text);
	char *copy = value ? NULL : strdup(text), *c;

	if (!copy)
		return value;
	for (c = copy; *c; c++)
		if (*c & 0x80)
			*c = '?';
	value = json_string(copy);
	free(copy);
	return value;
}

int ask_set_path(json_t *object, const char *path)
{
	json_t *text = path ? json_string(path) : NULL;
	size_t len = path ? strlen(path) : 0;
	char *hex;
	int failed;

	if (!path)
		return 0;
	if (text)
		return json_object_set_new(object, "path", text) ? -ENOMEM : 0;
	hex = malloc(2 * len + 1);
	if (!hex)
		return -ENOMEM;
	hex_encode((const uint8_t *)path, len, hex);
	failed = json_object_set_new(object, "path_hex", json_string(hex));
	free(hex);
	return failed ? -ENOMEM : 0;
}

static int print_end(FILE *out, const char *reason)
{
	return ask_print(out, json_pack("{s:b, s:b, s:o}", "end", 1, "complete",
					!*reason, "reason", ask_text(reason)));
}

/* ---- the connection ---- */

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

/* ---- similar ---- */

static int parse_digests(const json_t *request, struct digests *d)
{
	json_t *texts = json_object_get(request, "digests"), *value;
	const struct digest_ops *info;
	const char *name;
	int err = 0;

	d->size =
		(uint64_t)json_integer_value(json_object_get(request, "size"));
	json_object_foreach(texts, name, value)
	{
		info = digest_find(name);
		if (!err && info && json_is_string(value))
			err = digest_parse(info->id, json_string_value(value),
					   json_string_length(value), d);
	}
	if (!err && !(d->set & DIGEST_BIT(DIGEST_XXH128)))
		err = -EINVAL;
	return err;
}

static json_t *copies_to_json(const struct answer_hit *hit)
{
	json_t *array = json_array(), *object;
	char id[DB_UUID_TEXT + 1];
	size_t i;

	for (i = 0; i < hit->copy_count; i++) {
		const struct answer_copy *c = &hit->copies[i];

		db_format_uuid(c->host, id);
		object =
			json_pack("{s:o, s:s}", "host",
				  ask_text(c->label ? c->label : id), "id", id);
		if (object && c->path &&
		    (ask_set_path(object, c->path) ||
		     json_object_set_new(object, "mtime",
					 json_integer(c->mtime)))) {
			json_decref(object);
			object = NULL;
		}
		if (json_array_append_new(array, object)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static int print_hits(const struct share_answer *answer, FILE *out)
{
	size_t i;
	int err = 0;

	for (i = 0; i < answer->count && !err; i++) {
		const struct answer_hit *h = &answer->hits[i];

		err = ask_print(
			out, json_pack("{s:i, s:I, s:o, s:o}", "score",
				       h->score, "size",
				       (json_int_t)h->digests.size, "digests",
				       digests_to_json(&h->digests, UINT32_MAX),
				       "copies", copies_to_json(h)));
	}
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
	struct share_answer answer = { 0 };
	const char *reason = answer.reason;
	int err = parse_digests(similar, &d);

	if (err) {
		reason = "the request has no digests";
	} else if (connect_now(a)) {
		reason = a->db->message;
	} else {
		q.share_limit = a->share_limit;
		if (question_ask(a->db, &q, &answer)) {
			db_close(a->db);
			reason = a->db->message;
		}
	}
	digests_release(&d);
	err = print_hits(&answer, out);
	if (!err)
		err = print_end(out, *reason       ? reason :
				     answer.is_cut ? "cut" :
						     "");
	answer_release(&answer);
	return err;
}

/* ---- the others ---- */

static int answer_groups(struct ask *a, const json_t *request, FILE *out)
{
	const json_t *groups = json_object_get(request, "groups");
	uint64_t least = (uint64_t)json_integer_value(
		json_object_get(groups, "min_size"));
	char why[512] = "";
	int err = 0;

	if (connect_now(a))
		(void)snprintf(why, sizeof(why), "%s", a->db->message);
	else
		err = ask_groups(a->db, least, out, why, sizeof(why));
	if (*why)
		db_close(a->db);
	return err ? err : print_end(out, why);
}

static int answer_status(struct ask *a, FILE *out)
{
	json_t *status = a->status ? a->status(a->arg) : json_object();
	int err = ask_print(out, status);

	return err ? err : print_end(out, "");
}

int ask_answer(struct ask *a, const char *line, size_t len, FILE *out)
{
	json_t *request = json_loadb(line, len, 0, NULL);
	int err;

	if (json_object_get(request, "similar"))
		err = answer_similar(a, request, out);
	else if (json_object_get(request, "groups"))
		err = answer_groups(a, request, out);
	else if (json_object_get(request, "status"))
		err = answer_status(a, out);
	else
		err = print_end(out, "the request is not understood");
	json_decref(request);
	return err || fflush(out) ? -EIO : 0;
}
