/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/digest/digest.h"
#include "core/digest/sdhash/sdhash.h"

/*
 * The bytes of this digest are its lines, as the program writes them of a file:
 * one with a stream digest below 16 MiB.  From there on, or if the size is not
 * known, a line with a block digest for each segment of 128 MiB, whose name has
 * the offset, unless it is the only one of a known size: "x.0000M", "x.0128M".
 */
#define BLOCK 16384
#define BLOCKS_FROM (UINT64_C(16) << 20)
#define SEGMENT (UINT64_C(128) << 20)
#define SHORT_TAIL 512 /* belongs to the segment before */

struct features {
	const char *name; /* borrowed until final */
	size_t most;      /* bytes of a line */
	bool in_blocks, size_is_known;
	uint64_t size;    /* so far */
	uint64_t segment; /* number of the growing one */
	uint64_t filled;  /* of the segment, without what is held */
	size_t held;      /* bytes behind a full segment, perhaps its tail */
	uint8_t hold[SHORT_TAIL];
	struct sdhash_digest digest;
	struct sdhash sdhash;
	struct buf lines;
};

static int begin_line(struct features *f)
{
	int err = sdhash_set_name(&f->digest, f->name);

	f->filled = 0;
	return err ? err :
		     sdhash_begin(&f->sdhash, f->in_blocks ? BLOCK : 0, f->most,
				  &f->digest);
}

static int end_line(struct features *f, bool is_only)
{
	int err = 0;

	if (f->in_blocks && !(is_only && f->size_is_known))
		err = buf_append_format(&f->digest.name, ".%04" PRIu64 "M",
					f->segment * (SEGMENT >> 20));
	if (!err)
		err = sdhash_final(&f->sdhash);
	if (!err && f->lines.len)
		err = buf_append_text(&f->lines, "\n");
	return err ? err : sdhash_format(&f->digest, &f->lines);
}

static int begin(void *state, const struct digest_stream *stream)
{
	struct features *f = state;

	f->name = stream->name;
	f->most = stream->sdhash_most;
	f->in_blocks = stream->size >= BLOCKS_FROM;
	f->size_is_known = stream->size != UINT64_MAX;
	f->size = 0;
	f->segment = 0;
	f->held = 0;
	buf_clear(&f->lines);
	return begin_line(f);
}

static int fill(struct features *f, const uint8_t *data, size_t len)
{
	f->filled += len;
	return sdhash_update(&f->sdhash, data, len);
}

/* More than a tail follows the full segment. */
static int next_segment(struct features *f)
{
	int err = end_line(f, false);

	if (!err)
		err = begin_line(f);
	if (!err)
		err = fill(f, f->hold, f->held);
	f->segment++;
	f->held = 0;
	return err;
}

/* -ESTALE: the size is not what it was said to be, and the digest would be of
 * the other kind. */
static int update(void *state, const void *data, size_t len)
{
	struct features *f = state;
	const uint8_t *at = data;
	size_t part;
	int err = 0;

	f->size += len;
	if (!f->in_blocks)
		return f->size >= BLOCKS_FROM ? -ESTALE : fill(f, data, len);
	for (; len > 0 && !err; at += part, len -= part) {
		part = SEGMENT - f->filled < len ? SEGMENT - f->filled : len;
		if (part > 0) {
			err = fill(f, at, part);
		} else if (f->held < SHORT_TAIL) {
			part = SHORT_TAIL - f->held;
			part = part < len ? part : len;
			memcpy(f->hold + f->held, at, part);
			f->held += part;
		} else {
			err = next_segment(f);
		}
	}
	return err;
}

static int final(void *state, struct buf *out)
{
	struct features *f = state;
	int err;

	if (f->in_blocks && f->size_is_known && f->size < BLOCKS_FROM)
		return -ESTALE;
	err = fill(f, f->hold, f->held);
	/* The program adds the tail twice, unless it has one segment only: it
	 * reads past the end of the file, and finds zeros. */
	if (!err && f->segment > 0)
		err = sdhash_pad(&f->sdhash, f->held);
	if (!err)
		err = end_line(f, f->segment == 0);
	return err ? err : buf_append(out, f->lines.data, f->lines.len);
}

static void release(void *state)
{
	struct features *f = state;

	sdhash_digest_release(&f->digest);
	buf_release(&f->lines);
}

static int check(struct digest_value v)
{
	struct sdhash_digest d = { 0 };
	int err = sdhash_parse((const char *)v.bytes, v.len, &d);

	sdhash_digest_release(&d);
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
	int score = -1, err = sdhash_parse((const char *)a.bytes, a.len, &x);

	if (!err)
		err = sdhash_parse((const char *)b.bytes, b.len, &y);
	if (!err)
		score = sdhash_score(&x, &y);
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
	.format = digest_format_bytes,
	.parse = parse,
	.check = check,
	.compare = compare,
};
