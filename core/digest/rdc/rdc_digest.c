/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/digest/digest.h"
#include "core/digest/rdc/rdc.h"

static int begin(void *state, const struct digest_stream *stream)
{
	struct rdc *r = state;
	int err = r->ops ? 0 : rdc_init(r, RDC_WINDOW, RDC_HORIZON);

	if (err)
		return err;
	rdc_begin(r);
	rdc_expect(r, stream->size);
	return 0;
}

static int update(void *state, const void *data, size_t len)
{
	rdc_update(state, data, len);
	return 0;
}

static int zeros(void *state, uint64_t len)
{
	rdc_update_zeros(state, len);
	return 0;
}

static int final(void *state, struct buf *out)
{
	uint8_t traits[RDC_TRAITS];

	rdc_final(state, traits);
	return buf_append(out, traits, sizeof(traits));
}

static int check(struct digest_value v)
{
	size_t i;

	for (i = 0; i < RDC_TRAITS; i++)
		if (v.bytes[i] > 0x3f)
			return -EINVAL;
	return 0;
}

static int parse(const char *text, size_t len, struct buf *out)
{
	uint8_t bytes[RDC_TRAITS];
	int err = hex_decode(text, len, bytes, sizeof(bytes));

	if (!err)
		err = check((struct digest_value){ bytes, sizeof(bytes) });
	return err ? err : buf_append(out, bytes, sizeof(bytes));
}

static int compare(struct digest_value a, struct digest_value b, int *score_out)
{
	static const uint8_t none[RDC_TRAITS];
	int i, equal = 0;

	if (memcmp(a.bytes, none, sizeof(none)) != 0 &&
	    memcmp(b.bytes, none, sizeof(none)) != 0)
		for (i = 0; i < RDC_TRAITS; i++)
			equal += a.bytes[i] == b.bytes[i];
	*score_out = 100 * equal / RDC_TRAITS;
	return 0;
}

static const struct digest_part part = {
	.size = sizeof(struct rdc),
	.begin = begin,
	.update = update,
	.zeros = zeros,
};

const struct digest_ops digest_rdc = {
	.id = DIGEST_RDC,
	.name = "rdc",
	.attribute = "user.rdc.traits",
	.flags = DIGEST_IS_KEPT | DIGEST_IS_DEFAULT,
	.listed = 2,
	.len = RDC_TRAITS,
	.offset = offsetof(struct digests, traits),
	.part = &part,
	.final = final,
	.format = digest_format_hex,
	.parse = parse,
	.check = check,
	.compare = compare,
};
