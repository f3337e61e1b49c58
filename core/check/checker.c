/* SPDX-License-Identifier: Apache-2.0 */
#include "core/check/checker.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/json.h"
#include "core/base/thread.h"
#include "core/check/check.h"

/* Of the findings' texts: the status must stay below 64 KiB, and JSON may need
 * six characters for one. */
#define TOLD_BYTES 8000

struct check_pass {
	const struct checker_context *context;
	json_t *findings;
	size_t told;
};

/* ---- what a check asks its caller ---- */

static int pass_settle(void *arg)
{
	const struct check_pass *p = arg;

	return p->context->settle(p->context->ctx);
}

static uint64_t pass_indexed(void *arg)
{
	const struct check_pass *p = arg;

	return index_count(p->context->index);
}

static bool pass_in_use(void *arg, const struct stat *st)
{
	const struct check_pass *p = arg;

	return source_get_use(p->context->source, st) != SOURCE_UNUSED;
}

static void pass_found(void *arg, const struct check_finding *f)
{
	struct check_pass *p = arg;
	size_t len = strlen(f->text) + (f->path ? strlen(f->path) : 0) + 40;
	json_t *o;

	if (p->told + len > TOLD_BYTES)
		return;
	p->told += len;
	o = json_pack("{s:s, s:s}", "kind", check_kind_names[f->kind], "text",
		      f->text);
	if (o && f->path)
		json_object_set_new(o, "path", json_text(f->path));
	if (o)
		json_array_append_new(p->findings, o);
}

/* ---- one check ---- */

static json_t *result_object(const struct check_pass *pass, int err,
			     const struct check_counts *counts)
{
	json_t *o = check_counts_to_json(counts);

	if (!o)
		return NULL;
	json_object_set(o, "findings", pass->findings);
	json_object_set_new(o, "error",
			    err ? json_string(err_text(err)) : json_null());
	return o;
}

static json_t *perform(const struct checker_context *context, bool read)
{
	struct check_pass pass = { .context = context,
				   .findings = json_array() };
	struct check_options options = {
		.catalog = context->catalog,
		.source_fd = context->source->fd,
		.read = read,
		.stopping = context->stopping,
		.in_use = pass_in_use,
		.settle = pass_settle,
		.indexed = pass_indexed,
		.found = pass_found,
		.arg = &pass,
	};
	struct check_counts counts = { 0 };
	json_t *o;
	int err = pass_settle(&pass);

	if (!err)
		err = check_run(&options, &counts);
	(void)catalog_trim_rss(context->catalog);
	o = result_object(&pass, err, &counts);
	json_decref(pass.findings);
	return o;
}

/* ---- the thread ---- */

static void answer_requests(struct checker *c)
{
	bool read = c->read;
	uint64_t number = c->requested;
	json_t *result;

	c->read = false;
	c->running = true;
	pthread_mutex_unlock(&c->lock);
	result = perform(&c->context, read);
	pthread_mutex_lock(&c->lock);
	json_decref(c->result);
	c->result = result;
	c->running = false;
	c->finished = number;
}

static void *checker_run(void *arg)
{
	struct checker *c = arg;

	thread_set_name("kinfs-check");
	thread_enter_background();
	pthread_mutex_lock(&c->lock);
	while (!c->stopped) {
		if (c->finished < c->requested)
			answer_requests(c);
		else
			pthread_cond_wait(&c->work, &c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

void checker_request(struct checker *c, bool read)
{
	pthread_mutex_lock(&c->lock);
	c->read = c->read || read;
	c->requested++;
	pthread_cond_signal(&c->work);
	pthread_mutex_unlock(&c->lock);
}

json_t *checker_status(struct checker *c)
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

int checker_init(struct checker *c)
{
	int err = -pthread_mutex_init(&c->lock, NULL);

	return err ? err : -pthread_cond_init(&c->work, NULL);
}

int checker_start(struct checker *c, const struct checker_context *context)
{
	int err;

	c->context = *context;
	err = -pthread_create(&c->thread, NULL, checker_run, c);
	c->started = !err;
	return err;
}

void checker_stop(struct checker *c)
{
	pthread_mutex_lock(&c->lock);
	c->stopped = true;
	pthread_cond_signal(&c->work);
	pthread_mutex_unlock(&c->lock);
	if (c->started)
		pthread_join(c->thread, NULL);
	c->started = false;
}

void checker_release(struct checker *c)
{
	json_decref(c->result);
	pthread_cond_destroy(&c->work);
	pthread_mutex_destroy(&c->lock);
}
