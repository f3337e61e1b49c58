/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>

#include "core/base/xxh3.h"
#include "core/digest/digest.h"

/* XXH3 of 128 bits, in canonical order. */

struct identity {
	XXH3_state_t *xxh; /* owned */
};

static int begin(void *state, const struct digest_stream *stream)
{
	struct identity *i = state;

	(void)stream;
	if (!i->xxh)
		i->xxh = XXH3_createState();
	if (!i->xxh)
		return -ENOMEM;
	(void)XXH3_128bits_reset(i->xxh);
	return 0;
}

static int update(void *state, const void *data, size_t len)
{
	struct identity *i = state;

	(void)XXH3_128bits_update(i->xxh, data, len);
	return 0;
}

static void release(void *state)
{
	struct identity *i = state;

	(void)XXH3_freeState(i->xxh);
}

static int final(void *state, struct buf *out)
{
	struct identity *i = state;
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(i->xxh));
	return buf_append(out, canonical.digest, sizeof(canonical.digest));
}

static const struct digest_part part = {
	.size = sizeof(struct identity),
	.begin = begin,
	.update = update,
	.release = release,
};

const struct digest_ops digest_xxh128 = {
	.id = DIGEST_XXH128,
	.name = "xxh128",
	.attribute = "user.xxh128",
	.flags = DIGEST_IS_KEPT | DIGEST_IS_DEFAULT,
	.listed = 3,
	.len = 16,
	.offset = offsetof(struct digests, xxh128),
	.part = &part,
	.final = final,
	.compare = digest_compare_equal,
};
