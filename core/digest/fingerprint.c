/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/fingerprint.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* Every part goes over this much before the next: it stays in the second
 * cache, and samples that guess where they end guess best from many bytes. */
#define SLICE 262144

struct running_part {
	const struct digest_part *part;
	void *state; /* owned */
};

struct fingerprint {
	uint32_t set;
	uint64_t size;     /* so far */
	uint64_t expected; /* no more bytes will come */
	size_t count;
	struct running_part parts[DIGEST_ROWS];
	struct buf bytes; /* of one digest */
	const struct digest_key *key;
};

static void *state_of(const struct fingerprint *fp,
		      const struct digest_part *part)
{
	size_t i;

	for (i = 0; i < fp->count; i++)
		if (fp->parts[i].part == part)
			return fp->parts[i].state;
	return NULL;
}

int fingerprint_new(uint32_t digest_set, struct fingerprint **out)
{
	struct fingerprint *fp = calloc(1, sizeof(*fp));
	size_t id;

	if (!fp)
		return -ENOMEM;
	fp->set = digest_set | DIGEST_BIT(DIGEST_XXH128);
	for (id = 0; id < DIGEST_ROWS; id++) {
		const struct digest_part *part = digest_table[id]->part;
		struct running_part *running = &fp->parts[fp->count];

		if (!part)
			fp->set &= ~DIGEST_BIT(id);
		if (!(fp->set & DIGEST_BIT(id)) || state_of(fp, part))
			continue;
		*running = (struct running_part){ part, calloc(1, part->size) };
		if (!running->state) {
			fingerprint_free(fp);
			return -ENOMEM;
		}
		fp->count++;
	}
	*out = fp;
	return 0;
}

void fingerprint_set_key(struct fingerprint *fp, const struct digest_key *key)
{
	fp->key = key;
}

void fingerprint_free(struct fingerprint *fp)
{
	size_t i;

	if (!fp)
		return;
	for (i = 0; i < fp->count; i++) {
		if (fp->parts[i].part->release)
			fp->parts[i].part->release(fp->parts[i].state);
		free(fp->parts[i].state);
	}
	buf_release(&fp->bytes);
	free(fp);
}

int fingerprint_begin_file(struct fingerprint *fp, const char *name,
			   uint64_t size, size_t sdhash_most)
{
	const struct digest_stream stream = { fp->set, size, name, sdhash_most,
					      fp->key };
	size_t i;
	int err = 0;

	fp->size = 0;
	fp->expected = size;
	for (i = 0; i < fp->count && !err; i++)
		err = fp->parts[i].part->begin(fp->parts[i].state, &stream);
	return err;
}

/* ---- the stream ---- */

static int update_by_slices(const struct running_part *p, uint64_t len)
{
	static const uint8_t zeros[SLICE];
	size_t some;
	int err = 0;

	for (; len > 0 && !err; len -= some) {
		some = len < SLICE ? (size_t)len : SLICE;
		err = p->part->update(p->state, zeros, some);
	}
	return err;
}

static int add_size(struct fingerprint *fp, uint64_t len)
{
	fp->size += len;
	return fp->size > fp->expected ? -ESTALE : 0;
}

int fingerprint_update(struct fingerprint *fp, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	size_t some, i;
	int err = add_size(fp, len);

	for (; len > 0 && !err; len -= some, bytes += some) {
		some = len < SLICE ? len : SLICE;
		for (i = 0; i < fp->count && !err; i++)
			err = fp->parts[i].part->update(fp->parts[i].state,
							bytes, some);
	}
	return err;
}

int fingerprint_update_zeros(struct fingerprint *fp, uint64_t len)
{
	const struct running_part *p = fp->parts;
	int err = add_size(fp, len);

	for (; p < fp->parts + fp->count && !err; p++)
		err = p->part->zeros ? p->part->zeros(p->state, len) :
				       update_by_slices(p, len);
	return err;
}

/* ---- the result ---- */

/* Content that is too large for a digest, or too small, goes without it. */
static int finish(struct fingerprint *fp, enum digest_id id, struct digests *d)
{
	const struct digest_ops *ops = digest_table[id];
	int err;

	buf_clear(&fp->bytes);
	err = ops->final(state_of(fp, ops->part), &fp->bytes);
	if (err == -ENODATA)
		return 0;
	return err ? err :
		     digest_put(d, id,
				(struct digest_value){
					(const uint8_t *)fp->bytes.data,
					fp->bytes.len });
}

int fingerprint_final(struct fingerprint *fp, struct digests *out)
{
	struct digests d = { .size = fp->size };
	int id, err = 0;

	for (id = 0; id < DIGEST_ROWS && !err; id++)
		if (fp->set & DIGEST_BIT(id))
			err = finish(fp, id, &d);
	if (err)
		digests_release(&d);
	else
		*out = d;
	return err;
}
