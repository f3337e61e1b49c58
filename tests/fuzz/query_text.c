/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/query_text.h"

#include <errno.h>
#include <jansson.h>

#include "core/base/json.h"
#include "core/digest/fingerprint.h"
#include "core/digest/sketch/sketch.h"
#include "tests/fuzz/fuzz.h"

/*
 * What anybody may write to .query is parsed, and what was parsed is asked of
 * an index.  Its contents are pieces of one text, each longer than the one
 * before, and so are the questions of the corpus.
 */
#define CONTENTS 12
#define CONTENT_BYTES 700

static struct sketch sketches[CONTENTS + 1];

static void digest_piece(size_t number, struct digests *out)
{
	struct fingerprint *fp;
	struct bytes text = recipe_random(1, number * CONTENT_BYTES);

	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(fingerprint_update(fp, text.data, text.len), 0);
	assert_int_equal(fingerprint_final(fp, out), 0);
	fingerprint_free(fp);
	free(text.data);
}

static struct index *make_index(void)
{
	struct index *ix;
	struct digests d;
	uint32_t i;

	assert_int_equal(index_new(&ix), 0);
	for (i = 1; i <= CONTENTS; i++) {
		digest_piece(i, &d);
		assert_int_equal(digests_sketch(&d, &sketches[i]), 0);
		assert_int_equal(index_add(ix, i, &sketches[i]), 0);
		digests_release(&d);
	}
	return ix;
}

static int fetch_sketch(void *arg, uint32_t content, struct sketch *out)
{
	(void)arg;
	assert_in_range(content, 1, CONTENTS);
	*out = sketches[content];
	return 0;
}

static void ask(struct index *ix, const struct index_query *query)
{
	const struct index_store store = { .sketch = fetch_sketch,
					   .arg = NULL };
	static struct index_match matches[INDEX_MATCHES];
	size_t count = 0, i;

	assert_int_equal(index_search(ix, query, &store, matches, &count), 0);
	assert_in_range(count, 0, CONTENTS);
	for (i = 0; i < count; i++) {
		assert_in_range(matches[i].content, 1, CONTENTS);
		assert_in_range(matches[i].verdict.score,
				query->rules.threshold, 99);
		assert_in_range(matches[i].verdict.distinctive, 0, 99);
		assert_true(i == 0 || index_match_order(&matches[i - 1],
							&matches[i]) < 0);
	}
}

static void search(const struct query_text *q)
{
	static struct index *ix;
	static struct sketch sketch;
	struct index_query query = {
		.rules = { .relation = q->question.rules.relation,
			   .threshold = 1 }
	};

	if (!ix)
		ix = make_index();
	if (!digests_sketch(&q->question.digests, &sketch))
		query.subject = subject_of_bytes(&sketch);
	ask(ix, &query);
}

/* ---- the text ---- */

static void print_content(const struct query_text *q, json_t *query)
{
	json_t *digests = json_object();
	struct buf text = { 0 };
	int id;

	for (id = 0; id < DIGEST_COUNT; id++) {
		if (!(q->question.digests.set & DIGEST_BIT(id)))
			continue;
		buf_clear(&text);
		assert_int_equal(digest_format(&q->question.digests,
					       (enum digest_id)id, &text),
				 0);
		json_object_set_new(digests, digest_table[id]->name,
				    json_string(text.data));
	}
	buf_release(&text);
	json_object_set_new(
		query, "relation",
		json_string(index_relation_names[q->question.rules.relation]));
	if (q->question.rules.threshold)
		json_object_set_new(query, "threshold",
				    json_integer(q->question.rules.threshold));
	json_object_set_new(
		query, "share_min",
		json_integer((json_int_t)q->question.rules.share_min));
	json_object_set_new(query, "limit",
			    json_integer((json_int_t)q->question.limit));
	json_object_set_new(query, "ignore", json_boolean(q->question.ignore));
	json_object_set_new(query, "size",
			    json_integer((json_int_t)q->question.digests.size));
	json_object_set_new(query, "digests", digests);
}

static void print_groups(const struct file_groups_query *g, json_t *query)
{
	json_t *within = json_array();
	size_t i;

	for (i = 0; i < g->within.count; i++) {
		json_t *item = json_object();

		assert_int_equal(
			json_set_path(item, "path", g->within.paths[i]), 0);
		json_array_append_new(within, item);
	}
	json_object_set_new(query, "relation", json_string("groups"));
	json_object_set_new(query, "exact", json_boolean(g->rules.exact));
	json_object_set_new(query, "every", json_boolean(g->rules.every));
	json_object_set_new(query, "min_size",
			    json_integer((json_int_t)g->min_size));
	json_object_set_new(query, "within", within);
	if (g->rules.threshold)
		json_object_set_new(query, "threshold",
				    json_integer(g->rules.threshold));
}

static void print(const struct query_text *q, struct buf *out)
{
	json_t *query = json_object();

	if (q->kind != QUERY_QUESTION)
		print_groups(&q->groups, query);
	else
		print_content(q, query);
	assert_int_equal(json_append_line(out, query), 0);
}

static void parse_again(const struct query_text *q)
{
	struct buf first = { 0 }, second = { 0 };
	struct query_text again;

	print(q, &first);
	assert_int_equal(query_text_parse(first.data, first.len, &again), 0);
	print(&again, &second);
	assert_string_equal(first.data, second.data);
	query_text_release(&again);
	buf_release(&first);
	buf_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct query_text q;
	int err = query_text_parse((const char *)data, len, &q);

	assert_true(err == 0 || err == -EINVAL);
	if (err)
		return 0;
	if (q.kind != QUERY_CHANGES)
		parse_again(&q);
	if (q.kind != QUERY_QUESTION) {
		assert_in_range(q.groups.rules.threshold, 0, 100);
	} else {
		assert_true(q.question.digests.set);
		assert_int_equal(q.question.digests.set & ~DIGEST_DEFAULT, 0);
		search(&q);
	}
	query_text_release(&q);
	return 0;
}
