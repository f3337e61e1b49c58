/* SPDX-License-Identifier: Apache-2.0 */
#include "core/client/question.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"

static const char *const kind_names[] = {
	[QUESTION_BASE] = "base",
	[QUESTION_DIRECTORIES] = "directories",
};

/* The place of a name; count: it is none of them. */
static int find_name(const char *const *names, int count, const char *name)
{
	int i = 0;

	while (i < count && (!name || !names[i] || strcmp(name, names[i]) != 0))
		i++;
	return i;
}

/* ---- the question ---- */

bool question_is_for(const json_t *object, const char *relation)
{
	const char *name =
		json_string_value(json_object_get(object, "relation"));

	return name && !strcmp(name, relation);
}

static int take_relation(struct question *q, const char *name)
{
	const int kind = find_name(kind_names, QUESTION_DIRECTORIES + 1, name);
	const int relation =
		find_name(index_relation_names, INDEX_RELATIONS, name);

	q->rules.relation = INDEX_ALIKE;
	if (kind <= QUESTION_DIRECTORIES)
		q->kind = (enum question_kind)kind;
	else if (relation < INDEX_RELATIONS)
		q->rules.relation = (enum index_relation)relation;
	else
		return -EINVAL;
	return 0;
}

/* An sdhash is refused: it is compared with nothing, and long. */
static int take_digests(struct question *q, json_t *texts)
{
	struct digests *d = &q->digests;
	int err = digests_from_json(texts, d);
	size_t known = (size_t)__builtin_popcount(d->set) + !!d->text.bytes;

	if (err)
		return err;
	return d->set && known == json_object_size(texts) &&
			       !(d->set & DIGEST_BIT(DIGEST_SDHASH)) ?
		       0 :
		       -EINVAL;
}

/* Of the path with that key, if it is there. */
static int take_path(json_t *object, const char *key, bool there,
		     const char **out)
{
	*out = there ? json_get_path(object, key) : NULL;
	return there && (!*out || (**out && !text_is_plain_path(*out))) ?
		       -EINVAL :
		       0;
}

static int take(struct question *q, json_t *object)
{
	json_int_t size = -1, threshold = 0, share_min = 0, limit = 0;
	const char *relation = index_relation_names[INDEX_ALIKE];
	const char *path = NULL, *path_hex = NULL, *with = NULL,
		   *with_hex = NULL;
	json_t *digests = NULL;
	int ignore = false, err;

	if (json_unpack(object,
			"{s?s, s?s, s?s, s?s, s?s, s?I, s?o, s?I, s?I, s?I, "
			"s?b !}",
			"relation", &relation, "path", &path, "path_hex",
			&path_hex, "with", &with, "with_hex", &with_hex, "size",
			&size, "digests", &digests, "threshold", &threshold,
			"share_min", &share_min, "limit", &limit, "ignore",
			&ignore) ||
	    threshold < 0 || threshold > 100 || share_min < 0 || limit < 0 ||
	    limit > QUESTION_LIMIT_MAX)
		return -EINVAL;
	q->rules.threshold = (int)threshold;
	q->rules.share_min = (uint64_t)share_min;
	q->limit = (size_t)limit;
	q->ignore = ignore;
	err = take_relation(q, relation);
	if (!err)
		err = take_path(object, "path", path || path_hex, &q->path);
	if (!err)
		err = take_path(object, "with", with || with_hex, &q->with);
	if (err)
		return err;
	if (q->path)
		return digests || size >= 0 ? -EINVAL : 0;
	if (size < 0 || q->kind == QUESTION_DIRECTORIES)
		return -EINVAL;
	q->digests.size = (uint64_t)size;
	return take_digests(q, digests);
}

int question_parse(json_t *object, struct question *out)
{
	struct question q = { .kind = QUESTION_FILES };
	int err = take(&q, object);

	if (err)
		question_release(&q);
	else
		*out = q;
	return err;
}

void question_release(struct question *q)
{
	free((char *)q->path);
	free((char *)q->with);
	digests_release(&q->digests);
}

static json_t *number(uint64_t value)
{
	return value ? json_integer((json_int_t)value) : NULL;
}

