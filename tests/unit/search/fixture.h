/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SEARCH_FIXTURE_H
#define TESTS_UNIT_SEARCH_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/digest/fingerprint.h"
#include "core/search/search.h"
#include "tests/support/remove_tree.h"
#include "tests/support/test.h"
#include "tests/support/catalog_open.h"
#include "tests/support/catalog_set.h"

/*
 * The search without an engine: the test makes a tree, a catalog and an index.
 * The queue, the committer and the scan are there but do not run.
 */
enum { LEN = 20000, USER = 4000, OTHER = 60001 };

enum kind { FILES, DIRECTORIES, BROWSE };

struct world;

struct answer {
	struct world *w;
	enum kind kind;
	int fd;
	const struct queue_ticket *ticket;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool done;
	int result;
	unsigned place; /* among all answers, from 1 on */
	pthread_t by;   /* the thread that answered */
	struct search_hits hits;
	struct search_paths entries;
};

struct world {
	char base[64], top[80], data[80];
	int fd;
	struct source source;
	struct catalog *catalog;
	struct index *index;
	struct searcher *searcher;
	atomic_bool stopping;
	atomic_uint answered;
	struct engine_listener listener;
	struct queue queue;   /* without workers */
	struct queue threads; /* starts those of the searcher */
	struct hasher hasher;
	struct event_list events;
	struct scanner scan;
};

/* ---- the parts that the test takes the place of ---- */

static inline void text_of(char *out, unsigned seed)
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

static inline void digest(const char *data, size_t len, struct digests *out)
{
	struct fingerprint *fp;

	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(fingerprint_update(fp, data, len), 0);
	assert_int_equal(fingerprint_final(fp, out), 0);
	fingerprint_free(fp);
}

/* ---- the tree ---- */

static inline void record(struct world *w, struct catalog_txn *txn,
			  const char *parent, const char *name,
			  const char *data)
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

static inline void make_directory_in(struct world *w, const char *parent,
				     const char *name)
{
	struct catalog_txn *txn;
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/%s/%s", w->top, parent, name);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(catalog_write(w->catalog, &txn), 0);
	record(w, txn, parent, name, NULL);
	assert_int_equal(catalog_commit(txn, NULL), 0);
}

static inline void make_directory(struct world *w, const char *name)
{
	make_directory_in(w, "", name);
}

static inline void index_changes(struct world *w,
				 const struct catalog_changes *made)
{
	struct catalog_txn *txn;
	uint32_t id;

	assert_int_equal(catalog_read(w->catalog, &txn), 0);
	for (id = (uint32_t)made->added_begin; id < made->added_end; id++) {
		struct sketch sketch;

		assert_int_equal(catalog_sketch_get(txn, id, &sketch), 0);
		assert_int_equal(index_add(w->index, id, &sketch), 0);
	}
	catalog_abort(txn);
}

/* Files NAME0, NAME1, ... in a directory ("" is the top); with edits each is
 * another variant. */
static inline void make_files(struct world *w, const char *parent,
			      const char *name, unsigned count, unsigned seed,
			      bool edits)
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

static inline void make_parts(struct world *w)
{
	const struct engine_parts hash = { .source = &w->source,
					   .catalog = w->catalog,
					   .queue = &w->queue,
					   .stopping = &w->stopping,
					   .up = &w->listener };
	const struct engine_parts scan = { .source = &w->source,
					   .catalog = w->catalog,
					   .stopping = &w->stopping };

	w->listener.ctx = w;
	assert_int_equal(queue_init(&w->queue, 1), 0);
	assert_int_equal(queue_init(&w->threads, 1), 0);
	hash_init(&w->hasher, &hash);
	assert_int_equal(scan_init(&w->scan, &scan), 0);
	assert_int_equal(events_init(&w->events, NULL), 0);
}

