/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/digest/fingerprint.h"
#include "core/search/search.h"
#include "tests/unit/remove_tree.h"

/*
 * The search without an engine: the test makes a tree, a catalog and an index,
 * and takes the place of the queue and the committer.
 */
enum { LEN = 20000, USER = 4000, OTHER = 60001 };

struct answer {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool done;
	int result;
	unsigned place; /* among all answers, from 1 on */
	struct search_hits hits;
	struct search_entries entries;
};

struct world {
	char base[64], top[80], data[80];
	int fd;
	struct source source;
	struct catalog *catalog;
	struct index *index;
	struct searcher *searcher;
	atomic_bool stopping;
	atomic_uint changed, answered;
	uint64_t posted, attempted;
	struct digests_wait *parked; /* the last one */
	bool parks;                  /* every request */
	atomic_bool stale;           /* what was answered */
	atomic_uint asked;           /* for digests */
	enum digests_state state;    /* of every file */
};

/* ---- the parts that the test takes the place of ---- */

static void text_of(char *out, unsigned seed)
{
	uint64_t s = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	size_t i;

	for (i = 0; i < LEN; i++) {
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		out[i] = (char)('a' + (s >> 32) % 26);
	}
}

static void digest(const char *data, size_t len, struct digests *out)
{
	struct fingerprint *fp;

	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(fingerprint_update(fp, data, len), 0);
	assert_int_equal(fingerprint_final(fp, out), 0);
	fingerprint_free(fp);
}

static int get_digests(void *ctx, int fd, struct file_digests *out)
{
	struct world *w = ctx;
	struct file_record rec;
	struct catalog_txn *txn;
	struct file_key key;
	struct stat st;
	int err;

	atomic_fetch_add(&w->asked, 1);
	*out = (struct file_digests){ .state = w->state };
	if (w->state != DIGESTS_FRESH)
		return 0;
	assert_int_equal(fstat(fd, &st), 0);
	source_get_key(&w->source, fd, &st, &key);
	assert_int_equal(catalog_read(w->catalog, &txn), 0);
	err = catalog_file_get(txn, &key, &rec);
	if (!err)
		err = catalog_content_get(txn, rec.content, &out->digests);
	catalog_abort(txn);
	return err;
}

static bool digests_hold(void *ctx, int fd, const struct file_digests *answer)
{
	struct world *w = ctx;

	(void)fd;
	return answer->state == DIGESTS_FRESH && !atomic_load(&w->stale);
}

static void answer_wait_for(struct world *w, struct digests_wait *wait)
{
	struct file_digests answer;

	assert_int_equal(get_digests(w, wait->open(wait->arg), &answer), 0);
	wait->close(wait->arg);
	wait->done(wait->arg, 0, &answer);
}

static int wait_digests(void *ctx, struct digests_wait *wait)
{
	struct world *w = ctx;

	w->parked = wait;
	if (!w->parks)
		answer_wait_for(w, wait);
	return 0;
}

static void commit_position(void *ctx, uint64_t *posted_out,
			    uint64_t *attempted_out)
{
	struct world *w = ctx;

	*posted_out = w->posted;
	*attempted_out = w->attempted;
}

static void commit_hurry(void *ctx)
{
	(void)ctx;
}

static bool is_incomplete(void *ctx)
{
	(void)ctx;
	return false;
}

static void file_changed(void *ctx, const struct file_key *key,
			 const struct file_identity *identity)
{
	struct world *w = ctx;

	(void)key;
	(void)identity;
	atomic_fetch_add(&w->changed, 1);
}

static void damaged(void *ctx)
{
	(void)ctx;
	fail();
}

/* ---- the tree ---- */

