/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/query_text.h"

#include <errno.h>

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
		assert_int_equal(index_add(ix, i, &d, &sketches[i]), 0);
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

static void ask_columns(struct index *ix, const struct index_query *query)
{
	static struct index_candidate found[INDEX_MATCHES];
	enum index_source source;
	size_t count;

	for (source = INDEX_BY_SKETCH; source <= INDEX_BY_TRAITS; source++) {
		assert_int_equal(index_candidates(ix, query, source, found,
						  INDEX_MATCHES, &count),
				 0);
		assert_in_range(count, 0, CONTENTS);
	}
}

static void search(const struct query_text *q)
{
	static struct index *ix;
	static struct sketch sketch;
	struct index_query query = { .digests = &q->digests,
				     .rules = { .relation = q->relation,
						.threshold = 1 },
				     .first_content = 1 };

	if (!ix)
		ix = make_index();
	if (!digests_sketch(&q->digests, &sketch))
		query.sketch = &sketch;
	ask(ix, &query);
	ask_columns(ix, &query);
}

/* ---- the text ---- */

static void append_digest(const struct digests *d, enum digest_id id,
			  struct buf *out)
{
	if (!(d->set & DIGEST_BIT(id)))
		return;
	assert_int_equal(buf_append_format(out, "%s=", digest_table[id]->name),
			 0);
	assert_int_equal(digest_format(d, id, out), 0);
	assert_int_equal(buf_append_text(out, "\n"), 0);
}

static void print(const struct query_text *q, struct buf *out)
{
	enum digest_id id;

	assert_int_equal(buf_append_format(out, "relation=%s\nsize=%llu\n",
					   index_relation_names[q->relation],
					   (unsigned long long)q->digests.size),
			 0);
	for (id = 0; id < DIGEST_COUNT; id++)
		append_digest(&q->digests, id, out);
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
	assert_true(q.digests.set);
	assert_int_equal(q.digests.set & ~DIGEST_DEFAULT, 0);
	parse_again(&q);
	search(&q);
	query_text_release(&q);
	return 0;
}
