/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/ask.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/json.h"
#include "core/client/question.h"
#include "core/index/judge.h"
#include "core/index/judge_rules.h"
#include "core/share/schema.h"

/*
 * The contents that resemble one, among those of all hosts of a shared catalog.
 *
 *  1. Which contents have values of its sketch: its anchors, and some below the
 *     limit.  A value of more than QUESTION_COMMON contents is boilerplate.
 *  2. The sketches of those with most values, and of the content itself; scored
 *     as in a mount (core/index/judge.h).
 *  3. Where those with a score of at least the threshold are.
 *
 * Each step is one statement.  One that fails is repeated with a statement for
 * each value or content: a server that is gone costs what it alone has, and the
 * answer says that it is not complete.
 */
enum {
	QUESTION_VALUES = 24,
	QUESTION_COMMON = 128,
	/* With more rows, one of the values is boilerplate. */
	QUESTION_POSTINGS = QUESTION_VALUES * QUESTION_COMMON,
	QUESTION_CANDIDATES = 200,
	QUESTION_COPIES = 1000,
	THRESHOLD = 60,
	LIMIT = 256,
};

struct question_candidate {
	uint8_t content[DB_UUID_BYTES];
	unsigned values; /* in common */
};

struct question_hit {
	struct verdict verdict;
	struct digests digests; /* owned; those that are shared */
	json_t *copies;         /* owned; an array, as ask.h has it */
};

struct question_job {
	struct ask *ask;
	struct question asked; /* owned */
	bool has_sketch;
	struct sketch sketch; /* of the question */
	struct weighed_subject weighed;
	struct sketch other; /* of a candidate */
	uint64_t values[QUESTION_VALUES];
	bool is_common[QUESTION_VALUES];
	size_t value_count;
	struct question_candidate *candidates; /* owned */
	size_t candidate_count;
	struct question_hit *hits; /* owned; best score first */
	size_t hit_count;
	json_t *hosts; /* owned; labels by ids */
	bool is_cut;   /* more than the limit, or than QUESTION_COPIES */
};

static void hit_release(struct question_hit *h)
{
	json_decref(h->copies);
	digests_release(&h->digests);
}

/* ---- a step ---- */

/* -E2BIG: these are not all rows. */
typedef int take_rows_fn(struct question_job *j, const PGresult *r);

static int run_one(struct question_job *j, const char *sql, const char *items,
		   take_rows_fn *take)
{
	PGresult *r = NULL;
	int err = db_run(j->ask->db, sql, 1, &items, &r);

	if (!err)
		err = take(j, r);
	PQclear(r);
	return err;
}

/* One statement for all items of an array, or when that will not do, a statement
 * for each.  The first reason why the answer is not complete is kept. */
static int run_step(struct question_job *j, const char *all, const char *one,
		    const struct buf *items, take_rows_fn *take)
{
	char item[DB_UUID_TEXT + 1];
	const char *p = items->data + 1;
	size_t len;
	int err = run_one(j, all, items->data, take);

	if (err != -EREMOTEIO && err != -E2BIG)
		return err;
	for (err = 0; *p && !err; p += len + 1) {
		len = strcspn(p, ",}");
		(void)snprintf(item, sizeof(item), "%.*s", (int)len, p);
		err = run_one(j, one, item, take);
		if (err != -EREMOTEIO && err != -E2BIG)
			continue;
		ask_note(j->ask, err);
		err = 0;
	}
	return err;
}

/* ---- candidates ---- */

static int add_candidate(struct question_job *j, const uint8_t *content,
			 unsigned values)
{
	struct question_candidate *all = array_with_room(
		j->candidates, j->candidate_count, sizeof(*all));

	if (!all)
		return -ENOMEM;
	j->candidates = all;
	all += j->candidate_count++;
	memcpy(all->content, content, DB_UUID_BYTES);
	all->values = values;
	return 0;
}

/* The place of a value; value_count: it was not asked for. */
static size_t find_value(const struct question_job *j, uint64_t value)
{
	size_t i;

	for (i = 0; i < j->value_count && j->values[i] != value; i++)
		;
	return i;
}

/* Values that very many contents have count little. */
static uint32_t contents_of(void *arg, uint64_t value)
{
	const struct question_job *j = arg;
	size_t i = find_value(j, value);

	return i < j->value_count && j->is_common[i] ? 2 * WEIGHT_COMMON : 1;
}