static void record(struct world *w, struct catalog_txn *txn, const char *parent,
		   const char *name, const char *data)
{
	struct file_key key, parent_key = w->source.root;
	struct file_identity identity;
	struct digests d;
	char path[300];
	struct stat st;
	int fd;

	if (*parent) {
		fd = openat(w->fd, parent, O_PATH | O_CLOEXEC);
		assert_int_equal(fstat(fd, &st), 0);
		source_get_key(&w->source, fd, &st, &parent_key);
		close(fd);
	}
	(void)snprintf(path, sizeof(path), "%s%s%s", parent, *parent ? "/" : "",
		       name);
	fd = openat(w->fd, path, O_PATH | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	source_get_key(&w->source, fd, &st, &key);
	close(fd);
	if (data) {
		source_get_identity(&st, &identity);
		digest(data, LEN, &d);
		assert_int_equal(
			catalog_file_set_fresh(txn, &key, &identity, &d), 0);
		digests_release(&d);
	} else {
		assert_int_equal(catalog_directory_set(txn, &key), 0);
	}
	assert_int_equal(
		catalog_name_set(txn, &parent_key,
				 (struct catalog_name){ name, strlen(name) },
				 &key),
		0);
}

static void make_directory(struct world *w, const char *name)
{
	struct catalog_txn *txn;

	assert_int_equal(mkdirat(w->fd, name, 0755), 0);
	assert_int_equal(catalog_write(w->catalog, &txn), 0);
	record(w, txn, "", name, NULL);
	assert_int_equal(catalog_commit(txn, NULL), 0);
}

static void index_changes(struct world *w, const struct catalog_changes *made)
{
	struct catalog_txn *txn;
	size_t i;

	assert_int_equal(catalog_read(w->catalog, &txn), 0);
	for (i = 0; i < made->added_count; i++) {
		struct sif_sketch sketch;
		struct digests d;

		assert_int_equal(catalog_content_brief(txn, made->added[i], &d),
				 0);
		assert_int_equal(
			catalog_sketch_get(txn, made->added[i], &sketch), 0);
		assert_int_equal(
			index_add(w->index, made->added[i], &d, &sketch), 0);
	}
	catalog_abort(txn);
}

/* Files NAME0, NAME1, ... in a directory ("" is the top); with edits each is
 * another variant. */
static void make_files(struct world *w, const char *parent, const char *name,
		       unsigned count, unsigned seed, bool edits)
{
	struct catalog_changes made;
	struct catalog_txn *txn;
	char text[LEN], full[300], number[200];
	unsigned i;

	assert_int_equal(catalog_write(w->catalog, &txn), 0);
	for (i = 0; i < count; i++) {
		FILE *out;

		text_of(text, seed);
		if (edits)
			(void)memset(text + 50 * i, 'X', 50);
		(void)snprintf(number, sizeof(number), "%s%u", name, i);
		(void)snprintf(full, sizeof(full), "%s/%s/%s", w->top, parent,
			       number);
		out = fopen(full, "w");
		assert_non_null(out);
		assert_int_equal(fwrite(text, 1, LEN, out), LEN);
		assert_int_equal(fclose(out), 0);
		record(w, txn, parent, number, text);
	}
	assert_int_equal(catalog_commit(txn, &made), 0);
	index_changes(w, &made);
	catalog_changes_release(&made);
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct catalog_options options = { .digest_set = DIGEST_DEFAULT };
	struct search_context context = {
		.threshold = 60,
		.limit = 256,
		.measure = DIGEST_COUNT,
		.get_digests = get_digests,
		.digests_hold = digests_hold,
		.wait_digests = wait_digests,
		.commit_position = commit_position,
		.commit_hurry = commit_hurry,
		.is_incomplete = is_incomplete,
		.file_changed = file_changed,
		.damaged = damaged,
	};

	assert_non_null(w);
	(void)snprintf(w->base, sizeof(w->base), "/tmp/kinfs-search-XXXXXX");
	assert_non_null(mkdtemp(w->base));
	assert_int_equal(chmod(w->base, 0755), 0);
	(void)snprintf(w->top, sizeof(w->top), "%s/s", w->base);
	(void)snprintf(w->data, sizeof(w->data), "%s/c", w->base);
	assert_int_equal(mkdir(w->top, 0755), 0);
	w->fd = open(w->top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	w->source.fd = w->fd;
	w->source.path = w->top;
	assert_int_equal(source_init(&w->source), 0);
	options.directory = w->data;
	options.source = w->top;
	assert_int_equal(catalog_open(&options, &w->catalog), 0);
	assert_int_equal(index_new(&w->index), 0);
	context.source = &w->source;
	context.catalog = w->catalog;
	context.index = w->index;
	context.stopping = &w->stopping;
	context.ctx = w;
	w->searcher = calloc(1, sizeof(*w->searcher));
	assert_int_equal(search_init(w->searcher, &context), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	atomic_store(&w->stopping, true);
	search_stop(w->searcher);
	search_release(w->searcher);
	free(w->searcher);
	index_free(w->index);
	catalog_free(w->catalog);
	close(w->fd);
	assert_int_equal(nftw(w->base, remove_one, 16, FTW_DEPTH | FTW_PHYS),
			 0);
	free(w);
	return 0;
}

/* ---- queries ---- */

static struct world *current; /* whose answers are counted */

static void answer_init(struct answer *a)
{
	memset(a, 0, sizeof(*a));
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->cond, NULL);
}

static void finish(struct answer *a, int result)
{
	pthread_mutex_lock(&a->lock);
	a->place = atomic_fetch_add(&current->answered, 1) + 1;
	a->result = result;
	a->done = true;
	pthread_cond_signal(&a->cond);
	pthread_mutex_unlock(&a->lock);
}

static void on_hits(void *arg, int result, struct search_hits *hits)
{
	struct answer *a = arg;

	a->hits = *hits;
	finish(a, result);
}

static void on_entries(void *arg, int result, struct search_entries *entries)
{
	struct answer *a = arg;

	a->entries = *entries;
	finish(a, result);
}

static int answer_wait(struct answer *a)
{
	pthread_mutex_lock(&a->lock);
	while (!a->done)
		pthread_cond_wait(&a->cond, &a->lock);
	pthread_mutex_unlock(&a->lock);
	return a->result;
}

static void answer_release(struct answer *a)
{
	search_hits_release(&a->hits);
	search_entries_release(&a->entries);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->cond);
}

enum kind { FILES, DIRECTORIES, BROWSE };

static int ask(struct world *w, enum kind kind, const char *path,
	       const struct search_caller *caller, struct answer *a)
{
	struct search_file_query question = { .relation = INDEX_ALIKE,
					      .timeout_ms = 1000 };
	int fd = openat(w->fd, *path ? path : ".", O_PATH | O_CLOEXEC), err;

	assert_true(fd >= 0);
	answer_init(a);
	current = w;
	question.fd = fd;
	if (kind == FILES)
		err = search_file(w->searcher, &question, caller, on_hits, a);
	else if (kind == DIRECTORIES)
		err = search_directories(w->searcher, fd, caller, on_hits, a);
	else
		err = search_browse(w->searcher, fd, caller, on_entries, a);
	close(fd);
	return err;
}

static const struct search_caller trusted = { .trusted = true };
static const struct search_caller other = {
	.credentials = { .uid = OTHER, .gid = OTHER },
};

static void get(struct world *w, enum kind kind, const char *path,
		const struct search_caller *caller, struct answer *a)
{
	assert_int_equal(ask(w, kind, path, caller, a), 0);
	assert_int_equal(answer_wait(a), 0);
}

/* ---- tests ---- */

static void test_copies_and_variants_are_hits(void **state)
{
	struct world *w = *state;
	struct answer a;

	make_directory(w, "d");
	make_files(w, "d", "copy", 3, 1, false);
	make_files(w, "", "variant", 2, 1, true);
	make_files(w, "", "unrelated", 1, 2, false);
	assert_int_equal(search_start(w->searcher), 0);
	get(w, FILES, "d/copy0", &trusted, &a);
	assert_int_equal(a.hits.count, 4);
	assert_string_equal(a.hits.hits[0].path, "d/copy1");
	assert_string_equal(a.hits.hits[1].path, "d/copy2");
	assert_int_equal(a.hits.hits[1].score, 100);
	assert_in_range(a.hits.hits[2].score, 60, 99);
	answer_release(&a);
	get(w, BROWSE, "", &trusted, &a);
	assert_int_equal(a.entries.count, 3);
	assert_string_equal(a.entries.entries[0].name, "d");
	answer_release(&a);
}

static void test_a_changed_file_is_reported_and_not_listed(void **state)
{
	struct world *w = *state;
	struct answer a;
	int fd;

	make_files(w, "", "copy", 2, 1, false);
	fd = openat(w->fd, "copy1", O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "more", 4), 4);
	close(fd);
	assert_int_equal(search_start(w->searcher), 0);
	get(w, FILES, "copy0", &trusted, &a);
	assert_int_equal(a.hits.count, 0);
	assert_int_equal(atomic_load(&w->changed), 1);
	answer_release(&a);
}

