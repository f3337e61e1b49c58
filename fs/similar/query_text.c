/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/query_text.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/hex.h"
#include "core/base/json.h"

/* ---- a query about a content ---- */

static int take_relation(struct query_text *q, const json_t *value)
{
	const char *name = json_string_value(value);
	int i;

	for (i = 0; name && i < INDEX_RELATIONS; i++)
		if (!strcmp(name, index_relation_names[i])) {
			q->rules.relation = (enum index_relation)i;
			return 0;
		}
	return value ? -EINVAL : 0;
}

/* An sdhash is refused: it is compared with nothing, and long. */
static int take_digests(struct query_text *q, json_t *texts)
{
	const struct digest_ops *info;
	const char *name;
	json_t *text;
	int err = 0;

	json_object_foreach(texts, name, text)
	{
		if (!strcmp(name, DIGEST_TEXT_NAME) && json_is_string(text)) {
			err = digests_parse_text(&q->digests,
						 json_string_value(text),
						 json_string_length(text));
			if (err)
				return err;
			continue;
		}
		info = digest_named(name, strlen(name));
		if (!info || info->id == DIGEST_SDHASH || !json_is_string(text))
			return -EINVAL;
		err = digest_parse(info->id, json_string_value(text),
				   json_string_length(text), &q->digests);
		if (err)
			return err;
	}
	return q->digests.set ? 0 : -EINVAL;
}

static int take_flag(const json_t *value, bool *out)
{
	*out = json_is_true(value);
	return json_is_boolean(value) ? 0 : -EINVAL;
}

static int take_content(struct query_text *q, const json_t *object)
{
	static const char *const keys[] = { "relation",  "size",      "digests",
					    "threshold", "share_min", "limit",
					    "ignore" };
	const json_t *ignore = json_object_get(object, "ignore");
	uint64_t threshold = 0, limit = 0;
	size_t known = 0, i;
	int err = take_relation(q, json_object_get(object, "relation"));

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		known += json_object_get(object, keys[i]) != NULL;
	if (!err && (!json_object_get(object, "size") ||
		     json_object_size(object) != known))
		err = -EINVAL;
	if (!err)
		err = json_get_number(object, "size", INT64_MAX,
				      &q->digests.size);
	if (!err)
		err = json_get_number(object, "threshold", 100, &threshold);
	if (!err)
		err = json_get_number(object, "share_min", INT64_MAX,
				      &q->rules.share_min);
	if (!err && ignore)
		err = take_flag(ignore, &q->ignore);
	if (!err)
		err = json_get_number(object, "limit", QUERY_LIMIT_MAX, &limit);
	q->rules.threshold = (int)threshold;
	q->limit = limit;
	return err ? err : take_digests(q, json_object_get(object, "digests"));
}

/* ---- a query for groups ---- */

static int take_within(struct search_paths *paths, const json_t *array)
{
	const json_t *item;
	size_t i;
	int err = json_is_array(array) ? 0 : -EINVAL;

	for (i = 0; i < json_array_size(array) && !err; i++) {
		char *path = NULL;

		item = json_array_get(array, i);
		if (json_object_size(item) == 1)
			path = json_get_path(item, "path");
		err = path ? search_paths_add(paths, path, strlen(path)) :
			     -EINVAL;
		free(path);
	}
	return err;
}

static int take_groups(struct query_text *q, json_t *object)
{
	uint64_t threshold = 1;
	const char *key;
	json_t *value;
	int err = 0;

	q->kind = QUERY_GROUPS;
	json_object_foreach(object, key, value)
	{
		if (!strcmp(key, "relation"))
			continue;
		err = json_is_boolean(value) ? 0 : -EINVAL;
		if (!strcmp(key, "exact"))
			q->groups.rules.exact = json_is_true(value);
		else if (!strcmp(key, "every"))
			q->groups.rules.every = json_is_true(value);
		else if (!strcmp(key, "within"))
			err = take_within(&q->groups.within, value);
		else if (!strcmp(key, "min_size"))
			err = json_get_number(object, key, INT64_MAX,
					      &q->groups.min_size);
		else if (!strcmp(key, "threshold"))
			err = json_get_number(object, key, 100, &threshold);
		else
			err = -EINVAL;
		if (err || !threshold)
			return err ? err : -EINVAL;
	}
	if (json_object_get(object, "threshold"))
		q->groups.rules.threshold = (int)threshold;
	return 0;
}

/* ---- a query for changes ---- */

static int take_changes(struct query_text *q, const json_t *object)
{
	const json_t *within = json_object_get(object, "within");

	q->kind = QUERY_CHANGES;
	if (json_object_size(object) != (within ? 2 : 1))
		return -EINVAL;
	return within ? take_within(&q->groups.within, within) : 0;
}

