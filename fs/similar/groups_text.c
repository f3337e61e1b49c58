/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/groups_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/hex.h"
#include "core/base/text.h"
#include "core/search/search.h"

static const char first_line[] = "relation=groups\n";

bool groups_text_is_query(const char *text, size_t len)
{
	return len >= strlen(first_line) &&
	       memcmp(text, first_line, strlen(first_line)) == 0;
}

struct groups_parser {
	struct file_groups_query *q;
	bool has_exact, has_every, has_threshold, has_min_size;
};

static int take_number(const char *at, const char *end, uint64_t most,
		       bool *has, uint64_t *out)
{
	uint64_t value;

	if (*has || !text_number(&at, end, &value) || at != end || value > most)
		return -EINVAL;
	*has = true;
	*out = value;
	return 0;
}

static int take_path(struct groups_parser *p, const char *hex, size_t len)
{
	char *path = malloc(len / 2 + 1);
	int err = path ? 0 : -ENOMEM;

	if (!err && hex_decode(hex, len, (uint8_t *)path, len / 2))
		err = -EINVAL;
	if (!err && memchr(path, 0, len / 2))
		err = -EINVAL;
	if (!err)
		err = search_paths_add(&p->q->within, path, len / 2);
	free(path);
	return err;
}

static bool has_name(const char *line, size_t len, const char *name,
		     const char **value_out)
{
	if (len < strlen(name) || memcmp(line, name, strlen(name)) != 0)
		return false;
	*value_out = line + strlen(name);
	return true;
}

static int take_line(struct groups_parser *p, const char *line, size_t len)
{
	const char *value, *end = line + len;
	uint64_t number = 0;
	int err;

	if (has_name(line, len, "within=", &value))
		return take_path(p, value, (size_t)(end - value));
	if (has_name(line, len, "min_size=", &value))
		return take_number(value, end, UINT64_MAX, &p->has_min_size,
				   &p->q->min_size);
	if (has_name(line, len, "threshold=", &value)) {
		err = take_number(value, end, 100, &p->has_threshold, &number);
		p->q->rules.threshold = (int)number;
		return err || number ? err : -EINVAL;
	}
	if (has_name(line, len, "exact=", &value)) {
		err = take_number(value, end, 1, &p->has_exact, &number);
		p->q->rules.exact = number;
		return err;
	}
	if (has_name(line, len, "every=", &value)) {
		err = take_number(value, end, 1, &p->has_every, &number);
		p->q->rules.every = number;
		return err;
	}
	return -EINVAL;
}

int groups_text_parse(const char *text, size_t len,
		      struct file_groups_query *out)
{
	struct file_groups_query q = { 0 };
	struct groups_parser p = { .q = &q };
	const char *end = text + len, *stop;
	int err = groups_text_is_query(text, len) ? 0 : -EINVAL;

	text += err ? 0 : strlen(first_line);
	for (; text < end && !err; text = stop + 1) {
		stop = memchr(text, '\n', (size_t)(end - text));
		if (!stop)
			stop = end;
		err = take_line(&p, text, (size_t)(stop - text));
	}
	if (err)
		groups_text_release(&q);
	else
		*out = q;
	return err;
}

void groups_text_release(struct file_groups_query *q)
{
	search_paths_release(&q->within);
}

/* Adds the digests after the first file of a content. */
static int add_digests(const struct search_group_hit *file, struct buf *out)
{
	int err;

	if (!file->digests)
		return 0;
	err = buf_append_format(out, "digests %u\n", file->group);
	return err ? err :
		     buf_append(out, file->digests, strlen(file->digests) + 1);
}

/* Another name of the file before. */
static int add_link(const struct search_hit *hit, struct buf *out)
{
	int err = buf_append_text(out, "link ");

	return err ? err : buf_append(out, hit->path, strlen(hit->path) + 1);
}

int groups_text_add_files(const struct search_group_hits *files,
			  struct buf *out)
{
	size_t i;
	int err = 0;

	for (i = 0; i < files->hits->count && !err; i++) {
		const struct search_group_hit *file = &files->files[i];
		const struct search_hit *hit = &files->hits->hits[i];
		char hex[2 * sizeof(file->xxh128) + 1];

		if (hit->link) {
			err = add_link(hit, out);
			continue;
		}
		hex_encode(file->xxh128, sizeof(file->xxh128), hex);
		err = buf_append_format(
			out, "file %u %d %llu %llu %s %lld/", file->group,
			hit->verdict.score, (unsigned long long)file->size,
			(unsigned long long)hit->disk, hex,
			(long long)time_in_order(hit->identity.mtime_ns));
		if (!err)
			err = buf_append(out, hit->path, strlen(hit->path) + 1);
		if (!err)
			err = add_digests(file, out);
		if (!err && hit->nlink > 1)
			err = buf_append_format(out, "nlink %llu",
						(unsigned long long)hit->nlink);
		if (!err && hit->nlink > 1)
			err = buf_append(out, "", 1);
	}
	return err;
}
