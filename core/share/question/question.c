/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/question/question.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/share/question/question_impl.h"
#include "core/share/schema.h"

void question_doubt(struct question_job *j, const char *format, ...)
{
	va_list args;

	if (*j->answer->reason)
		return;
	va_start(args, format);
	(void)vsnprintf(j->answer->reason, sizeof(j->answer->reason), format,
			args);
	va_end(args);
}

void answer_release(struct share_answer *a)
{
	size_t i, c;

	for (i = 0; i < a->count; i++) {
		for (c = 0; c < a->hits[i].copy_count; c++) {
			free(a->hits[i].copies[c].label);
			free(a->hits[i].copies[c].path);
		}
		free(a->hits[i].copies);
		digests_release(&a->hits[i].digests);
	}
	free(a->hits);
	*a = (struct share_answer){ 0 };
}

/* ---- candidates ---- */

/* The anchors, and values of the share from the least on. */
static void choose_values(struct question_job *j)
{
	size_t i;

	for (i = 0; i < j->sketch->count && i < QUESTION_VALUES; i++) {
		if (i >= SHARE_ANCHORS &&
		    (int64_t)j->sketch->values[i] >= j->q->share_limit)
			break;
		j->values[j->value_count++] = j->sketch->values[i];
	}
}

/* apart: each is a transaction of its own. */
static int send_values(struct question_job *j, bool apart)
{
	char text[24];
	const char *values[] = { text };
	size_t i;
	int err = 0;

	for (i = 0; i < j->value_count && !err; i++) {
		(void)snprintf(text, sizeof(text), "%" PRIu64, j->values[i]);
		err = db_send(j->db,
			      "SELECT content FROM @kin_posting WHERE value = "
			      "$1::bigint LIMIT 129",
			      1, values);
		if (!err && (apart || i + 1 == j->value_count))
			err = db_sync(j->db);
	}
	return err;
}

static int add_candidate(struct question_job *j, const uint8_t *content)
{
	struct question_candidate *all = array_with_room(
		j->candidates, j->candidate_count, sizeof(*all));

	if (!all)
		return -ENOMEM;
	j->candidates = all;
	all += j->candidate_count++;
	memcpy(all->content, content, DB_UUID_BYTES);
	all->values = 1;
	return 0;
}

static int take_posting(struct question_job *j, const PGresult *r, size_t i)
{
	uint8_t content[DB_UUID_BYTES];
	int row, err = 0;

	if (PQntuples(r) > QUESTION_COMMON) {
		j->is_common[i] = true;
		return 0;
	}
	for (row = 0; row < PQntuples(r) && !err; row++)
		if (!db_parse_uuid(db_value(r, row, 0), content))
			err = add_candidate(j, content);
	return err;
}

/* apart: one that cannot be read now leaves the others. */
static int read_values(struct question_job *j, bool apart)
{
	PGresult *r;
	size_t i;
	int lost, err = 0;

	j->candidate_count = 0;
	memset(j->is_common, 0, sizeof(j->is_common));
	for (i = 0; i < j->value_count && !err; i++) {
		r = NULL;
		err = db_result(j->db, &r);
		if (!err)
			err = take_posting(j, r, i);
		else if (question_may_go_on(err) && apart) {
			question_doubt(j, "%s", j->db->message);
			err = 0;
		}
		PQclear(r);
	}
	if (err && !question_may_go_on(err))
		return err;
	lost = db_drain(j->db);
	return lost ? lost : err;
}

static int send_postings(struct question_job *j)
{
	struct buf array = { 0 };
	const char *values[1];
	size_t i;
	int err = 0;

	for (i = 0; i < j->value_count && !err; i++)
		err = db_array_add_number(&array, (int64_t)j->values[i]);
	if (!err)
		err = db_array_end(&array);
	values[0] = array.data;
	if (!err)
		err = db_send(j->db,
			      "SELECT content, value FROM @kin_posting WHERE "
			      "value = ANY($1::bigint[]) LIMIT 1001",
			      1, values);
	buf_release(&array);
	return err ? err : db_sync(j->db);
}

/* Of each value, how many contents have it. */
static void count_values(struct question_job *j, const PGresult *r,
			 unsigned *counts)
{
	uint64_t value;
	size_t i;
	int row;

	for (row = 0; row < PQntuples(r); row++) {
		value = strtoull(db_value(r, row, 1), NULL, 10);
		for (i = 0; i < j->value_count; i++)
			counts[i] += j->values[i] == value;
	}
	for (i = 0; i < j->value_count; i++)
		j->is_common[i] = counts[i] > QUESTION_COMMON;
}

static bool is_of_common(const struct question_job *j, uint64_t value)
{
	size_t i;

	for (i = 0; i < j->value_count; i++)
		if (j->values[i] == value)
			return j->is_common[i];
	return true;
}

