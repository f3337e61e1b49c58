/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_ENGINE_IMPL_H
#define CORE_ENGINE_ENGINE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/clock.h"
#include "core/base/logger.h"
#include "core/base/thread.h"
#include "core/changes/changes.h"
#include "core/commit/commit.h"
#include "core/engine/engine.h"
#include "core/ignore/ignore.h"
#include "core/scan/scan.h"
#include "core/source/times.h"
#include "core/index/index.h"

struct engine {
	struct engine_options options; /* constant */
	struct source source;
	struct logger log;
	struct catalog *catalog;
	struct index *index;
	pthread_t loader; /* opens the catalog, and loads the index */
	bool loads;       /* loader is valid */

	struct queue queue;       /* files to be hashed, parked requests */
	struct event_list events; /* to be written to the catalog */
	struct committer commit;  /* its only writer */
	struct scanner scan;      /* what nobody reported */
	struct searcher search;   /* queries */
	struct hasher hash;       /* the workers */
	struct ignored ignored;   /* pairs of contents that the user ignores */
	struct changes changes;   /* those who watch what is committed */
	struct engine_listener listener; /* of all parts */

	struct throttle throttle;
	atomic_bool stopping;
	atomic_bool queries_end; /* see engine_end_waits() */
	int64_t started_ms;
};

/* Until until_ms (clock_now_ms()) the background is not throttled. */
static inline void engine_hurry_until(struct engine *e, int64_t until_ms)
{
	throttle_hurry(&e->throttle, until_ms);
	queue_hurry(&e->queue, until_ms);
}

/* ---- load.c ---- */

int engine_start_loading(struct engine *e);
/* Cancels the loading and waits for the end of its thread. */
void engine_stop_loading(struct engine *e);

#endif
