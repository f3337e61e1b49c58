/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/hex.h"
#include "core/client/question.h"
#include "core/index/index.h"
#include "core/share/session.h"
#include "core/share/ask.h"
#include "core/share/schema.h"

/*
 * share DB CONTENTS [QUESTIONS [fill|ask|time]]: fills an empty shared catalog
 * (kin-share init) with made-up contents of 100 hosts by the code of kin-share,
 * and asks it: at 10^5 contents, at each power of ten
 * above, and in the end.  ask: only asks the catalog that such a run has left;
 * time: and only takes the time.
 *
 * Contents come in families of FAMILY versions of one thing: of each, the others
 * have a share of the windows that is drawn from 0.43 to 0.95 by Jaccard.  Recall
 * is that of pairs which an index in memory finds, too; that is made for at most
 * RECALL_MAX contents.
 */
enum { HOSTS = 100, FAMILY = 4, WINDOWS = 20000, THRESHOLD = 60 };
/* The sample that a sketch has of so many windows: of what level, and how many. */
enum { LEVEL = 7, VALUES = WINDOWS >> LEVEL };
enum { FIRST_STAGE = 100000, RECALL_MAX = 1000000 };

struct made {
	struct digests digests; /* without the sketch */
	struct sketch sketch;
};

struct share_bench {
	struct share_db db;
	uint64_t contents, questions;
	uint64_t count; /* of contents that are there */
	bool only_time; /* no recall */
	struct index *index;
	struct share_identity hosts[HOSTS];
};