/* The catalog still says d/copy1: only what the disk has counts. */
static void test_paths_that_no_longer_lead_there_are_not_listed(void **state)
{
	struct world *w = *state;
	struct answer a;

	make_directory(w, "d");
	make_files(w, "d", "copy", 2, 1, false);
	w->searcher->thread_count = 1;
	assert_int_equal(search_start(w->searcher), 0);
	get(w, FILES, "d/copy0", &trusted, &a);
	assert_int_equal(a.hits.count, 1);
	assert_string_equal(a.hits.hits[0].path, "d/copy1");
	answer_release(&a);
	assert_int_equal(renameat(w->fd, "d", w->fd, "e"), 0);
	get(w, FILES, "e/copy0", &trusted, &a);
	assert_int_equal(a.hits.count, 0);
	answer_release(&a);
	/* A link is not followed, though it leads to the file. */
	assert_int_equal(symlinkat("e", w->fd, "d"), 0);
	get(w, FILES, "e/copy0", &trusted, &a);
	assert_int_equal(a.hits.count, 0);
	answer_release(&a);
}

/* Another file of the same size and times, as cp -p makes it. */
static void test_another_file_of_that_name_is_not_listed(void **state)
{
	struct world *w = *state;
	struct timespec times[2];
	struct answer a;
	struct stat st;
	char text[LEN];
	int fd;

	make_files(w, "", "copy", 2, 1, false);
	assert_int_equal(fstatat(w->fd, "copy1", &st, 0), 0);
	text_of(text, 2);
	fd = openat(w->fd, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, text, LEN), LEN);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
	assert_int_equal(renameat(w->fd, "new", w->fd, "copy1"), 0);
	assert_int_equal(search_start(w->searcher), 0);
	get(w, FILES, "copy0", &trusted, &a);
	assert_int_equal(a.hits.count, 0);
	answer_release(&a);
}

