/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/scale.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/engine/engine_impl.h"
#include "tests/bench/bench.h"

/* The times are CPU times, but those to the next mount. */
struct ask {
	const struct scale *s;
	struct engine *engine;
	struct catalog_txn *txn;
	struct sketch sketch;
	enum index_relation relation;
	double *candidates, *scores; /* us of each query */
	double found;
};

static size_t memory_kib(const char *key)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	size_t kib = 0, len = strlen(key);
	char line[256];

	if (!file)
		fail("/proc/self/smaps_rollup: %m");
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, key, len) && line[len] == ':')
			kib = strtoul(line + len + 1, NULL, 10);
	(void)fclose(file);
	return kib;
}

/* ---- opening ---- */

/* CPU time of all threads. */
static double process_seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Until the catalog is checked and the index loaded, as a mount does in the
 * background. */
static void load(struct engine *e)
{
	fail_errno("engine", engine_start_loading(e));
	while (!catalog_is_open(e->catalog))
		catalog_wait_open(e->catalog, 1000);
}

static void open_engine(struct ask *a)
{
	static struct buf source, catalog; /* used while it is open */
	struct engine_options options = {
		.digest_set = DIGEST_DEFAULT,
		.workers = 1,
		.threshold = 60,
		.limit = 256,
	};
	double start = scale_clock(), cpu = process_seconds();

	fail_errno("buf",
		   buf_append_format(&source, "%s/source", a->s->directory));
	fail_errno("buf",
		   buf_append_format(&catalog, "%s/catalog", a->s->directory));
	options.source = source.data;
	options.catalog_dir = catalog.data;
	options.source_fd = open(source.data, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (options.source_fd < 0)
		fail("%s: %m", source.data);
	fail_errno("engine", engine_open(&options, &a->engine));
	load(a->engine);
	scale_figure("open", "s", scale_clock() - start);
	scale_figure("open.cpu", "s", process_seconds() - cpu);
}

static void print_memory(const struct ask *a)
{
	scale_figure("memory.anonymous", "MiB",
		     (double)memory_kib("Anonymous") / 1024);
	scale_figure("memory.resident", "MiB",
		     (double)memory_kib("Rss") / 1024);
	scale_figure("memory.index", "MiB",
		     (double)index_bytes(a->engine->index) / (double)MIB);
}

/* ---- asking ---- */

static int fetch_sketch(void *arg, uint32_t content, struct sketch *out)
{
	return catalog_sketch_get(arg, content, out);
}

static void ask(struct ask *a, uint64_t number, uint64_t i)
{
	const struct index_store store = { .sketch = fetch_sketch,
					   .arg = a->txn };
	struct index_candidate candidates[INDEX_MATCHES];
	struct index_match matches[INDEX_MATCHES];
	struct index_query q = {
		.subject = subject_of_bytes(&a->sketch),
		.rules = { .relation = a->relation,
			   .threshold = 60,
			   .share_min = INDEX_SHARE_MIN },
		.self = (uint32_t)number + 1,
	};
	double start = 0, middle = 0;
	size_t count;
	int again;

	fail_errno("sketch", catalog_sketch_get(a->txn, q.self, &a->sketch));
	/* The second time counts, as the search does all of it once more. */
	for (again = 0; again < 2; again++) {
		start = cpu_seconds();
		fail_errno("index",
			   index_candidates(a->engine->index, &q,
					    a->relation == INDEX_SHARES,
					    candidates, INDEX_MATCHES, &count));
		middle = cpu_seconds();
	}
	fail_errno("index",
		   index_search(a->engine->index, &q, &store, matches, &count));
	a->candidates[i] = 1e6 * (middle - start);
	a->scores[i] = 1e6 * (cpu_seconds() - middle) - a->candidates[i];
	a->found += (double)count;
}

static void ask_all(struct ask *a, const char *name, enum scale_choice choice)
{
	char key[64];
	uint64_t i;

	a->found = 0;
	/* Once before, so that the catalog is in memory. */
	for (i = 0; i < 2 * a->s->queries; i++)
		ask(a, scale_question(a->s, choice, i % a->s->queries),
		    i % a->s->queries);
	(void)snprintf(key, sizeof(key), "%s.candidates", name);
	scale_figures(key, "us", a->candidates, a->s->queries);
	(void)snprintf(key, sizeof(key), "%s.scores", name);
	scale_figures(key, "us", a->scores, a->s->queries);
	(void)snprintf(key, sizeof(key), "%s.found", name);
	scale_figure(key, "a query", a->found / (double)a->s->queries / 2);
}

static void ask_index(struct ask *a)
{
	const struct scale *s = a->s;

	a->candidates = allocate(s->queries * sizeof(double));
	a->scores = allocate(s->queries * sizeof(double));
	fail_errno("catalog", catalog_read(a->engine->catalog, &a->txn));
	ask_all(a, "any", SCALE_ANY);
	ask_all(a, "crowd", SCALE_CROWD);
	a->relation = INDEX_SHARES;
	ask_all(a, "shares", SCALE_ANY);
	ask_all(a, "shares.crowd", SCALE_CROWD);
	catalog_abort(a->txn);
	free(a->candidates);
	free(a->scores);
}

void scale_ask(const struct scale *s)
{
	struct ask *a = calloc(1, sizeof(*a));

	if (!a)
		fail("no memory");
	a->s = s;
	open_engine(a);
	print_memory(a);
	if (s->queries)
		ask_index(a);
	engine_free(a->engine);
	free(a);
}
