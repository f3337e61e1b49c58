/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/meter.h"

int meter_init(struct meter *m)
{
	*m = (struct meter){ .last_ms = -METER_SECONDS * 1000 };
	return -pthread_mutex_init(&m->lock, NULL);
}

void meter_release(struct meter *m)
{
	pthread_mutex_destroy(&m->lock);
}

void meter_begin(struct meter *m, uint64_t size)
{
	pthread_mutex_lock(&m->lock);
	m->size += size;
	pthread_mutex_unlock(&m->lock);
}

void meter_add(struct meter *m, uint64_t bytes, int64_t now_ms)
{
	int64_t second = now_ms / 1000;
	size_t i = (size_t)(second % METER_SECONDS);

	pthread_mutex_lock(&m->lock);
	m->done += bytes;
	if (now_ms - m->last_ms >= METER_SECONDS * 1000)
		m->since_ms = now_ms;
	m->last_ms = now_ms;
	if (m->seconds[i] != second)
		m->bytes[i] = 0;
	m->seconds[i] = second;
	m->bytes[i] += bytes;
	pthread_mutex_unlock(&m->lock);
}

void meter_end(struct meter *m, uint64_t size, uint64_t done)
{
	pthread_mutex_lock(&m->lock);
	m->size -= size;
	m->done -= done;
	pthread_mutex_unlock(&m->lock);
}

void meter_read(struct meter *m, int64_t now_ms, struct meter_figures *out)
{
	int64_t first = now_ms / 1000 - METER_SECONDS + 1;
	int64_t from_ms = first * 1000, passed_ms;
	uint64_t sum = 0;
	size_t i;

	pthread_mutex_lock(&m->lock);
	for (i = 0; i < METER_SECONDS; i++)
		if (m->seconds[i] >= first)
			sum += m->bytes[i];
	passed_ms = now_ms - (m->since_ms > from_ms ? m->since_ms : from_ms);
	out->done = m->done;
	out->size = m->size;
	pthread_mutex_unlock(&m->lock);
	/* Too short a time for a meaningful speed. */
	out->speed = passed_ms < 500 ? 0 : sum * 1000 / (uint64_t)passed_ms;
}
