/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HASH_METER_H
#define CORE_HASH_METER_H

#include <pthread.h>
#include <stdint.h>

/* How far the files are that are being read, and how fast that goes. */
enum { METER_SECONDS = 5 };

struct meter {
	pthread_mutex_t lock; /* nothing is called with it */
	uint64_t done, size;  /* of the files that are being read */
	int64_t since_ms;     /* no pause of METER_SECONDS since then */
	int64_t last_ms;      /* when bytes were done last */
	uint64_t bytes[METER_SECONDS]; /* done in second n: [n % ...] */
	int64_t seconds[METER_SECONDS];
};

int meter_init(struct meter *m);
void meter_release(struct meter *m);

/* A file of that size is being read, of which so much was done before. */
void meter_begin(struct meter *m, uint64_t size, uint64_t done);
/* More of it is done.  now_ms: of CLOCK_MONOTONIC. */
void meter_add(struct meter *m, uint64_t bytes, int64_t now_ms);
/* It is read no longer; done of it is. */
void meter_end(struct meter *m, uint64_t size, uint64_t done);

struct meter_figures {
	uint64_t done, size;
	uint64_t speed; /* bytes a second, over the last METER_SECONDS */
};

void meter_read(struct meter *m, int64_t now_ms, struct meter_figures *out);

#endif