static inline void release_parts(struct world *w)
{
	queue_stop(&w->queue);
	events_release(&w->events);
	scan_release(&w->scan);
	queue_release(&w->queue);
	queue_release(&w->threads);
}

/* Queries are answered from now on. */
static inline void start_search(struct world *w)
{
	search_start(w->searcher, &w->threads);
	assert_int_equal(queue_start(&w->threads), 0);
}

static inline int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct catalog_options options = { .digest_set = DIGEST_DEFAULT };
	struct search_context context = {
		.threshold = 60,
		.limit = 256,
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
	context.hasher = &w->hasher;
	context.events = &w->events;
	context.scan = &w->scan;
	context.stopping = &w->stopping;
	make_parts(w);
	w->searcher = calloc(1, sizeof(*w->searcher));
	assert_int_equal(search_init(w->searcher, &context), 0);
	*state = w;
	return 0;
}

static inline int tear_down(void **state)
{
	struct world *w = *state;

	atomic_store(&w->stopping, true);
	events_unblock(&w->events);
	queue_stop(&w->threads);
	search_stop(w->searcher);
	search_release(w->searcher);
	free(w->searcher);
	release_parts(w);
	index_free(w->index);
	assert_true(catalog_is_open(w->catalog)); /* no damage was found */
	catalog_free(w->catalog);
	close(w->fd);
	assert_int_equal(nftw(w->base, remove_one, 16, FTW_DEPTH | FTW_PHYS),
			 0);
	free(w);
	return 0;
}

/* ---- queries ---- */

static inline void run(void *arg, struct search_job *job)
{
	struct answer *a = arg;
	const struct search_file_query question = { .fd = a->fd,
						    .rules.relation =
							    INDEX_ALIKE,
						    .timeout_ms = 600000,
						    .ticket = a->ticket };
	int result;

	if (a->kind == FILES)
		result = search_file(job, &question, &a->hits);
	else if (a->kind == DIRECTORIES)
		result = search_directories(job, a->fd, NULL, &a->hits);
	else
		result = search_browse(job, a->fd, &a->entries);
	close(a->fd);
	pthread_mutex_lock(&a->lock);
	a->place = atomic_fetch_add(&a->w->answered, 1) + 1;
	a->by = pthread_self();
	a->result = result;
	a->done = true;
	pthread_cond_signal(&a->cond);
	pthread_mutex_unlock(&a->lock);
}

static inline int answer_wait(struct answer *a)
{
	pthread_mutex_lock(&a->lock);
	while (!a->done)
		pthread_cond_wait(&a->cond, &a->lock);
	pthread_mutex_unlock(&a->lock);
	return a->result;
}

static inline void answer_release(struct answer *a)
{
	search_hits_release(&a->hits);
	search_paths_release(&a->entries);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->cond);
}

static inline int ask_by(struct world *w, enum kind kind, const char *path,
			 const struct search_caller *caller,
			 const struct queue_ticket *ticket, struct answer *a)
{
	*a = (struct answer){ .w = w, .kind = kind, .ticket = ticket };
	a->fd = openat(w->fd, *path ? path : ".", O_PATH | O_CLOEXEC);
	assert_true(a->fd >= 0);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->cond, NULL);
	return search_start_job(w->searcher, caller, run, a);
}

static inline int ask(struct world *w, enum kind kind, const char *path,
		      const struct search_caller *caller, struct answer *a)
{
	return ask_by(w, kind, path, caller, NULL, a);
}

static const struct search_caller trusted = { .trusted = true };
static const struct search_caller other = {
	.credentials = { .uid = OTHER, .gid = OTHER },
};

static inline void get(struct world *w, enum kind kind, const char *path,
		       const struct search_caller *caller, struct answer *a)
{
	assert_int_equal(ask(w, kind, path, caller, a), 0);
	assert_int_equal(answer_wait(a), 0);
}

#define WITH_TREE(name) TEST_WITH(name, set_up, tear_down)

#endif
