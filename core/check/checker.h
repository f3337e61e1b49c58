/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CHECK_CHECKER_H
#define CORE_CHECK_CHECKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/catalog/catalog.h"
#include "core/index/index.h"
#include "core/source/source.h"

/*
 * Checks of the catalog (check.h) while it is in use, on a thread of its own
 * that runs in the background.  Requests are numbered and never wait.  One
 * check answers all requests that came before it began; its result stays until
 * that of the next one.
 */
struct checker_context {
	struct catalog *catalog;
	const struct source *source;
	struct index *index;
	const atomic_bool *stopping;
	/* Waits until what was posted by now is in the catalog. */
	int (*settle)(void *ctx);
	void *ctx;
};

struct json_t;

struct checker {
	struct checker_context context; /* constant since the start */
	pthread_mutex_t lock;           /* everything below */
	pthread_cond_t work;
	bool read;          /* wanted of the next check */
	uint64_t requested; /* number of the last request ... */
	uint64_t finished;  /* ... and of the last one that was answered */
	bool running;
	bool stopped;
	struct json_t *result; /* of the last check; NULL: there was none */
	pthread_t thread;
	bool started;
};

int checker_init(struct checker *c);
int checker_start(struct checker *c, const struct checker_context *context);

/* Ends the thread; the caller has set stopping. */
void checker_stop(struct checker *c);
void checker_release(struct checker *c);

/* Asks for a check; read: of all digests, too. */
void checker_request(struct checker *c, bool read);

/* "requested", "finished", "running" and "result" in a new object, or NULL
 * without memory. */
struct json_t *checker_status(struct checker *c);

#endif
