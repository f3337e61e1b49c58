/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/eval/eval.h"

#define LARGEST_COLLECTED (16 * MIB)

static void add_line(struct list *l, const char *list, char *line)
{
	char *tab = strchr(line, '\t');

	line[strcspn(line, "\n")] = 0;
	if (!tab)
		fail("%s: a line without a key: %s", list, line);
	*tab = 0;
	l->files = grown(l->files, l->count, sizeof(*l->files));
	l->files[l->count].path = allocate_text("%s", line);
	l->files[l->count++].key = allocate_text("%s", tab + 1);
}

void list_read(struct list *l, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	if (!file)
		fail_errno(path, -errno);
	while (getline(&line, &room, file) > 0)
		add_line(l, path, line);
	free(line);
	(void)fclose(file);
}

void list_release(struct list *l)
{
	size_t i;

	for (i = 0; i < l->count; i++) {
		free(l->files[i].path);
		free(l->files[i].key);
	}
	free(l->files);
	*l = (struct list){ 0 };
}

void list_add_files(const struct list *l, struct corpus *c)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		corpus_add_file(c, l->files[i].path, l->files[i].key);
}

/* ---- classes ---- */

enum class { FOUND_TEXT, FOUND_SOURCE, FOUND_ELF, FOUND_PACKED, FOUND_BINARY };

static const char *const class_names[FOUND_CLASSES] = {
	"found-text",   "found-source", "found-elf",
	"found-packed", "found-binary",
};

static bool is_source(const char *path)
{
	static const char *const suffixes[] = { ".h",   ".hpp", ".c", ".ipp",
						".vim", ".pm",  ".py" };
	const char *suffix = strrchr(path, '.');
	size_t i;

	for (i = 0; suffix && i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (!strcmp(suffix, suffixes[i]))
			return true;
	return false;
}

static bool is_packed(const struct bytes *b)
{
	static const char *const starts[] = { "\x89PNG",  "\xff\xd8\xff",
					      "%PDF",     "\x1f\x8b",
					      "\3757zXZ", "PK\x03\x04" };
	size_t i, len;

	for (i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		len = strlen(starts[i]);
		if (b->len >= len && !memcmp(b->data, starts[i], len))
			return true;
	}
	return false;
}

static enum class class_of(const char *path, const struct bytes *b) {
	if (b->len >= 4 && !memcmp(b->data, "\177ELF", 4)) return FOUND_ELF;
	if (is_packed(b)) return FOUND_PACKED;
	if (memchr(b->data, 0, b->len)) return FOUND_BINARY;
	return is_source(path) ? FOUND_SOURCE : FOUND_TEXT;
}

/* ---- collecting ---- */

static int by_key_hash(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	uint64_t hash_x = hash_text(x->key), hash_y = hash_text(y->key);

	if (hash_x != hash_y)
		return hash_x < hash_y ? -1 : 1;
	return strcmp(x->path, y->path);
}

static struct listed *mixed(const struct list *l)
{
	struct listed *files = allocate(l->count * sizeof(*files));

	if (l->count)
		memcpy(files, l->files, l->count * sizeof(*files));
	qsort(files, l->count, sizeof(*files), by_key_hash);
	return files;
}

static void collect(struct bytes *pool, size_t size, size_t class,
		    const char *path)
{
	struct bytes b;
	size_t part;

	if (!file_read(path, LARGEST_COLLECTED, &b))
		return;
	if (class_of(path, &b) == (enum class) class) {
		part = b.len < size - pool->len ? b.len : size - pool->len;
		memcpy(pool->data + pool->len, b.data, part);
		pool->len += part;
	}
	free(b.data);
}

struct material material_collect(const struct list *l, size_t class,
				 size_t size)
{
	struct material m = { .name = class_names[class],
			      .pool = { .data = allocate(size) } };
	struct listed *files = mixed(l);
	size_t i;

	for (i = 0; i < l->count && m.pool.len < size; i++)
		if (!i || strcmp(files[i].key, files[i - 1].key))
			collect(&m.pool, size, class, files[i].path);
	free(files);
	return m;
}