/* 1: there are more than the statement gives. */
static int take_postings(struct question_job *j, const PGresult *r)
{
	unsigned counts[QUESTION_VALUES] = { 0 };
	uint8_t content[DB_UUID_BYTES];
	int row, err = 0;

	if (PQntuples(r) > QUESTION_POSTINGS)
		return 1;
	count_values(j, r, counts);
	for (row = 0; row < PQntuples(r) && !err; row++)
		if (!is_of_common(j, strtoull(db_value(r, row, 1), NULL, 10)) &&
		    !db_parse_uuid(db_value(r, row, 0), content))
			err = add_candidate(j, content);
	return err;
}

/* All values by one statement, which servers with partitions run at the same
 * time, each for its own values.  1: that will not do. */
static int ask_at_once(struct question_job *j)
{
	PGresult *r = NULL;
	int lost, err = send_postings(j);

	if (!err)
		err = db_result(j->db, &r);
	if (!err)
		err = take_postings(j, r);
	PQclear(r);
	if (err < 0 && !question_may_go_on(err))
		return err;
	lost = db_drain(j->db);
	return lost ? lost : err ? 1 : 0;
}

/* Else by one transaction, and when that fails, each value by itself. */
static int ask_values(struct question_job *j)
{
	int err = j->db->is_spread && j->value_count ? ask_at_once(j) : 1;

	if (err <= 0)
		return err;
	err = send_values(j, false);
	if (!err)
		err = read_values(j, false);
	if (!question_may_go_on(err))
		return err;
	err = send_values(j, true);
	return err ? err : read_values(j, true);
}

static int by_content(const void *a, const void *b)
{
	const struct question_candidate *x = a, *y = b;

	return memcmp(x->content, y->content, DB_UUID_BYTES);
}

static int by_values(const void *a, const void *b)
{
	const struct question_candidate *x = a, *y = b;

	if (x->values != y->values)
		return x->values < y->values ? 1 : -1;
	return by_content(a, b);
}

/* Counts equal ones and keeps the best.  The content itself is one. */
static int keep_best(struct question_job *j)
{
	struct question_candidate *c = j->candidates;
	size_t i, count = 0;

	if (j->candidate_count)
		qsort(c, j->candidate_count, sizeof(*c), by_content);
	for (i = 0; i < j->candidate_count; i++) {
		if (!memcmp(c[i].content, j->q->digests->xxh128, DB_UUID_BYTES))
			continue;
		if (count && !by_content(&c[count - 1], &c[i]))
			c[count - 1].values++;
		else
			c[count++] = c[i];
	}
	j->candidate_count = count;
	if (count)
		qsort(c, count, sizeof(*c), by_values);
	if (count >= QUESTION_CANDIDATES)
		j->candidate_count = QUESTION_CANDIDATES - 1;
	return add_candidate(j, j->q->digests->xxh128);
}

static int find_candidates(struct question_job *j)
{
	int err = 0;

	if (j->sketch)
		choose_values(j);
	err = ask_values(j);
	return err ? err : keep_best(j);
}

/* ---- all of it ---- */

static int parse_sketch(struct question_job *j)
{
	int err;

	j->other = malloc(sizeof(*j->other));
	j->sketch = malloc(sizeof(*j->sketch));
	j->weighed = malloc(sizeof(*j->weighed));
	if (!j->other || !j->sketch || !j->weighed)
		return -ENOMEM;
	err = digests_sketch(j->q->digests, j->sketch);
	if (err == -ENODATA || (!err && !j->sketch->count)) {
		free(j->sketch);
		j->sketch = NULL;
		err = 0;
	}
	return err;
}

static int by_score(const void *a, const void *b)
{
	const struct answer_hit *x = a, *y = b;

	if (x->score != y->score)
		return y->score - x->score;
	return memcmp(x->content, y->content, DB_UUID_BYTES);
}

/* Those without a copy, but that of the host that asks, are no hits. */
static void drop_empty_hits(struct share_answer *a)
{
	size_t i, count = 0;

	for (i = 0; i < a->count; i++) {
		if (a->hits[i].copy_count)
			a->hits[count++] = a->hits[i];
		else
			digests_release(&a->hits[i].digests);
	}
	a->count = count;
	if (count)
		qsort(a->hits, count, sizeof(*a->hits), by_score);
}

static int run_steps(struct question_job *j)
{
	int err = find_candidates(j);

	if (!err)
		err = question_score(j);
	if (!err && j->answer->count)
		err = question_find_copies(j);
	return err;
}

int question_ask(struct share_db *db, const struct question *q,
		 struct share_answer *out)
{
	struct question_job j = { .q = q, .db = db, .answer = out };
	int err;

	*out = (struct share_answer){ 0 };
	db_set_timeout(db, q->wait_ms);
	err = parse_sketch(&j);
	if (!err)
		err = run_steps(&j);
	free(j.sketch);
	free(j.other);
	free(j.weighed);
	free(j.candidates);
	if (err)
		answer_release(out);
	else
		drop_empty_hits(out);
	return err;
}
