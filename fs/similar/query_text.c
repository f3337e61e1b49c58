/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/query_text.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/hex.h"
#include "core/base/json.h"

/* ---- a query for groups ---- */

/* NULL: all paths. */
static int take_within(struct search_paths *paths, const json_t *array)
{
	const json_t *item;
	size_t i;
	int err = !array || json_is_array(array) ? 0 : -EINVAL;

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
	json_int_t threshold = 1, min_size = 0;
	int exact = false, every = false, internal = false;
	json_t *within = NULL;
	const char *relation;

	q->kind = QUERY_GROUPS;
	if (json_unpack(object, "{s:s, s?b, s?b, s?b, s?o, s?I, s?I !}",
			"relation", &relation, "exact", &exact, "every", &every,
			"internal", &internal, "within", &within, "min_size",
			&min_size, "threshold", &threshold) ||
	    threshold < 1 || threshold > 100 || min_size < 0)
		return -EINVAL;
	q->groups.rules.exact = exact;
	q->groups.rules.every = every;
	q->groups.internal = internal;
	q->groups.min_size = (uint64_t)min_size;
	if (json_object_get(object, "threshold"))
		q->groups.rules.threshold = (int)threshold;
	return take_within(&q->groups.within, within);
}

/* ---- a query for changes ---- */

static int take_changes(struct query_text *q, json_t *object)
{
	json_t *within = NULL;
	const char *relation, *since = NULL;

	q->kind = QUERY_CHANGES;
	if (json_unpack(object, "{s:s, s?o, s?s !}", "relation", &relation,
			"within", &within, "since", &since))
		return -EINVAL;
	q->since = since ? strdup(since) : NULL;
	if (since && !q->since)
		return -ENOMEM;
	return take_within(&q->groups.within, within);
}

/* ---- a query ---- */

int query_text_parse(const char *text, size_t len, struct query_text *out)
{
	struct query_text q = { .kind = QUERY_QUESTION };
	json_t *object = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	int err = -EINVAL;

	if (question_is_for(object, "groups"))
		err = take_groups(&q, object);
	else if (question_is_for(object, "changes"))
		err = take_changes(&q, object);
	else if (json_is_object(object))
		err = question_parse(object, &q.question);
	json_decref(object);
	if (err)
		query_text_release(&q);
	else
		*out = q;
	return err;
}

void query_text_release(struct query_text *q)
{
	question_release(&q->question);
	search_paths_release(&q->groups.within);
	free(q->since);
}

/* ---- the answer ---- */

int query_text_add_hit(const struct search_hit *hit, struct buf *out)
{
	json_t *line = verdict_to_json(&hit->verdict);

	if (hit->ignored && json_object_set_new(line, "ignored", json_true())) {
		json_decref(line);
		return -ENOMEM;
	}
	return json_append_line(out, json_with_path(line, "path", hit->path));
}

/* Takes links, the other names, which may be NULL. */
static int add_file(const struct search_hit *hit, json_t *links,
		    struct buf *out)
{
	char hex[2 * sizeof(hit->xxh128) + 1];
	json_t *file = json_pack(
		"{s:I, s:I, s:I, s:o*}", "on_disk", (json_int_t)hit->disk,
		"mtime_ns", (json_int_t)time_in_order(hit->identity.mtime_ns),
		"nlink", (json_int_t)hit->nlink, "links", links);

	hex_encode(hit->xxh128, sizeof(hit->xxh128), hex);
	return json_append_line(
		out,
		json_pack("{s:I, s:I, s:i, s:s, s:I, s:s, s:O*, s:o*, s:[o]}",
			  "group", (json_int_t)hit->group, "member",
			  (json_int_t)hit->member, "score", hit->verdict.score,
			  "by", subject_part_names[hit->verdict.by], "size",
			  (json_int_t)hit->identity.size, "xxh128", hex,
			  "digests", hit->digests, "document_date",
			  hit->date != TEXT_NO_DATE ? json_integer(hit->date) :
						      NULL,
			  "files", json_with_path(file, "path", hit->path)));
}

int query_text_add_files(const struct search_hits *hits, struct buf *out)
{
	const struct search_hit *file = hits->hits, *hit = file,
				*end = file + hits->count;
	json_t *links;
	size_t bytes;
	int err = 0;

	for (; file < end && !err; file = hit) {
		links = NULL;
		bytes = 0;
		for (hit = file + 1; hit < end && hit->link; hit++) {
			links = links ? links : json_array();
			bytes += strlen(hit->path);
			if (bytes <= QUERY_NAMES_MAX &&
			    json_array_append_new(
				    links, json_with_path(json_object(), "path",
							  hit->path)))
				err = -ENOMEM;
		}
		if (add_file(file, links, out))
			err = -ENOMEM;
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
		err = json_object_set_new(line, "cursor",
					  json_string(c->cursor));
	if (!err)
		return json_append_line(out, line);
	json_decref(line);
	return -ENOMEM;
}

int query_text_add_watching(const char *cursor, struct buf *out)
{
	return json_append_line(
		out, json_pack("{s:b, s:s}", "watching", 1, "cursor", cursor));
}

static json_t *number_if_any(uint64_t n)
{
	return n ? json_integer((json_int_t)n) : NULL;
}

int query_text_add_end(bool cut, bool incomplete, uint64_t failed,
		       uint64_t failed_texts, const char *state,
		       struct buf *out)
{
	return json_append_line(
		out, json_pack("{s:b, s:b, s:b, s:o*, s:o*, s:s*}", "end", 1,
			       "cut", cut, "complete", !incomplete, "failed",
			       number_if_any(failed), "failed_texts",
			       number_if_any(failed_texts), "state", state));
}
