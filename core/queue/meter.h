/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HASH_METER_H
#define CORE_HASH_METER_H

#include <pthread.h>
#include <stdint.h>

/*
 * Progress for the status: how much of the files that are being hashed is done,
 * and how many bytes a second.  Any thread may call the functions.
 */
enum { METER_SECONDS = 5 };

struct meter {
	pthread_mutex_t lock; /* everything below; a leaf */
	uint64_t done, size;  /* of the files that are being hashed */
	int64_t since_ms;     /* end of the last pause of METER_SECONDS */
	int64_t last_ms;      /* of the last meter_add() */
	/* A ring: bytes[i] were done in second seconds[i]. */
	uint64_t bytes[METER_SECONDS];
	int64_t seconds[METER_SECONDS];
};

int meter_init(struct meter *m);
void meter_release(struct meter *m);

/* A worker begins with a file. */
void meter_begin(struct meter *m, uint64_t size);
/* More bytes of a file are done.  now_ms: clock_now_ms(). */
void meter_add(struct meter *m, uint64_t bytes, int64_t now_ms);
/* A worker ends with a file, of which done bytes are done. */
void meter_end(struct meter *m, uint64_t size, uint64_t done);

struct meter_figures {
	uint64_t done, size;
	uint64_t speed; /* bytes a second, over the last METER_SECONDS */
};

void meter_read(struct meter *m, int64_t now_ms, struct meter_figures *out);

#endif
