/* SPDX-License-Identifier: Apache-2.0 */
#include "core/check/check_thread.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/check/check.h"
#include "core/engine/engine_impl.h"

/* Of the findings' texts: the status must stay below 64 KiB, and JSON may need
 * six characters for one. */
#define TOLD_BYTES 8000

struct course {
	struct engine *e;
	json_t *findings;
	size_t told;
};

/* ---- what the audit asks for ---- */

static int course_settle(void *arg)
{
	const struct course *c = arg;

	return commit_settle(&c->e->commit);
}

static uint64_t course_indexed(void *arg)
{
	const struct course *c = arg;

	return index_count(c->e->index);
}

static bool course_in_use(void *arg, const struct stat *st)
{
	const struct course *c = arg;

	return source_get_use(&c->e->source, st) != SOURCE_UNUSED;
}

static void course_found(void *arg, const struct audit_finding *f)
{
	struct course *c = arg;
	size_t len = strlen(f->text) + (f->path ? strlen(f->path) : 0) + 40;
	json_t *o;

	if (c->told + len > TOLD_BYTES)
		return;
	c->told += len;
	o = json_pack("{s:s, s:s}", "kind", audit_kind_names[f->kind], "text",
		      f->text);
	if (o && f->path)
		json_object_set_new(o, "path", status_path(f->path));
	if (o)
		json_array_append_new(c->findings, o);
}

/* ---- repairs ---- */

static int post(struct engine *e, enum event_kind kind,
		const struct file_key *key,
		const struct file_identity *identity)
{
	struct event *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return -ENOMEM;
	ev->kind = kind;
	ev->key = *key;
	if (identity)
		ev->identity = *identity;
	return commit_post(&e->commit, ev);
}

static int mend_forget(void *ctx, const struct file_key *keys, size_t count)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < count; i++)
		err = post(ctx, EVENT_FORGET, &keys[i], NULL);
	return err;
}

static int mend_rehash(void *ctx, const struct file_key *key,
		       const struct file_identity *identity)
{
	return post(ctx, EVENT_PENDING, key, identity);
}

/* ---- one audit ---- */

static json_t *result_object(struct course *course, int err,
			     const struct audit_counts *counts)
{
	json_t *o = audit_to_json(counts);

	if (!o)
		return NULL;
	json_object_set(o, "findings", course->findings);
	json_object_set_new(o, "error",
			    err ? json_string(err_text(err)) : json_null());
	return o;
}

static json_t *perform(struct engine *e, bool read, bool repair)
{
	struct course course = { .e = e, .findings = json_array() };
	struct audit_mender mender = { .ctx = e,
				       .forget = mend_forget,
				       .rehash = mend_rehash };
	struct audit_options options = {
		.catalog = e->catalog,
		.source_fd = e->source.fd,
		.read = read,
		.mender = repair ? &mender : NULL,
		.stopping = &e->stopping,
		.in_use = course_in_use,
		.settle = course_settle,
		.indexed = course_indexed,
		.found = course_found,
		.arg = &course,
	};
	struct audit_counts counts = { 0 };
	json_t *o;
	int err = commit_settle(&e->commit);

	if (!err)
		err = audit_run(&options, &counts);
	if (!err)
		err = commit_settle(&e->commit); /* the repairs */
	(void)catalog_trim_rss(e->catalog);
	o = result_object(&course, err, &counts);
	json_decref(course.findings);
	return o;
}

/* ---- the thread ---- */

static void checkup_once(struct engine *e)
{
	struct checkup *c = &e->checkup;
	bool read = c->read, repair = c->repair;
	uint64_t number = c->requested;
	json_t *result;

	c->read = c->repair = false;
	c->running = true;
	pthread_mutex_unlock(&c->lock);
	result = perform(e, read, repair);
	pthread_mutex_lock(&c->lock);
	json_decref(c->result);
	c->result = result;
	c->running = false;
	c->finished = number;
}

static void *checkup_run(void *arg)
{
	struct engine *e = arg;
	struct checkup *c = &e->checkup;

	thread_set_name("kinfs-check");
	thread_enter_background();
	pthread_mutex_lock(&c->lock);
	while (!c->stopped) {
		if (c->finished < c->requested)
			checkup_once(e);
		else
			pthread_cond_wait(&c->work, &c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

void engine_check(struct engine *e, bool read, bool repair)
{
	struct checkup *c = &e->checkup;

	pthread_mutex_lock(&c->lock);
	c->read = c->read || read;
	c->repair = c->repair || repair;
	c->requested++;
	pthread_cond_signal(&c->work);
	pthread_mutex_unlock(&c->lock);
}

json_t *checkup_object(struct checkup *c)
{
	json_t *o, *result;

	pthread_mutex_lock(&c->lock);
	result = c->result ? json_deep_copy(c->result) : json_null();
	o = json_pack("{s:I, s:I, s:b, s:o}", "requested",
		      (json_int_t)c->requested, "finished",
		      (json_int_t)c->finished, "running", c->running, "result",
		      result);
	pthread_mutex_unlock(&c->lock);
	return o;
}

int checkup_init(struct checkup *c)
{
	int err = -pthread_mutex_init(&c->lock, NULL);

	return err ? err : -pthread_cond_init(&c->work, NULL);
}

int checkup_start(struct engine *e)
{
	struct checkup *c = &e->checkup;
	int err = -pthread_create(&c->thread, NULL, checkup_run, e);

	c->started = !err;
	return err;
}

void checkup_stop(struct engine *e)
{
	struct checkup *c = &e->checkup;

	pthread_mutex_lock(&c->lock);
	c->stopped = true;
	pthread_cond_signal(&c->work);
	pthread_mutex_unlock(&c->lock);
	if (c->started)
		pthread_join(c->thread, NULL);
	c->started = false;
}

void checkup_release(struct checkup *c)
{
	json_decref(c->result);
	pthread_cond_destroy(&c->work);
	pthread_mutex_destroy(&c->lock);
}
