/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/sketch_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A sketch without the room that it does not need. */
struct kept_sketch {
	uint64_t folded, windows;
	unsigned level;
	size_t count;
	bool is_placed;
	uint8_t parts[]; /* values, times, places */
};

struct sketch_slot {
	uint32_t content;         /* 0: the slot is free */
	uint32_t bytes;           /* of the sketch */
	struct kept_sketch *kept; /* owned */
};

struct sketch_cache {
	pthread_mutex_t lock; /* everything below */
	size_t bytes;
	struct sketch_slot slots[SKETCH_CACHE_SLOTS];
};

static void slot_clear(struct sketch_cache *c, struct sketch_slot *slot)
{
	free(slot->kept);
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

static size_t kept_bytes(const struct kept_sketch *k)
{
	return sizeof(*k) +
	       k->count * (sizeof(uint64_t) + sizeof(uint32_t) + k->is_placed);
}

/* Copies the arrays from or to what is kept. */
static void copy_parts(struct kept_sketch *k, struct sketch *s, bool keep)
{
	const struct {
		void *array;
		size_t bytes;
	} arrays[] = {
		{ s->values, k->count * sizeof(s->values[0]) },
		{ s->times, k->count * sizeof(s->times[0]) },
		{ s->places, k->is_placed ? k->count : 0 },
	};
	uint8_t *at = k->parts;
	size_t i;

	for (i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		memcpy(keep ? at : arrays[i].array, keep ? arrays[i].array : at,
		       arrays[i].bytes);
		at += arrays[i].bytes;
	}
}

static struct kept_sketch *keep_sketch(struct sketch *s)
{
	const struct kept_sketch head = {
		.folded = s->folded,
		.windows = s->windows,
		.level = s->level,
		.count = s->count,
		.is_placed = s->is_placed,
	};
	struct kept_sketch *k = malloc(kept_bytes(&head));

	if (!k)
		return NULL;
	*k = head;
	copy_parts(k, s, true);
	return k;
}

static void restore_sketch(struct kept_sketch *k, struct sketch *out)
{
	out->folded = k->folded;
	out->windows = k->windows;
	out->level = k->level;
	out->count = k->count;
	out->is_placed = k->is_placed;
	copy_parts(k, out, false);
}

/* ---- slots ---- */

/* Takes the sketch; drops it where there is no room. */
static void keep(struct sketch_cache *c, uint32_t content,
		 struct kept_sketch *k)
{
	struct sketch_slot *slot = &c->slots[content % SKETCH_CACHE_SLOTS];
	size_t bytes = kept_bytes(k);

	pthread_mutex_lock(&c->lock);
	/* Another thread may have been faster. */
	if (slot->content != content) {
		slot_clear(c, slot);
		if (c->bytes + bytes <= SKETCH_CACHE_BYTES) {
			*slot = (struct sketch_slot){ content, (uint32_t)bytes,
						      k };
			c->bytes += bytes;
			k = NULL;
		}
	}
	pthread_mutex_unlock(&c->lock);
	free(k);
}

/* ---- sketches ---- */

static bool find_sketch(struct sketch_cache *c, uint32_t content,
			struct sketch *out)
{
	const struct sketch_slot *slot =
		&c->slots[content % SKETCH_CACHE_SLOTS];
	bool found;

	pthread_mutex_lock(&c->lock);
	found = slot->content == content;
	if (found)
		restore_sketch(slot->kept, out);
	pthread_mutex_unlock(&c->lock);
	return found;
}

int sketch_cache_get(struct sketch_cache *c, struct catalog_txn *txn,
		     uint32_t content, struct sketch *out)
{
	struct kept_sketch *k;
	int err;

	if (find_sketch(c, content, out))
		return 0;
	err = catalog_sketch_get(txn, content, out);
	if (err)
		return err;
	k = keep_sketch(out);
	if (k)
		keep(c, content, k);
	return 0;
}
