/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/sketch_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A sketch without the room that it does not need. */
struct kept_sketch {
	unsigned window, rest_shift;
	uint64_t distinct, windows;
	size_t count, rest;
	bool is_placed;
	uint8_t parts[]; /* values, times, places */
};

/* The sketches of a content that a slot has. */
enum part {
	PART_SIF,  /* struct kept_sketch */
	PART_SIF8, /* struct short_sketch */
	PARTS
};

struct sketch_slot {
	uint32_t content;   /* 0: the slot is free */
	uint32_t bytes;     /* of the parts */
	void *parts[PARTS]; /* owned, or NULL */
};

struct sketch_cache {
	pthread_mutex_t lock; /* everything below */
	size_t bytes;
	struct sketch_slot slots[SKETCH_CACHE_SLOTS];
};

static void slot_clear(struct sketch_cache *c, struct sketch_slot *slot)
{
	size_t i;

	for (i = 0; i < PARTS; i++)
		free(slot->parts[i]);
	c->bytes -= slot->bytes;
	*slot = (struct sketch_slot){ 0 };
}

int sketch_cache_new(struct sketch_cache **out)
{
	struct sketch_cache *c = calloc(1, sizeof(*c));
	int err = c ? -pthread_mutex_init(&c->lock, NULL) : -ENOMEM;

	if (err)
		free(c);
	else
		*out = c;
	return err;
}

void sketch_cache_free(struct sketch_cache *c)
{
	size_t i;

	if (!c)
		return;
	for (i = 0; i < SKETCH_CACHE_SLOTS; i++)
		slot_clear(c, &c->slots[i]);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* ---- without room ---- */

static size_t values_bytes(size_t values)
{
	return values * sizeof(((struct sif_sketch *)0)->values[0]);
}

static size_t times_bytes(size_t values)
{
	return values * sizeof(((struct sif_sketch *)0)->times[0]);
}

static size_t kept_bytes(const struct kept_sketch *k)
{
	size_t all = k->count + k->rest;

	return sizeof(*k) + values_bytes(all) + times_bytes(all) + k->count;
}

static struct kept_sketch *copy_sketch(const struct sif_sketch *s)
{
	struct kept_sketch head = {
		.window = s->window,
		.rest_shift = s->rest_shift,
		.distinct = s->distinct,
		.windows = s->windows,
		.count = s->count,
		.rest = s->rest,
		.is_placed = s->is_placed,
	};
	struct kept_sketch *k = malloc(kept_bytes(&head));
	size_t all = s->count + s->rest;
	uint8_t *at;

	if (!k)
		return NULL;
	*k = head;
	at = k->parts;
	memcpy(at, s->values, values_bytes(all));
	at += values_bytes(all);
	if (s->windows)
		memcpy(at, s->times, times_bytes(all));
	at += times_bytes(all);
	if (s->is_placed)
		memcpy(at, s->places, s->count);
	return k;
}

static void restore_sketch(const struct kept_sketch *k, struct sif_sketch *out)
{
	size_t all = k->count + k->rest;
	const uint8_t *at = k->parts;

	out->window = k->window;
	out->rest_shift = k->rest_shift;
	out->distinct = k->distinct;
	out->windows = k->windows;
	out->count = k->count;
	out->rest = k->rest;
	out->is_placed = k->is_placed;
	memcpy(out->values, at, values_bytes(all));
	at += values_bytes(all);
	if (k->windows)
		memcpy(out->times, at, times_bytes(all));
	at += times_bytes(all);
	if (k->is_placed)
		memcpy(out->places, at, k->count);
}

/* ---- slots ---- */

/* NULL, or the part of the content; under the lock. */
static const void *find(struct sketch_cache *c, uint32_t content,
			enum part part)
{
	const struct sketch_slot *slot =
		&c->slots[content % SKETCH_CACHE_SLOTS];

	return slot->content == content ? slot->parts[part] : NULL;
}

/* Takes data, which may be NULL; drops them where there is no room. */
static void keep(struct sketch_cache *c, uint32_t content, enum part part,
		 void *data, size_t bytes)
{
	struct sketch_slot *slot = &c->slots[content % SKETCH_CACHE_SLOTS];
	bool kept = false;

	if (!data)
		return;
	pthread_mutex_lock(&c->lock);
	if (slot->content != content)
		slot_clear(c, slot);
	/* Another thread may have been faster. */
	if (!slot->parts[part] && c->bytes + bytes <= SKETCH_CACHE_BYTES) {
		slot->content = content;
		slot->parts[part] = data;
		slot->bytes += (uint32_t)bytes;
		c->bytes += bytes;
		kept = true;
	}
	pthread_mutex_unlock(&c->lock);
	if (!kept)
		free(data);
}

/* ---- sketches ---- */

static bool find_sketch(struct sketch_cache *c, uint32_t content,
			struct sif_sketch *out)
{
	const struct kept_sketch *k;

	pthread_mutex_lock(&c->lock);
	k = find(c, content, PART_SIF);
	if (k)
		restore_sketch(k, out);
	pthread_mutex_unlock(&c->lock);
	return k != NULL;
}

int sketch_cache_get(struct sketch_cache *c, struct catalog_txn *txn,
		     uint32_t content, struct sif_sketch *out)
{
	struct kept_sketch *k;
	int err;

	if (find_sketch(c, content, out))
		return 0;
	err = catalog_sketch_get(txn, content, out);
	if (err)
		return err;
	k = copy_sketch(out);
	keep(c, content, PART_SIF, k, k ? kept_bytes(k) : 0);
	return 0;
}

static bool find_short(struct sketch_cache *c, uint32_t content,
		       struct short_sketch *out)
{
	const struct short_sketch *k;

	pthread_mutex_lock(&c->lock);
	k = find(c, content, PART_SIF8);
	if (k)
		*out = *k;
	pthread_mutex_unlock(&c->lock);
	return k != NULL;
}

int sketch_cache_get_short(struct sketch_cache *c, struct catalog_txn *txn,
			   uint32_t content, struct short_sketch *out)
{
	struct short_sketch *k;
	int err;

	if (find_short(c, content, out))
		return 0;
	err = catalog_short_sketch_get(txn, content, out);
	if (err)
		return err;
	k = malloc(sizeof(*k));
	if (k)
		*k = *out;
	keep(c, content, PART_SIF8, k, sizeof(*k));
	return 0;
}
