/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/bytes.h"
#include "core/share/schema.h"

/* ---- filling ---- */

void batch_clear(struct share_batch *b)
{
	size_t i;

	for (i = 0; i < b->copy_count; i++)
		free(b->copies[i].path);
	for (i = 0; i < b->content_count; i++)
		free(b->contents[i].sketch);
	free(b->copies);
	free(b->gone);
	free(b->contents);
	free(b->postings);
	*b = (struct share_batch){ 0 };
}

int batch_add_copy(struct share_batch *b, const struct share_publication *p,
		   char *path, int64_t mtime_ns)
{
	struct batch_copy *all =
		array_with_room(b->copies, b->copy_count, sizeof(*all));

	if (!all)
		return -ENOMEM;
	b->copies = all;
	all[b->copy_count++] = (struct batch_copy){ .publication = *p,
						    .path = path,
						    .mtime_ns = mtime_ns };
	return 0;
}

int batch_add_gone(struct share_batch *b, const struct share_publication *p)
{
	struct share_publication *all =
		array_with_room(b->gone, b->gone_count, sizeof(*all));

	if (!all)
		return -ENOMEM;
	b->gone = all;
	all[b->gone_count++] = *p;
	return 0;
}

static int add_posting(struct share_batch *b, uint64_t value,
		       const uint8_t *content)
{
	struct batch_posting *all =
		array_with_room(b->postings, b->posting_count, sizeof(*all));

	if (!all)
		return -ENOMEM;
	b->postings = all;
	all += b->posting_count++;
	all->value = value;
	memcpy(all->content, content, DB_UUID_BYTES);
	return 0;
}

/* Its postings, then the sketch itself. */
static int add_sketch(struct share_batch *b, struct batch_content *c,
		      struct sketch *sketch, int64_t limit)
{
	size_t i;
	int err = 0;

	for (i = 0; i < sketch->count && !err; i++) {
		if (i >= SHARE_ANCHORS && (int64_t)sketch->values[i] >= limit)
			break;
		err = add_posting(b, sketch->values[i], c->uuid);
	}
	if (err)
		return err;
	/* Postings are removed by the sketch. */
	c->sketch = malloc(SKETCH_PACKED_MAX);
	if (!c->sketch)
		return -ENOMEM;
	c->sketch_len = sketch_pack(sketch, c->sketch);
	return 0;
}

int batch_add_content(struct share_batch *b, const struct digests *d,
		      struct sketch *sketch, int64_t limit)
{
	struct batch_content *all;

	/* Equal ones often come one after the other. */
	if (b->content_count && !memcmp(b->contents[b->content_count - 1].uuid,
					d->xxh128, DB_UUID_BYTES))
		return 0;
	all = array_with_room(b->contents, b->content_count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	b->contents = all;
	all += b->content_count++;
	*all = (struct batch_content){
		.size = d->size,
		.simhash = digests_simhash(d),
		.has_simhash = d->set & DIGEST_BIT(DIGEST_SIMHASH),
		.has_traits = d->set & DIGEST_BIT(DIGEST_RDC),
	};
	memcpy(all->uuid, d->xxh128, DB_UUID_BYTES);
	memcpy(all->traits, d->traits, sizeof(all->traits));
	return sketch && sketch->count ? add_sketch(b, all, sketch, limit) : 0;
}

/* ---- as the database has it ---- */

void batch_format_file(const struct file_key *key, uint8_t out[DB_FILE_BYTES])
{
	store_be32(out, key->device);
	store_be64(out + 4, key->inode);
	store_be32(out + 12, key->generation);
}

/* Times that PostgreSQL can represent, in seconds. */
#define SECONDS_MIN (-62135596800) /* year 1 */
#define SECONDS_MAX 253402300799   /* year 9999 */

/* The clock of a host may be wrong by millennia. */
int64_t batch_time_us(int64_t ns)
{
	int64_t s = ns / 1000000000, us = ns / 1000 % 1000000;

	if (us < 0) {
		us += 1000000;
		s--;
	}
	s = s < SECONDS_MIN ? SECONDS_MIN : s > SECONDS_MAX ? SECONDS_MAX : s;
	return s * 1000000 + us;
}