json_t *question_make(const struct question *q)
{
	const uint32_t sent = ~DIGEST_BIT(DIGEST_SDHASH);
	const char *relation = kind_names[q->kind];
	json_t *object = json_pack(
		"{s:s, s:o*, s:o*, s:o*, s:o*}", "relation",
		relation ? relation : index_relation_names[q->rules.relation],
		"threshold", number((uint64_t)q->rules.threshold), "share_min",
		number(q->rules.share_min), "limit", number(q->limit), "ignore",
		q->ignore ? json_true() : NULL);

	if (!q->path && object &&
	    json_object_update_new(
		    object,
		    json_pack("{s:I, s:o}", "size", (json_int_t)q->digests.size,
			      "digests", digests_to_json(&q->digests, sent)))) {
		json_decref(object);
		return NULL;
	}
	object = json_with_path(object, "path", q->path);
	return json_with_path(object, "with", q->with);
}

/* ---- the answer ---- */

json_t *verdict_to_json(const struct verdict *v)
{
	const bool is_picture = v->by == SUBJECT_PICTURE;

	return json_pack("{s:i, s:i, s:s, s:I, s:s, s:o*, s:o*}", "score",
			 v->score, "distinctive", v->distinctive, "reason",
			 verdict_reason_names[v->reason], "bytes",
			 (json_int_t)v->bytes, "by", subject_part_names[v->by],
			 "bits", is_picture ? json_integer(v->bits) : NULL,
			 "turn", is_picture ? json_integer(v->turn) : NULL);
}

int verdict_from_json(const json_t *line, struct verdict *out)
{
	uint64_t score = 0, distinctive = 0, bytes = 0, bits = 0, turn = 0;
	const char *reason_name =
		json_string_value(json_object_get(line, "reason"));
	const char *by_name = json_string_value(json_object_get(line, "by"));
	const int reason =
		find_name(verdict_reason_names, VERDICT_REASONS, reason_name);
	const int by = find_name(subject_part_names, SUBJECT_SPEAKERS, by_name);

	if (json_get_number(line, "score", 100, &score) ||
	    json_get_number(line, "distinctive", 100, &distinctive) ||
	    json_get_number(line, "bytes", INT64_MAX, &bytes) ||
	    reason == VERDICT_REASONS || by == SUBJECT_SPEAKERS)
		return -EBADMSG;
	if (by == SUBJECT_PICTURE &&
	    (json_get_number(line, "bits", PDQ_BITS, &bits) ||
	     json_get_number(line, "turn", PDQ_TURNS - 1, &turn)))
		return -EBADMSG;
	*out = (struct verdict){ .score = (int)score,
				 .distinctive = (int)distinctive,
				 .bytes = bytes,
				 .reason = (enum verdict_reason)reason,
				 .by = (enum subject_part)by,
				 .bits = (unsigned)bits,
				 .turn = (enum pdq_turn)turn };
	return 0;
}

int question_ask(struct answer *a, const struct mount *m,
		 const struct question *q)
{
	*a = (struct answer){ .path = NULL };
	return client_ask(&a->lines, m->listings, question_make(q));
}

int answer_next(struct answer *a)
{
	const json_t *line;
	int more = client_next(&a->lines), err;

	free(a->path);
	a->path = NULL;
	line = a->lines.line;
	if (more <= 0) {
		a->complete = json_is_true(json_object_get(line, "complete"));
		a->cut = json_is_true(json_object_get(line, "cut"));
		a->state = json_string_value(json_object_get(line, "state"));
		return more;
	}
	err = verdict_from_json(line, &a->verdict);
	if (err)
		return err;
	a->ignored = json_is_true(json_object_get(line, "ignored"));
	a->path = json_get_path(line, "path");
	return a->path && text_is_plain_path(a->path) ? 1 : -EBADMSG;
}

void answer_close(struct answer *a)
{
	free(a->path);
	lines_close(&a->lines);
}

int question_ask_one(struct answer *a, const struct mount *m,
		     const struct question *q)
{
	int err = question_ask(a, m, q), found = err ? err : answer_next(a);
	char *path = a->path;

	if (found <= 0)
		return found;
	a->path = NULL;
	err = answer_next(a);
	free(a->path);
	a->path = path;
	return err < 0 ? err : found;
}
