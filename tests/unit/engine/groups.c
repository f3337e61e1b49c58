/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"

/* How a search for the groups of a tree ends, and what it waits for. */

enum { LEN = 20000 };

struct tree {
	struct fixture f;
};

static void write_variant(struct fixture *f, const char *path, uint64_t family,
			  size_t edited, uint64_t seed)
{
	static char text[LEN];

	make_text(text, LEN, family);
	if (edited)
		make_text(text + seed % 7 * 1000, edited, seed + 1000);
	write_file(f, path, text, LEN);
}

/* a family of three contents, one of them twice; a pair of copies; others. */
static int set_up(void **state)
{
	static const char *const directories[] = { "docs", "old" };
	struct tree *t = calloc(1, sizeof(*t));
	char path[128];
	size_t i;

	assert_non_null(t);
	fixture_make(&t->f);
	for (i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", t->f.source,
			       directories[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	write_variant(&t->f, "docs/a", 1, 0, 0);
	write_variant(&t->f, "old/a", 1, 0, 0);
	write_variant(&t->f, "docs/b", 1, 600, 2);
	write_variant(&t->f, "old/c", 1, 900, 3);
	write_variant(&t->f, "docs/copy", 5, 0, 0);
	write_variant(&t->f, "docs/copy2", 5, 0, 0);
	for (i = 0; i < 5; i++) {
		(void)snprintf(path, sizeof(path), "old/other%zu", i);
		write_variant(&t->f, path, 10 + i, 0, 0);
	}
	fixture_open(&t->f);
	wait_idle(&t->f);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct tree *t = *state;

	fixture_remove(&t->f);
	free(t);
	return 0;
}

/* ---- searching ---- */

struct groups_outcome {
	struct file_groups_query query;
	struct file_groups *groups;
	atomic_bool cancelled;
	atomic_uint progress; /* calls */
	/* "0:100:docs/a 0:..." of all files, sorted, and where to go on */
	char text[4096];
	size_t files;
	struct search_group_range range;
};

static void on_progress(void *arg, unsigned thousandths)
{
	struct groups_outcome *g = arg;

	assert_in_range(thousandths, 0, 1000);
	atomic_fetch_add(&g->progress, 1);
}

static void outcome_init(struct groups_outcome *g,
			 const struct file_groups_query *query)
{
	*g = (struct groups_outcome){ .query = *query };
	g->query.cancelled = &g->cancelled;
	g->query.progress = on_progress;
	g->query.arg = g;
}

static int ask_groups(void *arg, struct search_job *job)
{
	struct groups_outcome *g = arg;

	return search_groups(job, &g->query, &g->groups);
}

static int find_groups(struct fixture *f, const struct file_groups_query *q,
		       struct groups_outcome *g)
{
	static const struct search_caller caller = { .trusted = true };

	outcome_init(g, q);
	return query(f, &caller, ask_groups, g);
}

static int ask_files(void *arg, struct search_job *job)
{
	struct groups_outcome *g = arg;
	struct search_hits hits;
	size_t i, len = strlen(g->text);
	int err = search_group_files(job, g->groups, &g->range, &hits);

	if (err)
		return err;
	for (i = 0; i < hits.count; i++)
		len += (size_t)snprintf(
			g->text + len, sizeof(g->text) - len, "%u:%s%s ",
			hits.hits[i].group,
			hits.hits[i].verdict.score == 100 ? "head:" : "",
			hits.hits[i].path);
	g->files += hits.count;
	search_hits_release(&hits);
	return 0;
}

static void list_files(struct fixture *f, struct groups_outcome *g,
		       struct search_group_range range)
{
	static const struct search_caller caller = { .trusted = true };

	g->range = range;
	g->files = 0;
	g->text[0] = '\0';
	while (!g->range.end)
		assert_int_equal(query(f, &caller, ask_files, g), 0);
}

static const struct search_group_range all = { .last = UINT32_MAX };

static bool has(const struct groups_outcome *g, const char *word)
{
	return strstr(g->text, word);
}

/* ---- tests ---- */

static void check_all(struct fixture *f)
{
	const struct file_groups_query query = { 0 };
	struct groups_outcome g;

	assert_int_equal(find_groups(f, &query, &g), 0);
	assert_int_equal(g.groups->set->count, 2);
	assert_int_equal(g.groups->set->rules.threshold, 60);
	assert_false(g.groups->incomplete);
	list_files(f, &g, all);
	assert_int_equal(g.files, 6);
	assert_true(has(&g, "docs/a ") && has(&g, "old/a ") &&
		    has(&g, "docs/b ") && has(&g, "old/c "));
	assert_true(has(&g, "1:head:docs/copy ") &&
		    has(&g, "1:head:docs/copy2 "));
	assert_int_equal(g.groups->set->groups[0].saved_exact, LEN);
	assert_int_equal(g.groups->set->groups[0].saved_near, 2 * LEN);
	list_files(f, &g,
		   (struct search_group_range){ .last = UINT32_MAX,
						.heads = true });
	assert_int_equal(g.files, 2);
	assert_true(has(&g, "1:head:docs/copy "));
	list_files(f, &g, (struct search_group_range){ .group = 1, .last = 1 });
	assert_int_equal(g.files, 2);
	file_groups_free(g.groups);
}

#define WITH_FIXTURE(name) TEST_WITH(name, set_up, tear_down)

WITH_FIXTURE(test_cancelled)
{
	struct tree *t = *state;
	const struct file_groups_query every = { 0 };
	static const struct search_caller caller = { .trusted = true };
	struct groups_outcome g;

	outcome_init(&g, &every);
	atomic_store(&g.cancelled, true);
	assert_int_equal(query(&t->f, &caller, ask_groups, &g), -ECANCELED);
	assert_null(g.groups);
	check_all(&t->f);
}

/* One at a time is worked on, and all are answered. */
WITH_FIXTURE(test_many)
{
	enum { MANY = 8 };
	struct tree *t = *state;
	const struct file_groups_query every = { 0 };
	static struct search_caller callers[MANY];
	static struct groups_outcome g[MANY];
	static struct query_run runs[MANY];
	int i;

	for (i = 0; i < MANY; i++) {
		outcome_init(&g[i], &every);
		callers[i].trusted = true;
		callers[i].credentials.uid = (uid_t)i;
		runs[i] = (struct query_run){ .o = OUTCOME_INIT,
					      .ask = ask_groups,
					      .arg = &g[i] };
		assert_int_equal(search_start_job(engine_searcher(t->f.engine),
						  &callers[i], query_run,
						  &runs[i]),
				 0);
	}
	for (i = 0; i < MANY; i++) {
		assert_int_equal(outcome_wait(&runs[i].o), 0);
		assert_int_equal(g[i].groups->set->count, 2);
		file_groups_free(g[i].groups);
	}
}

/* Each close() has returned, and the host hears of one of them later. */
static atomic_int calls_until_told;

static bool tell_late(void *ctx)
{
	struct fixture *f = ctx;
	int fd;

	if (atomic_fetch_sub(&calls_until_told, 1) != 1)
		return atomic_load(&calls_until_told) < 0;
	fd = open_file(f, "copy");
	tell_closed(f, fd);
	close(fd);
	return true;
}

TEST(test_a_file_of_which_the_host_hears_late_is_in_the_answer)
{
	const struct file_groups_query every = { 0 };
	struct groups_outcome g;
	struct fixture f;

	fixture_make(&f);
	f.options.host.catch_up = tell_late;
	write_variant(&f, "file", 1, 0, 0);
	fixture_open(&f);
	wait_idle(&f);
	write_variant(&f, "copy", 1, 0, 0);
	atomic_store(&calls_until_told, 3);
	assert_int_equal(find_groups(&f, &every, &g), 0);
	assert_false(g.groups->incomplete);
	list_files(&f, &g, all);
	assert_true(has(&g, "0:head:file ") && has(&g, "0:head:copy "));
	file_groups_free(g.groups);
	fixture_remove(&f);
}