static int take_postings(struct question_job *j, const PGresult *r)
{
	unsigned counts[QUESTION_VALUES + 1] = { 0 };
	uint8_t content[DB_UUID_BYTES];
	int row, err = 0;
	size_t i;

	if (PQntuples(r) > QUESTION_POSTINGS)
		return -E2BIG;
	for (row = 0; row < PQntuples(r); row++) {
		i = find_value(j, strtoull(db_value(r, row, 1), NULL, 10));
		counts[i]++;
		if (i < j->value_count && counts[i] > QUESTION_COMMON)
			j->is_common[i] = true;
	}
	for (row = 0; row < PQntuples(r) && !err; row++) {
		i = find_value(j, strtoull(db_value(r, row, 1), NULL, 10));
		if (i < j->value_count && !j->is_common[i] &&
		    !db_parse_uuid(db_value(r, row, 0), content))
			err = add_candidate(j, content, 1);
	}
	return err;
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

static int find_candidates(struct question_job *j)
{
	struct buf items = { 0 };
	struct question_candidate *c;
	size_t i, count = 1;
	int err = 0;

	/* The anchors, and values of the share from the least on. */
	for (i = 0; j->has_sketch && i < j->sketch.count && !err; i++) {
		uint64_t value = j->sketch.values[i];

		if (i == QUESTION_VALUES ||
		    (i >= SHARE_ANCHORS &&
		     (int64_t)value >= j->ask->share_limit))
			break;
		j->values[j->value_count++] = value;
		err = db_array_add_number(&items, (int64_t)value);
	}
	if (!err && items.len)
		err = run_step(j, SQL_POSTINGS_OF_ALL, SQL_POSTINGS_OF_ONE,
			       &items, take_postings);
	buf_release(&items);
	/* The content itself is one, and the first. */
	if (!err)
		err = add_candidate(j, j->asked.digests.xxh128,
				    QUESTION_VALUES + 1);
	if (err)
		return err;
	c = j->candidates;
	qsort(c, j->candidate_count, sizeof(*c), by_content);
	for (i = 1; i < j->candidate_count; i++) {
		if (!by_content(&c[count - 1], &c[i]))
			c[count - 1].values += c[i].values;
		else
			c[count++] = c[i];
	}
	qsort(c, count, sizeof(*c), by_values);
	j->candidate_count =
		count < QUESTION_CANDIDATES ? count : QUESTION_CANDIDATES;
	return 0;
}

/* ---- contents ---- */

/* Whether it is alike. */
static bool judge(struct question_job *j, const struct digests *d,
		  struct verdict *out)
{
	const struct weigher w = { .contents = contents_of, .arg = j };
	const struct subject other = subject_of_bytes(&j->other);

	if (!memcmp(d->xxh128, j->asked.digests.xxh128, DB_UUID_BYTES) &&
	    d->size == j->asked.digests.size) {
		*out = verdict_of_copies(d->size);
		return true;
	}
	if (!(d->set & DIGEST_BIT(DIGEST_SIF)) || !j->has_sketch)
		return false;
	judge_subjects(&w, &j->weighed, &other, &j->asked.rules, out);
	return judge_lists(&j->asked.rules, out);
}

/* Digests of a row, and its sketch in j->other if it is one that can be
 * compared. */
static int take_digests(struct question_job *j, const PGresult *r, int row,
			struct digests *d)
{
	uint8_t bytes[SKETCH_PACKED_MAX];
	ssize_t len;

	d->size = strtoull(db_value(r, row, 1), NULL, 10);
	d->set = DIGEST_BIT(DIGEST_XXH128);
	if (!PQgetisnull(r, row, 2)) {
		store_be64(d->simhash,
			   (uint64_t)strtoll(db_value(r, row, 2), NULL, 10));
		d->set |= DIGEST_BIT(DIGEST_SIMHASH);
	}
	if (!PQgetisnull(r, row, 3) &&
	    db_parse_bytes(db_value(r, row, 3), d->traits, 16) == 16)
		d->set |= DIGEST_BIT(DIGEST_RDC);
	if (PQgetisnull(r, row, 4))
		return 0;
	len = db_parse_bytes(db_value(r, row, 4), bytes, sizeof(bytes));
	if (len < 0 || sketch_unpack(bytes, (size_t)len, &j->other))
		return 0;
	return digest_put(d, DIGEST_SIF,
			  (struct digest_value){ bytes, (size_t)len });
}

static int take_contents(struct question_job *j, const PGresult *r)
{
	struct question_hit *all;
	struct verdict verdict;
	int row, err = 0;

	for (row = 0; row < PQntuples(r) && !err; row++) {
		struct digests d = { 0 };

		if (db_parse_uuid(db_value(r, row, 0), d.xxh128))
			continue;
		err = take_digests(j, r, row, &d);
		if (err || !judge(j, &d, &verdict)) {
			digests_release(&d);
			continue;
		}
		all = array_with_room(j->hits, j->hit_count, sizeof(*all));
		if (!all) {
			digests_release(&d);
			return -ENOMEM;
		}
		j->hits = all;
		all += j->hit_count++;
		*all = (struct question_hit){ .verdict = verdict,
					      .digests = d,
					      .copies = json_array() };
	}
	return err;
}

static int by_score(const void *a, const void *b)
{
	const struct question_hit *x = a, *y = b;

	if (x->verdict.score != y->verdict.score)
		return y->verdict.score - x->verdict.score;
	return memcmp(x->digests.xxh128, y->digests.xxh128, DB_UUID_BYTES);
}

static int find_hits(struct question_job *j)
{
	const struct subject own = subject_of_bytes(&j->sketch);
	const struct weigher w = { .contents = contents_of, .arg = j };
	struct buf items = { 0 };
	int err = 0;
	size_t i;

	if (j->has_sketch)
		weigh_subject(&w, &own, &j->weighed);
	for (i = 0; i < j->candidate_count && !err; i++)
		err = db_array_add_uuid(&items, j->candidates[i].content);
	if (!err)
		err = run_step(j, SQL_CONTENTS_OF_ALL, SQL_CONTENTS_OF_ONE,
			       &items, take_contents);
	buf_release(&items);
	if (j->hit_count)
		qsort(j->hits, j->hit_count, sizeof(*j->hits), by_score);
	for (; j->hit_count > j->asked.limit; j->is_cut = true)
		hit_release(&j->hits[--j->hit_count]);
	return err;
}

/* ---- copies ---- */

/* Without a label the host is gone. */
static int add_copy(struct question_job *j, struct question_hit *hit,
		    const PGresult *r, int row, const char *id)
{
	json_t *label = json_object_get(j->hosts, id), *copy;
	char *path;
	int err = 0;

	copy = json_pack("{s:o, s:s}", "host",
			 label ? json_incref(label) : json_string(id), "id",
			 id);
	if (copy && !PQgetisnull(r, row, 2)) {
		path = db_parse_string(db_value(r, row, 2));
		err = path ? json_set_path(copy, "path", path) : -ENOMEM;
		free(path);
		if (!err && json_object_set_new(
				    copy, "mtime",
				    json_integer(strtoll(db_value(r, row, 3),
							 NULL, 10))))
			err = -ENOMEM;
	}
	if (err) {
		json_decref(copy);
		return err;
	}
	return json_array_append_new(hit->copies, copy) ? -ENOMEM : 0;
}

static int take_copies(struct question_job *j, const PGresult *r)
{
	uint8_t content[DB_UUID_BYTES], host[DB_UUID_BYTES];
	char id[DB_UUID_TEXT + 1];
	int row, err = 0;
	size_t i;

	if (PQntuples(r) > QUESTION_COPIES)
		j->is_cut = true;
	for (row = 0; row < PQntuples(r) && !err; row++) {
		if (db_parse_uuid(db_value(r, row, 0), content) ||
		    db_parse_uuid(db_value(r, row, 1), host))
			continue;
		db_format_uuid(host, id);
		if (j->ask->but && !strcmp(id, j->ask->but))
			continue;
		for (i = 0; i < j->hit_count; i++)
			if (!memcmp(j->hits[i].digests.xxh128, content,
				    DB_UUID_BYTES))
				break;
		if (i < j->hit_count)
			err = add_copy(j, &j->hits[i], r, row, id);
	}
	return err;
}

static int find_copies(struct question_job *j)
{
	struct buf items = { 0 };
	PGresult *r = NULL;
	size_t i;
	int err = db_run(j->ask->db, SQL_ALL_HOSTS, 0, NULL, &r);

	if (!err)
		err = db_take_labels(r, j->hosts);
	PQclear(r);
	for (i = 0; i < j->hit_count && !err; i++)
		err = db_array_add_uuid(&items, j->hits[i].digests.xxh128);
	if (!err)
		err = run_step(j, SQL_COPIES_OF_ALL, SQL_COPIES_OF_ONE, &items,
			       take_copies);
	buf_release(&items);
	return err;
}

/* ---- all of it ---- */

static int find(struct question_job *j)
{
	int err = digests_sketch(&j->asked.digests, &j->sketch);

	if (err && err != -ENODATA)
		return -EINVAL;
	if (!err)
		share_cut_sketch(&j->sketch);
	j->has_sketch = !err && j->sketch.count;
	j->hosts = json_object();
	db_set_timeout(j->ask->db, j->ask->wait_ms);
	err = j->hosts ? find_candidates(j) : -ENOMEM;
	if (!err)
		err = find_hits(j);
	return !err && j->hit_count ? find_copies(j) : err;
}

/* Contents without a copy but that of the host that asks are no hits. */
static int print_hit(const struct question_hit *h, struct buf *out)
{
	json_t *line;

	if (!json_array_size(h->copies))
		return 0;
	line = verdict_to_json(&h->verdict);
	if (json_object_update_new(
		    line, json_pack("{s:I, s:o, s:O}", "size",
				    (json_int_t)h->digests.size, "digests",
				    digests_to_json(&h->digests, UINT32_MAX),
				    "copies", h->copies))) {
		json_decref(line);
		return -ENOMEM;
	}
	return json_append_line(out, line);
}

/* ---- requests ---- */

int ask_end(struct buf *out, const char *reason)
{
	return json_append_line(out, json_pack("{s:b, s:b, s:o}", "end", 1,
					       "complete", !*reason, "reason",
					       json_text(reason)));
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

static int take_request(struct question_job *j, json_t *request)
{
	struct question *q = &j->asked;
	int err = question_parse(request, q);

	if (err)
		return err;
	if (q->kind != QUESTION_FILES || !index_is_alike(q->rules.relation) ||
	    !(q->digests.set & DIGEST_BIT(DIGEST_XXH128)))
		return -EINVAL;
	q->rules.threshold =
		q->rules.threshold ? q->rules.threshold : THRESHOLD;
	q->limit = q->limit ? q->limit : LIMIT;
	return 0;
}

static int answer_similar(struct ask *a, json_t *request, struct buf *out)
{
	struct question_job *j = calloc(1, sizeof(*j));
	size_t i;
	int err;

	if (!j)
		return -ENOMEM;
	j->ask = a;
	err = take_request(j, request);
	if (!err)
		err = connect_now(a);
	if (!err)
		err = find(j);
	for (i = 0; i < j->hit_count; i++) {
		if (!err)
			err = print_hit(&j->hits[i], out);
		hit_release(&j->hits[i]);
	}
	if (!err && j->is_cut && !*a->reason)
		(void)snprintf(a->reason, sizeof(a->reason), "cut");
	question_release(&j->asked);
	json_decref(j->hosts);
	free(j->hits);
	free(j->candidates);
	free(j);
	return err;
}

void ask_note(struct ask *a, int err)
{
	if (!*a->reason)
		(void)snprintf(
			a->reason, sizeof(a->reason), "%s",
			err == -ENOMEM ? "not enough memory" :
			err == -EINVAL ? "the request is not understood" :
					 a->db->message);
}

static int answer_groups(struct ask *a, const json_t *request, struct buf *out)
{
	const json_t *least = json_object_get(request, "min_size");
	int err = connect_now(a);

	return err ? err :
		     ask_groups(a, (uint64_t)json_integer_value(least), out);
}

int ask_answer(struct ask *a, json_t *request, struct buf *out)
{
	int err;

	*a->reason = '\0';
	if (question_is_for(request, "groups"))
		err = answer_groups(a, request, out);
	else
		err = answer_similar(a, request, out);
	if (err)
		ask_note(a, err);
	if (err && err != -EINVAL)
		db_close(a->db);
	return ask_end(out, a->reason);
}