static void fail(const struct share_bench *b, const char *what, int err)
{
	fprintf(stderr, "share: %s: %s (%d)\n", what, b->db.message, err);
	exit(EXIT_FAILURE);
}

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static double uniform(uint64_t *state)
{
	return (double)(next(state) >> 11) / 9007199254740992.0;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* In at most as many bits as a sketch keeps. */
static uint64_t value(uint64_t *state)
{
	const unsigned dropped = SKETCH_KEY_BITS - LEVEL - SKETCH_VALUE_BITS;

	return next(state) >> (64 - SKETCH_VALUE_BITS) << dropped;
}

/* The nth content: its family's values, some of them replaced. */
static void make(uint64_t n, struct made *out)
{
	uint64_t family = n / FAMILY * 7919 + 1, own = n * 104729 + 3;
	double jaccard = 0.43 + 0.52 * uniform(&own);
	double keep = n % FAMILY ? 2 * jaccard / (1 + jaccard) : 1;
	struct sketch *s = &out->sketch;
	size_t i;

	*out = (struct made){ .digests = { .size = WINDOWS + 15 } };
	for (i = 0; i < VALUES; i++) {
		uint64_t shared = value(&family);

		s->values[i] = uniform(&own) < keep ? shared : value(&own);
		s->times[i] = 1;
	}
	qsort(s->values, VALUES, sizeof(*s->values), by_number);
	s->level = LEVEL;
	s->windows = WINDOWS;
	s->folded = out->digests.size;
	for (i = 0; i < VALUES; i++)
		if (!s->count || s->values[i] != s->values[s->count - 1])
			s->values[s->count++] = s->values[i];
	out->digests.set = DIGEST_BIT(DIGEST_XXH128) |
			   DIGEST_BIT(DIGEST_SIMHASH) | DIGEST_BIT(DIGEST_RDC);
	for (i = 0; i < 2; i++) {
		uint64_t half = next(&own);

		memcpy(out->digests.xxh128 + 8 * i, &half, 8);
	}
	store_be64(out->digests.simhash, next(&own));
	memset(out->digests.traits, (int)(own % 64), 16);
}

/* ---- filling ---- */

static void make_host(struct share_bench *b, unsigned i)
{
	struct share_identity *h = &b->hosts[i];
	char id[DB_UUID_TEXT + 1];
	const char *values[] = { id };
	int err;

	memset(h->host, (int)i + 1, sizeof(h->host));
	h->epoch = 1;
	h->token = h->next_token = 1;
	db_format_uuid(h->host, id);
	err = db_run(&b->db,
		     "INSERT INTO kin_host (host, label, epoch, token) VALUES "
		     "($1::uuid, 'host', 1, 1)",
		     1, values, NULL);
	if (err)
		fail(b, "a host", err);
}

static void add(struct share_bench *b, struct share_batch *batch, uint64_t n,
		const uint8_t *xxh128, struct made *m)
{
	struct share_publication p = { .file = { .inode = n } };
	char *path = NULL;

	memcpy(p.content, xxh128, sizeof(p.content));
	if (asprintf(&path,
		     "/home/ada/documents/project-%" PRIu64
		     "/reports/version-%" PRIu64 ".txt",
		     n % 1000, n) < 0 ||
	    batch_add_copy(batch, &p, path, (int64_t)n * 1000000000) ||
	    batch_add_content(batch, &m->digests, &m->sketch,
			      SHARE_LIMIT_DEFAULT))
		fail(b, "memory", -ENOMEM);
	free(path);
}

static void send(struct share_bench *b, struct share_batch *batch)
{
	struct share_identity *host =
		&b->hosts[b->count / SHARE_BATCH_CONTENTS % HOSTS];
	int err = batch_send(batch, &b->db, host);

	if (err)
		fail(b, "a batch", err);
	batch_clear(batch);
}

/* Up to that many contents. */
static void fill(struct share_bench *b, uint64_t end)
{
	struct share_batch batch = { 0 };
	struct made *m = malloc(sizeof(*m));
	int64_t began = clock_now_ms();
	uint64_t first = b->count;

	if (!m)
		fail(b, "memory", -ENOMEM);
	while (b->count < end) {
		make(b->count, m);
		add(b, &batch, b->count, m->digests.xxh128, m);
		b->count++;
		if (batch_is_full(&batch) || b->count == end)
			send(b, &batch);
	}
	printf("%-12s%.0f contents/s from %" PRIu64 " to %" PRIu64 "\n", "fill",
	       1000.0 * (double)(end - first) /
		       (double)(clock_now_ms() - began + 1),
	       first, end);
	free(m);
}

static void make_index(struct share_bench *b)
{
	struct made *m = malloc(sizeof(*m));
	uint64_t n;

	index_free(b->index);
	b->index = NULL;
	if (b->count > RECALL_MAX || b->only_time) {
		free(m);
		return;
	}
	if (!m || index_new(&b->index) || index_load_begin(b->index))
		fail(b, "memory", -ENOMEM);
	for (n = 0; n < b->count; n++) {
		make(n, m);
		if (index_add(b->index, (uint32_t)n + 1, &m->sketch))
			fail(b, "memory", -ENOMEM);
	}
	if (index_load_end(b->index))
		fail(b, "memory", -ENOMEM);
	free(m);
}

static void print_sizes(struct share_bench *b)
{
	PGresult *r = NULL;
	int i, err = db_run(&b->db,
			    "SELECT c, sum(pg_total_relation_size(c)) FROM "
			    "unnest(ARRAY['kin_posting', 'kin_content', "
			    "'kin_copy']) AS c GROUP BY c ORDER BY c",
			    0, NULL, &r);

	if (err)
		fail(b, "sizes", err);
	for (i = 0; i < PQntuples(r); i++)
		printf("%-12s%.0f bytes a content\n", PQgetvalue(r, i, 0),
		       strtod(PQgetvalue(r, i, 1), NULL) / (double)b->count);
	PQclear(r);
}

/* ---- asking ---- */

struct recall {
	uint64_t local, shared; /* pairs that the index finds; both find */
	uint64_t incomplete;    /* answers */
	uint64_t hits;
};

static int fetch_sketch(void *arg, uint32_t content, struct sketch *out)
{
	struct made *m = arg;

	make(content - 1, m);
	*out = m->sketch;
	return 0;
}

/* Whether one of the answer's lines is of that content. */
static bool has(const json_t *lines, uint32_t content)
{
	struct made *m = malloc(sizeof(*m));
	char hex[2 * DB_UUID_BYTES + 1];
	const json_t *line, *text;
	bool found = false;
	size_t i;

	if (!m)
		return false;
	make(content - 1, m);
	hex_encode(m->digests.xxh128, DB_UUID_BYTES, hex);
	json_array_foreach(lines, i, line) {
		text = json_object_get(json_object_get(line, "digests"),
				       "xxh128");
		found |= text && !strcmp(json_string_value(text), hex);
	}
	free(m);
	return found;
}

static void count_recall(struct share_bench *b, uint64_t n,
			 const struct made *m, const json_t *lines,
			 struct recall *out)
{
	static struct index_match matches[INDEX_MATCHES];
	static struct made room;
	const struct index_store store = { .sketch = fetch_sketch,
					   .arg = &room };
	const struct index_query q = { .subject = subject_of_bytes(&m->sketch),
				       .rules = { .threshold = THRESHOLD },
				       .self = (uint32_t)n + 1 };
	size_t count, i;

	if (index_search(b->index, &q, &store, matches, &count))
		fail(b, "memory", -ENOMEM);
	for (i = 0; i < count; i++) {
		out->local++;
		out->shared += has(lines, matches[i].content);
	}
}

static json_t *make_request(const struct made *m)
{
	const struct question question = {
		.digests = m->digests,
		.rules = { .relation = INDEX_ALIKE, .threshold = THRESHOLD },
		.limit = 256,
	};

	return question_make(&question);
}

/* The lines of an answer; the last one tells whether it is complete. */
static json_t *read_lines(const char *text)
{
	json_t *lines = json_array();

	for (; *text; text = strchr(text, '\n') + 1)
		(void)json_array_append_new(
			lines, json_loads(text, JSON_DISABLE_EOF_CHECK, NULL));
	return lines;
}

static double ask_one(struct share_bench *b, uint64_t n, struct recall *recall)
{
	static struct made m;
	struct ask ask = { .db = &b->db,
			   .wait_ms = 10000,
			   .is_checked = true,
			   .share_limit = SHARE_LIMIT_DEFAULT };
	uint8_t bytes[SKETCH_PACKED_MAX];
	struct digest_value packed = { bytes, 0 };
	json_t *request, *lines;
	struct buf out = { 0 };
	const char *reason;
	size_t count;
	int64_t began;
	double ms;

	make(n, &m);
	packed.len = sketch_pack(&m.sketch, bytes);
	if (digest_put(&m.digests, DIGEST_SIF, packed))
		fail(b, "memory", -ENOMEM);
	request = make_request(&m);
	began = clock_now_ns();
	if (ask_answer(&ask, request, &out) || !b->db.conn)
		fail(b, "a question", -EREMOTEIO);
	ms = (double)(clock_now_ns() - began) / 1e6;
	lines = read_lines(out.data);
	count = json_array_size(lines) - 1;
	reason = json_string_value(
		json_object_get(json_array_get(lines, count), "reason"));
	recall->incomplete += *reason && strcmp(reason, "cut") != 0;
	recall->hits += count;
	if (b->index)
		count_recall(b, n, &m, lines, recall);
	json_decref(request);
	json_decref(lines);
	buf_release(&out);
	digests_release(&m.digests);
	return ms;
}

static int by_time(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void ask(struct share_bench *b, const char *name)
{
	double *times = calloc(b->questions, sizeof(*times));
	struct recall recall = { 0 };
	uint64_t i, state = 42;

	if (!times)
		fail(b, "memory", -ENOMEM);
	for (i = 0; i < b->questions; i++)
		times[i] = ask_one(b, next(&state) % b->count, &recall);
	qsort(times, b->questions, sizeof(*times), by_time);
	printf("%-12sp50 %.2f ms, p99 %.2f ms, %" PRIu64 " hits of %" PRIu64
	       " questions, %" PRIu64 " not complete",
	       name, times[b->questions / 2], times[b->questions * 99 / 100],
	       recall.hits, b->questions, recall.incomplete);
	if (recall.local)
		printf(", recall %.3f %% of %" PRIu64 " pairs",
		       100.0 * (double)recall.shared / (double)recall.local,
		       recall.local);
	printf("\n");
	free(times);
}

static void ask_all(struct share_bench *b)
{
	make_index(b);
	ask(b, "first");
	ask(b, "question");
	ask(b, "again");
	(void)fflush(stdout);
}

/* ---- all of it ---- */

static void fill_and_ask(struct share_bench *b)
{
	uint64_t stage = FIRST_STAGE;
	unsigned i;

	for (i = 0; i < HOSTS; i++)
		make_host(b, i);
	while (b->count < b->contents) {
		fill(b, stage < b->contents ? stage : b->contents);
		stage *= 10;
		print_sizes(b);
		db_set_timeout(&b->db, 3600000);
		(void)db_run(&b->db, "ANALYZE", 0, NULL, NULL);
		ask_all(b);
	}
}

int main(int argc, char **argv)
{
	struct share_bench *b;
	const char *how = argc > 4 ? argv[4] : "fill";
	int64_t limit;
	int err;

	if (argc < 3) {
		fprintf(stderr, "usage: share DB CONTENTS [QUESTIONS "
				"[fill|ask|time]]\n");
		return 2;
	}
	b = calloc(1, sizeof(*b));
	if (!b)
		return 2;
	b->contents = strtoull(argv[2], NULL, 10);
	b->questions = argc > 3 ? strtoull(argv[3], NULL, 10) : 2000;
	b->only_time = !strcmp(how, "time");
	err = db_open(&b->db, argv[1], 10000);
	if (!err)
		err = schema_check(&b->db, &limit);
	if (err)
		fail(b, "the database", err);
	if (strcmp(how, "ask") != 0 && !b->only_time) {
		fill_and_ask(b);
	} else {
		b->count = b->contents;
		ask_all(b);
	}
	index_free(b->index);
	db_close(&b->db);
	free(b);
	return 0;
}
