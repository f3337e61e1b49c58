/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sdhash_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"

/* Characters of base64. */
static uint64_t encoded(uint64_t bytes)
{
	return (bytes + 2) / 3 * 4;
}

/* Of the line, at least. */
static uint64_t text_so_far(const struct sdhash_file *f)
{
	return f->text.len +
	       encoded((uint64_t)f->digest.count * SDHASH_FILTER_BYTES);
}

static int check_length(const struct sdhash_file *f)
{
	return text_so_far(f) > f->most ? -E2BIG : 0;
}

static int begin_segment(struct sdhash_file *f)
{
	struct sdhash_segment segment = sdhash_segment(f->size, f->index);
	int err;

	f->left = segment.size;
	buf_clear(&f->digest.name);
	err = sdhash_segment_name(f->name.data, f->size, f->index,
				  &f->digest.name);
	if (!err)
		err = sdhash_begin(&f->sdhash, SDHASH_4_0,
				   sdhash_default_block(f->size), &f->digest);
	return err;
}

static int end_segment(struct sdhash_file *f)
{
	struct sdhash_segment segment = sdhash_segment(f->size, f->index);
	int err = sdhash_pad(&f->sdhash, segment.zeros);

	if (!err)
		err = sdhash_final(&f->sdhash);
	if (!err && f->text.len)
		err = buf_append_text(&f->text, "\n");
	if (!err)
		err = sdhash_format(&f->digest, &f->text);
	f->index++;
	return err;
}

void sdhash_file_init(struct sdhash_file *f)
{
	*f = (struct sdhash_file){ 0 };
}

void sdhash_file_release(struct sdhash_file *f)
{
	sdhash_digest_release(&f->digest);
	buf_release(&f->name);
	buf_release(&f->text);
}

static int set_name(struct sdhash_file *f, const char *name)
{
	int err;
	char *c;

	buf_clear(&f->name);
	err = buf_append_text(&f->name, name);
	if (err)
		return err;
	for (c = f->name.data; *c; c++)
		if (*c == ':' || (unsigned char)*c < 32 || *c == 127)
			*c = '?';
	return 0;
}

int sdhash_file_begin(struct sdhash_file *f, const char *name, uint64_t size,
		      size_t most)
{
	uint32_t block = sdhash_default_block(size);
	int err = set_name(f, name);

	if (err)
		return err;
	buf_clear(&f->text);
	f->size = size;
	f->index = 0;
	f->most = most;
	/* Every block has a filter. */
	if (block && encoded(size / block * SDHASH_FILTER_BYTES) > most)
		return -E2BIG;
	return begin_segment(f);
}

int sdhash_file_update(struct sdhash_file *f, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	size_t part;
	int err = 0;

	while (len > 0 && !err) {
		if (!f->left) {
			if (f->index + 1 == sdhash_segments(f->size))
				return -EAGAIN; /* it grew */
			err = end_segment(f);
			if (!err)
				err = begin_segment(f);
			continue;
		}
		part = len < f->left ? len : (size_t)f->left;
		err = sdhash_update(&f->sdhash, bytes, part);
		if (!err)
			err = check_length(f);
		bytes += part;
		len -= part;
		f->left -= part;
	}
	return err;
}

int sdhash_file_final(struct sdhash_file *f, struct buf *out)
{
	int err;

	if (f->left || f->index + 1 != sdhash_segments(f->size))
		return -EAGAIN;
	err = end_segment(f);
	if (!err && f->text.len > f->most)
		err = -E2BIG;
	return err ? err : buf_append(out, f->text.data, f->text.len);
}

/* ---- several lines ---- */

void sdhash_free_lines(struct sdhash_digest *digests, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		sdhash_digest_release(&digests[i]);
	free(digests);
}

int sdhash_parse_lines(const char *text, size_t len,
		       struct sdhash_digest **digests_out, size_t *count_out)
{
	struct sdhash_digest *digests = NULL, *more;
	const char *at = text, *end = text + len, *line_end;
	size_t count = 0;
	int err = 0;

	/* A newline at the end begins an empty line. */
	while (at <= end && !err) {
		line_end = memchr(at, '\n', (size_t)(end - at));
		line_end = line_end ? line_end : end;
		more = array_with_room(digests, count, sizeof(*digests));
		if (!more) {
			err = -ENOMEM;
			break;
		}
		digests = more;
		digests[count] = (struct sdhash_digest){ 0 };
		err = sdhash_parse(at, (size_t)(line_end - at),
				   &digests[count]);
		count += !err;
		at = line_end + 1;
	}
	if (err) {
		sdhash_free_lines(digests, count);
		return err;
	}
	*digests_out = digests;
	*count_out = count;
	return 0;
}

static int best_score(const struct sdhash_digest *one,
		      const struct sdhash_digest *many, size_t count,
		      enum sdhash_measure measure)
{
	int score, best = -1;
	size_t i;

	for (i = 0; i < count; i++) {
		score = sdhash_score(one, &many[i], measure);
		best = score > best ? score : best;
	}
	return best;
}

int sdhash_score_lines(const struct sdhash_digest *a, size_t a_count,
		       const struct sdhash_digest *b, size_t b_count,
		       enum sdhash_measure measure)
{
	size_t i, known = 0;
	long sum = 0;
	int best;

	if (a_count > b_count)
		return sdhash_score_lines(b, b_count, a, a_count, measure);
	for (i = 0; i < a_count; i++) {
		best = best_score(&a[i], b, b_count, measure);
		sum += best < 0 ? 0 : best;
		known += best >= 0;
	}
	return known ? (int)((sum + (long)known / 2) / (long)known) : -1;
}