static void test_a_query_waits_for_digests_and_for_the_committer(void **state)
{
	struct world *w = *state;
	struct answer a;

	make_files(w, "", "copy", 2, 1, false);
	w->parks = true;
	w->state = DIGESTS_FRESH;
	w->posted = 7;
	assert_int_equal(search_start(w->searcher), 0);
	assert_int_equal(ask(w, FILES, "copy0", &trusted, &a), 0);
	assert_non_null(w->parked);
	answer_wait_for(w, w->parked);
	search_committed(w->searcher, 6);
	assert_non_null(w->searcher->held);
	assert_false(a.done);
	search_committed(w->searcher, 7);
	assert_int_equal(answer_wait(&a), 0);
	assert_int_equal(a.hits.count, 1);
	answer_release(&a);
}

static void test_digests_are_asked_for_again_if_the_file_changed(void **state)
{
	struct world *w = *state;
	struct answer a;

	make_files(w, "", "copy", 2, 1, false);
	assert_int_equal(search_start(w->searcher), 0);
	get(w, FILES, "copy0", &trusted, &a);
	assert_int_equal(a.hits.count, 1);
	assert_int_equal(w->asked, 1);
	answer_release(&a);
	atomic_store(&w->stale, true);
	get(w, FILES, "copy0", &trusted, &a);
	assert_int_equal(a.hits.count, 1);
	assert_int_equal(w->asked, 3);
	answer_release(&a);
}

