/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/index/judge_rules.h"
#include "core/share/batch.h"
#include "core/share/question/question_impl.h"

/* The rows of the second and third step of a question. */

/* ---- by one statement, or one for each content ---- */

typedef int take_rows_fn(struct question_job *j, const PGresult *r);

/* The uuid of candidate or hit i. */
typedef const uint8_t *uuid_at_fn(const struct question_job *j, size_t i);

static int take_one(struct question_job *j, take_rows_fn *take)
{
	PGresult *r = NULL;
	int err = db_result(j->db, &r);

	if (!err)
		err = take(j, r);
	else if (question_may_go_on(err))
		question_doubt(j, "%s", j->db->message);
	PQclear(r);
	return err;
}

/* Of candidates or hits from first on. */
static int send_uuids(struct question_job *j, const char *statement,
		      uuid_at_fn *uuid_at, size_t first, size_t count)
{
	struct buf array = { 0 };
	const char *values[1];
	size_t i;
	int err = 0;

	for (i = 0; i < count && !err; i++)
		err = db_array_add_uuid(&array, uuid_at(j, first + i));
	if (!err)
		err = db_array_end(&array);
	values[0] = array.data;
	if (!err)
		err = db_send(j->db, statement, 1, values);
	buf_release(&array);
	return err ? err : db_sync(j->db);
}

static int ask_each(struct question_job *j, const char *statement,
		    uuid_at_fn *uuid_at, size_t count, take_rows_fn *take)
{
	size_t i;
	int err = 0;

	for (i = 0; i < count && !err; i++)
		err = send_uuids(j, statement, uuid_at, i, 1);
	for (i = 0; i < count && !err; i++) {
		err = take_one(j, take);
		if (question_may_go_on(err))
			err = 0;
	}
	return err ? err : db_drain(j->db);
}

static int ask_all(struct question_job *j, const char *statement,
		   uuid_at_fn *uuid_at, size_t count, take_rows_fn *take)
{
	int lost, err = send_uuids(j, statement, uuid_at, 0, count);

	if (!err)
		err = take_one(j, take);
	if (err && !question_may_go_on(err))
		return err;
	lost = db_drain(j->db);
	if (lost || !err)
		return lost;
	return ask_each(j, statement, uuid_at, count, take);
}

/* ---- contents ---- */

/* Values that very many contents have count little. */
static uint32_t contents_of(void *arg, uint64_t value)
{
	const struct question_job *j = arg;
	size_t i;

	for (i = 0; i < j->value_count; i++)
		if (j->values[i] == value && j->is_common[i])
			return 2 * WEIGHT_COMMON;
	return 1;
}

static bool is_null(const PGresult *r, int row, int column)
{
	return PQgetisnull(r, row, column);
}

/* Only sketches that can be compared have one here. */
static int take_sketch(struct question_job *j, const PGresult *r, int row,
		       struct digests *d, bool *has_out)
{
	uint8_t bytes[SKETCH_PACKED_MAX];
	ssize_t len;

	*has_out = false;
	if (is_null(r, row, 4))
		return 0;
	len = db_parse_bytes(db_value(r, row, 4), bytes, sizeof(bytes));
	if (len < 0 || sketch_unpack(bytes, (size_t)len, j->other))
		return 0;
	*has_out = true;
	return digest_put(d, DIGEST_SIF,
			  (struct digest_value){ bytes, (size_t)len });
}

static void take_fixed(const PGresult *r, int row, struct digests *d)
{
	d->size = strtoull(db_value(r, row, 1), NULL, 10);
	d->set = DIGEST_BIT(DIGEST_XXH128);
	if (!is_null(r, row, 2)) {
		store_be64(d->simhash,
			   (uint64_t)strtoll(db_value(r, row, 2), NULL, 10));
		d->set |= DIGEST_BIT(DIGEST_SIMHASH);
	}
	if (!is_null(r, row, 3) &&
	    db_parse_bytes(db_value(r, row, 3), d->traits, 16) == 16)
		d->set |= DIGEST_BIT(DIGEST_RDC);
}

/* 0 for what is not alike. */
static int score_of(struct question_job *j, const struct digests *d,
		    bool has_sketch)
{
	const struct weigher w = { .contents = contents_of, .arg = j };
	const struct judge_rules rules = {
		.relation = j->q->boilerplate ? INDEX_ALL : INDEX_ALIKE,
		.threshold = j->q->threshold,
	};
	struct verdict v;

	if (!memcmp(d->xxh128, j->q->digests->xxh128, DB_UUID_BYTES) &&
	    d->size == j->q->digests->size)
		return 100;
	if (!has_sketch || !j->sketch)
		return 0;
	judge_pair(&w, j->weighed, j->other, &rules, &v);
	return judge_lists(&rules, &v) ? v.score : 0;
}

static int add_hit(struct question_job *j, const struct digests *d, int score)
{
	struct share_answer *a = j->answer;
	struct answer_hit *all =
		array_with_room(a->hits, a->count, sizeof(*all));

	if (!all)
		return -ENOMEM;
	a->hits = all;
	all += a->count++;
	*all = (struct answer_hit){ .score = score, .digests = *d };
	memcpy(all->content, d->xxh128, DB_UUID_BYTES);
	return 0;
}

