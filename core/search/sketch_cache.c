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

struct sketch_slot {
	uint32_t content;          /* 0: the slot is free */
	struct kept_sketch *sif;   /* owned, or NULL */
	struct short_sketch *sif8; /* owned, or NULL */
};

struct sketch_cache {
	pthread_mutex_t lock; /* everything below */
	size_t bytes;
	struct sketch_slot slots[SKETCH_CACHE_SLOTS];
};

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
	for (i = 0; i < SKETCH_CACHE_SLOTS; i++) {
		free(c->slots[i].sif);
		free(c->slots[i].sif8);
	}
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

static struct kept_sketch *keep_sketch(const struct sif_sketch *s)
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

/* ---- slots; under the lock ---- */

static void slot_clear(struct sketch_cache *c, struct sketch_slot *slot)
{
	if (slot->sif)
		c->bytes -= kept_bytes(slot->sif);
	if (slot->sif8)
		c->bytes -= sizeof(*slot->sif8);
	free(slot->sif);
	free(slot->sif8);
	*slot = (struct sketch_slot){ 0 };
}

/* The slot of the content, if it is in it. */
static struct sketch_slot *slot_find(struct sketch_cache *c, uint32_t content)
{
	struct sketch_slot *slot = &c->slots[content % SKETCH_CACHE_SLOTS];

	return slot->content == content ? slot : NULL;
}

/* The same, for a content that gets so many bytes more; NULL: there is no
 * room. */
static struct sketch_slot *slot_take(struct sketch_cache *c, uint32_t content,
				     size_t bytes)
{
	struct sketch_slot *slot = &c->slots[content % SKETCH_CACHE_SLOTS];

	if (slot->content != content)
		slot_clear(c, slot);
	if (c->bytes + bytes > SKETCH_CACHE_BYTES)
		return NULL;
	slot->content = content;
	c->bytes += bytes;
	return slot;
}

/* ---- sketches ---- */

static bool find_sketch(struct sketch_cache *c, uint32_t content,
			struct sif_sketch *out)
{
	const struct sketch_slot *slot;
	bool found;

	pthread_mutex_lock(&c->lock);
	slot = slot_find(c, content);
	found = slot && slot->sif;
	if (found)
		restore_sketch(slot->sif, out);
	pthread_mutex_unlock(&c->lock);
	return found;
}

static void put_sketch(struct sketch_cache *c, uint32_t content,
		       const struct sif_sketch *s)
{
	struct kept_sketch *k = keep_sketch(s);
	struct sketch_slot *slot = NULL;

	if (!k)
		return;
	pthread_mutex_lock(&c->lock);
	slot = slot_find(c, content);
	if (!slot || !slot->sif)
		slot = slot_take(c, content, kept_bytes(k));
	else
		slot = NULL; /* another thread was faster */
	if (slot)
		slot->sif = k;
	pthread_mutex_unlock(&c->lock);
	if (!slot)
		free(k);
}

int sketch_cache_get(struct sketch_cache *c, struct catalog_txn *txn,
		     uint32_t content, struct sif_sketch *out)
{
	int err;

	if (find_sketch(c, content, out))
		return 0;
	err = catalog_sketch_get(txn, content, out);
	if (!err)
		put_sketch(c, content, out);
	return err;
}

/* ---- short sketches ---- */

static bool find_short(struct sketch_cache *c, uint32_t content,
		       struct short_sketch *out)
{
	const struct sketch_slot *slot;
	bool found;

	pthread_mutex_lock(&c->lock);
	slot = slot_find(c, content);
	found = slot && slot->sif8;
	if (found)
		*out = *slot->sif8;
	pthread_mutex_unlock(&c->lock);
	return found;
}

static void put_short(struct sketch_cache *c, uint32_t content,
		      const struct short_sketch *s)
{
	struct short_sketch *k = malloc(sizeof(*k));
	struct sketch_slot *slot;

	if (!k)
		return;
	*k = *s;
	pthread_mutex_lock(&c->lock);
	slot = slot_find(c, content);
	if (!slot || !slot->sif8)
		slot = slot_take(c, content, sizeof(*k));
	else
		slot = NULL;
	if (slot)
		slot->sif8 = k;
	pthread_mutex_unlock(&c->lock);
	if (!slot)
		free(k);
}

int sketch_cache_get_short(struct sketch_cache *c, struct catalog_txn *txn,
			   uint32_t content, struct short_sketch *out)
{
	int err;

	if (find_short(c, content, out))
		return 0;
	err = catalog_short_sketch_get(txn, content, out);
	if (!err)
		put_short(c, content, out);
	return err;
}