/* ---- a query ---- */

int query_text_parse(const char *text, size_t len, struct query_text *out)
{
	struct query_text q = { .rules = { .relation = INDEX_ALIKE } };
	json_t *object = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	const char *relation =
		json_string_value(json_object_get(object, "relation"));
	int err = -EINVAL;

	if (relation && !strcmp(relation, "groups"))
		err = take_groups(&q, object);
	else if (relation && !strcmp(relation, "changes"))
		err = take_changes(&q, object);
	else if (json_is_object(object))
		err = take_content(&q, object);
	json_decref(object);
	if (err)
		query_text_release(&q);
	else
		*out = q;
	return err;
}

void query_text_release(struct query_text *q)
{
	digests_release(&q->digests);
	search_paths_release(&q->groups.within);
}

/* ---- the answer ---- */

/* Takes line. */
static int add_path(json_t *line, const char *key, const char *path,
		    struct buf *out)
{
	if (line && !json_set_path(line, key, path))
		return json_append_line(out, line);
	json_decref(line);
	return -ENOMEM;
}

int query_text_add_hit(const struct search_hit *hit,
		       enum index_relation relation, struct buf *out)
{
	const struct verdict *v = &hit->verdict;
	json_t *line;

	if (relation == INDEX_ALL)
		line = json_pack("{s:i, s:i, s:s}", "score", v->score,
				 "distinctive", v->distinctive, "reason",
				 verdict_reason_names[v->reason]);
	else if (relation == INDEX_SHARES)
		line = json_pack("{s:i, s:I}", "score", v->score, "bytes",
				 (json_int_t)v->bytes);
	else
		line = json_pack("{s:i}", "score", v->score);
	if (line && v->by_text &&
	    json_object_set_new(line, "by", json_string("text"))) {
		json_decref(line);
		line = NULL;
	}
	return add_path(line, "path", hit->path, out);
}

static int add_file(const struct search_hit *hit, struct buf *out)
{
	char hex[2 * sizeof(hit->xxh128) + 1];
	json_t *line;

	hex_encode(hit->xxh128, sizeof(hit->xxh128), hex);
	line = json_pack("{s:I, s:i, s:I, s:I, s:s, s:I, s:I}", "group",
			 (json_int_t)hit->group, "score", hit->verdict.score,
			 "size", (json_int_t)hit->identity.size, "on_disk",
			 (json_int_t)hit->disk, "xxh128", hex, "mtime_ns",
			 (json_int_t)time_in_order(hit->identity.mtime_ns),
			 "nlink", (json_int_t)hit->nlink);
	if (line &&
	    ((hit->digests && json_object_set(line, "digests", hit->digests)) ||
	     (hit->date != TEXT_NO_DATE &&
	      json_object_set_new(line, "document_date",
				  json_integer(hit->date))))) {
		json_decref(line);
		line = NULL;
	}
	return add_path(line, "path", hit->path, out);
}

int query_text_add_files(const struct search_hits *hits, struct buf *out)
{
	size_t i;
	int err = 0;

	for (i = 0; i < hits->count && !err; i++) {
		const struct search_hit *hit = &hits->hits[i];

		err = hit->link ?
			      add_path(json_object(), "link", hit->path, out) :
			      add_file(hit, out);
	}
	return err;
}

int query_text_add_change(const struct content_change *c, struct buf *out)
{
	json_t *line = json_object();
	int err = line ? json_set_path(line, "path", c->path) : -ENOMEM;

	if (!err)
		err = json_object_set_new(
			line, "event", json_string(change_kind_names[c->kind]));
	if (!err && c->directory)
		err = json_object_set_new(line, "directory", json_true());
	if (!err && c->from)
		err = json_set_path(line, "from", c->from);
	if (!err && c->kind != CHANGE_REMOVED && !c->directory)
		err = json_object_set_new(line, "size",
					  json_integer((json_int_t)c->size));
	if (!err && c->kept >= 0)
		err = json_object_set_new(line, "kept", json_integer(c->kept));
	if (!err)
		err = json_object_set_new(line, "time_ns",
					  json_integer(c->time_ns));
	if (!err && c->merged)
		err = json_object_set_new(line, "merged",
					  json_integer((json_int_t)c->merged));
	if (!err)
		return json_append_line(out, line);
	json_decref(line);
	return -ENOMEM;
}

int query_text_add_end(bool cut, bool incomplete, struct buf *out)
{
	return json_append_line(out,
				json_pack("{s:b, s:b, s:b}", "end", 1, "cut",
					  cut, "complete", !incomplete));
}