static int take_contents(struct question_job *j, const PGresult *r)
{
	bool has_sketch;
	int row, score, err = 0;

	for (row = 0; row < PQntuples(r) && !err; row++) {
		struct digests d = { 0 };

		if (db_parse_uuid(db_value(r, row, 0), d.xxh128))
			continue;
		take_fixed(r, row, &d);
		err = take_sketch(j, r, row, &d, &has_sketch);
		score = err ? 0 : score_of(j, &d, has_sketch);
		if (score >= j->q->threshold)
			err = add_hit(j, &d, score);
		if (err || score < j->q->threshold)
			digests_release(&d);
	}
	return err;
}

static const uint8_t *candidate_at(const struct question_job *j, size_t i)
{
	return j->candidates[i].content;
}

static int best_first(const void *a, const void *b)
{
	const struct answer_hit *x = a, *y = b;

	return y->score - x->score;
}

int question_score(struct question_job *j)
{
	const struct weigher w = { .contents = contents_of, .arg = j };
	struct share_answer *a = j->answer;
	int err;

	if (j->sketch)
		weight_sketch(&w, j->sketch, j->weighed);
	err = ask_all(j,
		      "SELECT content, size, simhash, traits, sketch FROM "
		      "@kin_content WHERE content = ANY($1::uuid[])",
		      candidate_at, j->candidate_count, take_contents);
	if (err || !a->count)
		return err;
	qsort(a->hits, a->count, sizeof(*a->hits), best_first);
	while (a->count > j->q->limit) {
		digests_release(&a->hits[--a->count].digests);
		a->is_cut = true;
	}
	return 0;
}

/* ---- copies ---- */

static int add_copy(struct answer_hit *hit, const PGresult *r, int row)
{
	struct answer_copy *all =
		array_with_room(hit->copies, hit->copy_count, sizeof(*all));
	ssize_t len;

	if (!all)
		return -ENOMEM;
	hit->copies = all;
	all += hit->copy_count;
	*all = (struct answer_copy){ 0 };
	if (db_parse_uuid(db_value(r, row, 1), all->host))
		return 0;
	if (!is_null(r, row, 2)) {
		len = (ssize_t)strlen(db_value(r, row, 2)) / 2;
		all->path = calloc((size_t)len + 1, 1);
		if (!all->path)
			return -ENOMEM;
		(void)db_parse_bytes(db_value(r, row, 2), (uint8_t *)all->path,
				     (size_t)len);
	}
	if (!is_null(r, row, 3))
		all->mtime = strtoll(db_value(r, row, 3), NULL, 10);
	hit->copy_count++;
	return 0;
}

static int take_copies(struct question_job *j, const PGresult *r)
{
	uint8_t content[DB_UUID_BYTES], host[DB_UUID_BYTES];
	struct share_answer *a = j->answer;
	int row, err = 0;
	size_t i;

	if (PQntuples(r) > QUESTION_COPIES)
		a->is_cut = true;
	for (row = 0; row < PQntuples(r) && !err; row++) {
		if (db_parse_uuid(db_value(r, row, 0), content) ||
		    db_parse_uuid(db_value(r, row, 1), host) ||
		    (j->q->but && !memcmp(host, j->q->but, DB_UUID_BYTES)))
			continue;
		for (i = 0; i < a->count; i++)
			if (!memcmp(a->hits[i].content, content, DB_UUID_BYTES))
				break;
		if (i < a->count)
			err = add_copy(&a->hits[i], r, row);
	}
	return err;
}

static int take_hosts(struct question_job *j, const PGresult *r)
{
	uint8_t host[DB_UUID_BYTES];
	size_t i, c;
	int row;

	for (row = 0; row < PQntuples(r); row++) {
		if (db_parse_uuid(db_value(r, row, 0), host))
			continue;
		for (i = 0; i < j->answer->count; i++)
			for (c = 0; c < j->answer->hits[i].copy_count; c++) {
				struct answer_copy *copy =
					&j->answer->hits[i].copies[c];

				if (memcmp(copy->host, host, DB_UUID_BYTES))
					continue;
				free(copy->label);
				copy->label = strdup(db_value(r, row, 1));
				if (!copy->label)
					return -ENOMEM;
			}
	}
	return 0;
}

static const uint8_t *hit_at(const struct question_job *j, size_t i)
{
	return j->answer->hits[i].content;
}

int question_find_copies(struct question_job *j)
{
	int err =
		ask_all(j,
			"SELECT content, host, path, extract(epoch FROM mtime)"
			" FROM @kin_copy WHERE content = ANY($1::uuid[]) "
			"LIMIT 1001",
			hit_at, j->answer->count, take_copies);

	if (!err)
		err = db_send(j->db, "SELECT host, label FROM @kin_host", 0,
			      NULL);
	if (!err)
		err = db_sync(j->db);
	if (!err)
		err = take_one(j, take_hosts);
	return err ? err : db_drain(j->db);
}