static void test_a_wait_that_fails_ends_the_query(void **state)
{
	struct world *w = *state;
	struct answer a;

	make_files(w, "", "copy", 2, 1, false);
	w->parks = true;
	assert_int_equal(search_start(w->searcher), 0);
	assert_int_equal(ask(w, FILES, "copy0", &trusted, &a), 0);
	w->parked->done(w->parked->arg, -EINTR, NULL);
	assert_int_equal(answer_wait(&a), -EINTR);
	answer_release(&a);
}

static void test_queries_are_canceled_at_the_end(void **state)
{
	struct world *w = *state;
	struct answer ready, held;

	make_files(w, "", "copy", 2, 1, false);
	assert_int_equal(ask(w, BROWSE, "", &trusted, &ready), 0);
	w->posted = 7;
	assert_int_equal(ask(w, FILES, "copy0", &trusted, &held), 0);
	atomic_store(&w->stopping, true);
	search_stop(w->searcher);
	assert_int_equal(answer_wait(&ready), -ECANCELED);
	assert_int_equal(answer_wait(&held), -ECANCELED);
	answer_release(&ready);
	answer_release(&held);
}

static void assert_same_hits(const struct search_hits *a,
			     const struct search_hits *b)
{
	size_t i;

	assert_int_equal(a->count, b->count);
	assert_int_equal(a->cut, b->cut);
	for (i = 0; i < a->count; i++) {
		assert_string_equal(a->hits[i].path, b->hits[i].path);
		assert_int_equal(a->hits[i].score, b->hits[i].score);
	}
}

static void assert_same_entries(const struct search_entries *a,
				const struct search_entries *b)
{
	size_t i;

	assert_int_equal(a->count, b->count);
	for (i = 0; i < a->count; i++)
		assert_string_equal(a->entries[i].name, b->entries[i].name);
}

static uint64_t turns_served(struct world *w)
{
	uint64_t turns;

	pthread_mutex_lock(&w->searcher->lock);
	turns = w->searcher->share.turn;
	pthread_mutex_unlock(&w->searcher->lock);
	return turns;
}

/* In turns of one file the answer is that of a single turn.  (An answer of one
 * entry may have taken the work of one file.) */
static void assert_turns_do_not_matter(struct world *w,
				       const struct search_caller *caller)
{
	static const struct {
		enum kind kind;
		const char *path;
	} queries[] = { { FILES, "a/copy0" }, { FILES, "a/variant1" },
			{ DIRECTORIES, "a" }, { DIRECTORIES, "b" },
			{ BROWSE, "" },       { BROWSE, "a" },
			{ BROWSE, "lone" } };
	struct answer whole, parts;
	uint64_t turn;
	size_t i;

	for (i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
		w->searcher->turn_work = SIZE_MAX;
		get(w, queries[i].kind, queries[i].path, caller, &whole);
		w->searcher->turn_work = 1;
		turn = turns_served(w);
		get(w, queries[i].kind, queries[i].path, caller, &parts);
		if (whole.hits.count + whole.entries.count > 1)
			assert_true(turns_served(w) > turn);
		assert_same_hits(&whole.hits, &parts.hits);
		assert_same_entries(&whole.entries, &parts.entries);
		answer_release(&whole);
		answer_release(&parts);
	}
}

static void make_two_alike(struct world *w)
{
	make_directory(w, "a");
	make_directory(w, "b");
	make_directory(w, "lone");
	make_directory(w, "closed");
	make_files(w, "a", "copy", 20, 1, false);
	make_files(w, "a", "variant", 5, 1, true);
	make_files(w, "b", "copy", 15, 1, false);
	make_files(w, "b", "variant", 4, 1, true);
	make_files(w, "lone", "other", 1, 2, false);
	make_files(w, "closed", "variant", 9, 1, true);
	make_files(w, "closed", "other", 30, 2, false);
	assert_int_equal(search_start(w->searcher), 0);
}

static void test_an_answer_in_turns_is_that_of_one_turn(void **state)
{
	make_two_alike(*state);
	assert_turns_do_not_matter(*state, &trusted);
}

