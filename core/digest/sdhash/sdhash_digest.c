/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "core/digest/digest.h"
#include "core/digest/sdhash/sdhash.h"

/* The bytes of this digest are its lines, one or those of the segments of a
 * file. */

struct features {
	struct sdhash_input input;
	struct buf lines;
};

static int add(void *context, struct sdhash_digest *digest)
{
	struct buf *lines = context;
	int err = lines->len ? buf_append_text(lines, "\n") : 0;

	return err ? err : sdhash_format(digest, lines);
}

static int begin(void *state, const struct digest_stream *stream)
{
	struct features *f = state;

	sdhash_input_release(&f->input);
	buf_clear(&f->lines);
	return sdhash_input_begin(&f->input, stream->name, stream->size,
				  stream->sdhash_most, add, &f->lines);
}

static int update(void *state, const void *data, size_t len)
{
	struct features *f = state;

	return sdhash_input_update(&f->input, data, len);
}

static void release(void *state)
{
	struct features *f = state;

	sdhash_input_release(&f->input);
	buf_release(&f->lines);
}

static int final(void *state, struct buf *out)
{
	struct features *f = state;
	int err = sdhash_input_final(&f->input);

	return err ? err : buf_append(out, f->lines.data, f->lines.len);
}

static int format(struct digest_value v, struct buf *out)
{
	return buf_append(out, v.bytes, v.len);
}

/* One digest of all lines. */
static int join(struct digest_value v, struct sdhash_digest *out)
{
	struct sdhash_set set = { 0 };
	struct sdhash_fault fault;
	int err = sdhash_set_parse((const char *)v.bytes, v.len, &set, &fault);

	if (!err)
		err = sdhash_set_join(&set, out);
	sdhash_set_release(&set);
	return err;
}

/* -EINVAL as well for lines that end in CR LF, and empty ones. */
static int check(struct digest_value v)
{
	struct sdhash_digest joined = { 0 };
	struct sdhash_set set = { 0 };
	struct sdhash_fault fault;
	struct buf again = { 0 };
	size_t i;
	int err = sdhash_set_parse((const char *)v.bytes, v.len, &set, &fault);

	if (!err)
		err = sdhash_set_join(&set, &joined);
	for (i = 0; i < set.count && !err; i++)
		err = add(&again, &set.digests[i]);
	if (!err &&
	    (again.len != v.len || memcmp(again.data, v.bytes, v.len) != 0))
		err = -EINVAL;
	buf_release(&again);
	sdhash_digest_release(&joined);
	sdhash_set_release(&set);
	return err;
}

static int parse(const char *text, size_t len, struct buf *out)
{
	int err = check((struct digest_value){ (const uint8_t *)text, len });

	return err ? err : buf_append(out, text, len);
}

static int compare(struct digest_value a, struct digest_value b, int *score_out)
{
	struct sdhash_digest x = { 0 }, y = { 0 };
	int score = 0, err = join(a, &x);

	if (!err)
		err = join(b, &y);
	if (!err)
		score = sdhash_score(&x, &y, SDHASH_SCORE);
	sdhash_digest_release(&x);
	sdhash_digest_release(&y);
	if (!err && score < 0)
		err = -ENODATA;
	if (!err)
		*score_out = score;
	return err;
}

static const struct digest_part part = {
	.size = sizeof(struct features),
	.begin = begin,
	.update = update,
	.release = release,
};

const struct digest_ops digest_sdhash = {
	.id = DIGEST_SDHASH,
	.name = "sdhash",
	.attribute = "user.sdhash",
	.part = &part,
	.final = final,
	.format = format,
	.parse = parse,
	.check = check,
	.compare = compare,
};
