/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_VECTORS_H
#define TESTS_SUPPORT_VECTORS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

/* Reading golden data.  What goes wrong here fails the test. */

#define TSV_FIELDS 12

struct tsv {
	FILE *file;
	char *line;
	size_t capacity;
	char *fields[TSV_FIELDS];
	size_t count;
};

static inline struct tsv tsv_open(const char *path)
{
	struct tsv t = { .file = fopen(path, "r") };

	if (!t.file)
		fail_msg("cannot open %s", path);
	return t;
}

/* The next line that does not start with #, cut at its tabs; 0 at the end. */
static inline int tsv_next(struct tsv *t)
{
	char *rest;

	do {
		if (getline(&t->line, &t->capacity, t->file) < 0)
			return 0;
	} while (t->line[0] == '#');
	t->line[strcspn(t->line, "\n")] = '\0';
	rest = t->line;
	for (t->count = 0; rest && t->count < TSV_FIELDS; t->count++)
		t->fields[t->count] = strsep(&rest, "\t");
	return 1;
}

static inline void tsv_close(struct tsv *t)
{
	free(t->line);
	(void)fclose(t->file);
}

struct bytes {
	uint8_t *data;
	size_t len;
};

static inline struct bytes bytes_new(size_t len)
{
	struct bytes b = { malloc(len + 1), len };

	assert_non_null(b.data);
	return b;
}

static inline void bytes_append(struct bytes *b, struct bytes more)
{
	b->data = realloc(b->data, b->len + more.len + 1);
	assert_non_null(b->data);
	memcpy(b->data + b->len, more.data, more.len);
	b->len += more.len;
}

static inline struct bytes bytes_read(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct bytes b;

	if (!file)
		fail_msg("cannot open %s", path);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	b = bytes_new((size_t)ftell(file));
	rewind(file);
	assert_int_equal(fread(b.data, 1, b.len, file), b.len);
	(void)fclose(file);
	return b;
}

#endif