static void test_the_same_for_a_caller_that_cannot_see_all(void **state)
{
	struct world *w = *state;
	struct answer a;
	size_t i;

	if (geteuid()) {
		skip();
		return;
	}
	make_two_alike(w);
	assert_int_equal(fchmodat(w->fd, "closed", 0700, 0), 0);
	assert_turns_do_not_matter(w, &other);
	get(w, FILES, "lone/other0", &other, &a);
	assert_int_equal(a.hits.count, 0);
	answer_release(&a);
	get(w, FILES, "a/variant0", &other, &a);
	assert_true(a.hits.count > 0);
	for (i = 0; i < a.hits.count; i++)
		assert_true(strncmp(a.hits.hits[i].path, "closed/", 7) != 0);
	answer_release(&a);
	get(w, BROWSE, "", &other, &a);
	assert_int_equal(a.entries.count, 2);
	answer_release(&a);
}

/* Users with large directories, more of them than threads, do not keep a user
 * with a small one waiting until they are done, although they came first. */
static void test_large_directories_leave_room_for_a_small_one(void **state)
{
	enum { LARGE = 3 * SEARCH_THREADS };
	struct world *w = *state;
	struct search_caller caller = { .trusted = true };
	struct answer large[LARGE], small;
	unsigned i;

	make_directory(w, "large");
	make_directory(w, "small");
	make_files(w, "large", "copy", 100, 1, false);
	make_files(w, "small", "copy", 2, 2, false);
	w->searcher->turn_work = 1;
	w->searcher->thread_count = 1; /* so that turns alone decide */
	for (i = 0; i < LARGE; i++) {
		caller.credentials.uid = USER + i;
		assert_int_equal(ask(w, BROWSE, "large", &caller, &large[i]),
				 0);
	}
	caller.credentials.uid = USER + LARGE;
	assert_int_equal(ask(w, BROWSE, "small", &caller, &small), 0);
	assert_int_equal(search_start(w->searcher), 0);
	assert_int_equal(answer_wait(&small), 0);
	assert_int_equal(small.place, 1);
	assert_int_equal(small.entries.count, 2);
	answer_release(&small);
	for (i = 0; i < LARGE; i++) {
		assert_int_equal(answer_wait(&large[i]), 0);
		assert_int_equal(large[i].entries.count, 100);
		answer_release(&large[i]);
	}
}

/* Of files with one content no more than a constant number is examined for
 * each entry. */
static void test_identical_files_are_listed_in_linear_time(void **state)
{
	enum { COUNT = 500 };
	struct world *w = *state;
	const struct search_caller *callers[] = { &trusted, &other };
	struct answer a;
	uint64_t turn;
	size_t i;

	make_directory(w, "d");
	make_files(w, "d", "copy", COUNT, 1, false);
	w->searcher->turn_work = 1;
	assert_int_equal(search_start(w->searcher), 0);
	for (i = 0; i < (geteuid() ? 1 : 2); i++) {
		turn = w->searcher->share.turn;
		get(w, BROWSE, "d", callers[i], &a);
		assert_int_equal(a.entries.count, COUNT);
		assert_in_range(w->searcher->share.turn - turn, COUNT / 2,
				3 * COUNT);
		answer_release(&a);
	}
}

#define WITH_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(test_copies_and_variants_are_hits),
		WITH_TREE(test_a_changed_file_is_reported_and_not_listed),
		WITH_TREE(test_paths_that_no_longer_lead_there_are_not_listed),
		WITH_TREE(test_another_file_of_that_name_is_not_listed),
		WITH_TREE(test_a_query_waits_for_digests_and_for_the_committer),
		WITH_TREE(test_digests_are_asked_for_again_if_the_file_changed),
		WITH_TREE(test_a_wait_that_fails_ends_the_query),
		WITH_TREE(test_queries_are_canceled_at_the_end),
		WITH_TREE(test_an_answer_in_turns_is_that_of_one_turn),
		WITH_TREE(test_the_same_for_a_caller_that_cannot_see_all),
		WITH_TREE(test_large_directories_leave_room_for_a_small_one),
		WITH_TREE(test_identical_files_are_listed_in_linear_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
