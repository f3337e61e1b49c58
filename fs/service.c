/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/service.h"

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/notify.h"
#include "core/base/thread.h"
#include "core/engine/engine.h"
#include "fs/fs.h"

enum { PERIOD_MS = 2000, LINE_BYTES = 160 };

struct service {
	struct engine *engine;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stop;
	bool stopped; /* under the lock */
};

static long long number_of(const json_t *status, const char *key)
{
	return (long long)json_integer_value(json_object_get(status, key));
}

static void describe_progress(struct engine *e, char line[LINE_BYTES])
{
	json_t *status = NULL;

	*line = '\0';
	if (engine_status(e, &status))
		return;
	if (number_of(status, "pending"))
		(void)snprintf(line, LINE_BYTES,
			       "%lld %%: %lld of %lld files are hashed",
			       number_of(status, "percent"),
			       number_of(status, "files") -
				       number_of(status, "pending"),
			       number_of(status, "files"));
	else
		(void)snprintf(line, LINE_BYTES, "all %lld files are hashed",
			       number_of(status, "files"));
	json_decref(status);
}

static void *service_run(void *arg)
{
	char line[LINE_BYTES], told[LINE_BYTES] = "";
	struct service *s = arg;

	thread_set_name("kinfs-service");
	pthread_mutex_lock(&s->lock);
	while (!s->stopped) {
		pthread_mutex_unlock(&s->lock);
		describe_progress(s->engine, line);
		if (*line && strcmp(line, told) != 0) {
			notify_service("STATUS=%s", line);
			memcpy(told, line, sizeof(told));
		}
		pthread_mutex_lock(&s->lock);
		if (!s->stopped)
			cond_wait_until(&s->stop, &s->lock,
					clock_now_ms() + PERIOD_MS);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

void service_report_ready(struct fs *fs)
{
	notify_service("READY=1\nSTATUS=%s is mounted", fs->mountpoint);
}

void service_start(struct fs *fs)
{
	struct service *s;

	if (!getenv("NOTIFY_SOCKET"))
		return;
	s = calloc(1, sizeof(*s));
	if (!s)
		return;
	s->engine = fs->engine;
	pthread_mutex_init(&s->lock, NULL);
	if (!cond_init_monotonic(&s->stop)) {
		if (!pthread_create(&s->thread, NULL, service_run, s)) {
			fs->service = s;
			return;
		}
		pthread_cond_destroy(&s->stop);
	}
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void service_stop(struct fs *fs)
{
	struct service *s = fs->service;

	if (!s)
		return;
	notify_service("STOPPING=1");
	pthread_mutex_lock(&s->lock);
	s->stopped = true;
	pthread_cond_signal(&s->stop);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->stop);
	pthread_mutex_destroy(&s->lock);
	free(s);
	fs->service = NULL;
}
