/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HASH_METER_H
#define CORE_HASH_METER_H

#include <pthread.h>
#include <stdint.h>

/*
 * For the status: how much is done of the files that are being read now, and
 * how many bytes a second were done lately.  Any thread may call the functions.
 */
enum { METER_SECONDS = 5 };

struct meter {
	pthread_mutex_t lock; /* nothing is called with it */
	uint64_t done, size;  /* of the files that are being read */
	int64_t since_ms;     /* no pause of METER_SECONDS since this time */
	int64_t last_ms;      /* when bytes were done last */
	uint64_t bytes[METER_SECONDS]; /* done in second n: [n % ...] */
	int64_t seconds[METER_SECONDS];
};

int meter_init(struct meter *m);
void meter_release(struct meter *m);

/* A worker begins to read a file of that size; done bytes were done before. */
void meter_begin(struct meter *m, uint64_t size, uint64_t done);
/* More bytes of a file are done.  now_ms: clock_now_ms(). */
void meter_add(struct meter *m, uint64_t bytes, int64_t now_ms);
/* A worker ends reading a file of that size, of which so much is done. */
void meter_end(struct meter *m, uint64_t size, uint64_t done);

struct meter_figures {
	uint64_t done, size;
	uint64_t speed; /* bytes a second, over the last METER_SECONDS */
};

void meter_read(struct meter *m, int64_t now_ms, struct meter_figures *out);

#endif
