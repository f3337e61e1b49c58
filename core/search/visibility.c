/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/visibility.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static bool is_free(const struct visibility_entry *at)
{
	return !at->content && !at->path;
}

void visibility_release(struct visibility *v)
{
	size_t i;

	for (i = 0; i < v->size; i++)
		free(v->slots[i].path);
	free(v->slots);
	*v = (struct visibility){ 0 };
}

static bool table_grow(struct visibility *v)
{
	size_t size = v->size ? 2 * v->size : 64, i, at;
	struct visibility_entry *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return false;
	for (i = 0; i < v->size; i++) {
		if (is_free(&v->slots[i]))
			continue;
		at = v->slots[i].hash & (size - 1);
		while (!is_free(&slots[at]))
			at = (at + 1) & (size - 1);
		slots[at] = v->slots[i];
	}
	free(v->slots);
	v->slots = slots;
	v->size = size;
	return true;
}

static bool is_entry_of(const struct visibility_entry *at, const char *path,
			uint32_t content)
{
	if (content)
		return at->content == content;
	return at->path && strcmp(at->path, path) == 0;
}

static struct visibility_entry *find_or_add(struct visibility *v, uint64_t hash,
					    const char *path, uint32_t content)
{
	struct visibility_entry *found;
	size_t at;

	if (2 * v->count >= v->size && !table_grow(v))
		return NULL;
	at = hash & (v->size - 1);
	while (!is_free(&v->slots[at]) &&
	       !is_entry_of(&v->slots[at], path, content))
		at = (at + 1) & (v->size - 1);
	found = &v->slots[at];
	if (!is_free(found))
		return found;
	*found = (struct visibility_entry){ .hash = hash,
					    .path = path ? strdup(path) : NULL,
					    .content = content };
	if (is_free(found))
		return NULL;
	v->count++;
	return found;
}

struct visibility_entry *visibility_of_content(struct visibility *v,
					       uint32_t content)
{
	return find_or_add(v, XXH3_64bits(&content, sizeof(content)), NULL,
			   content);
}

struct visibility_entry *visibility_of_path(struct visibility *v,
					    const char *path)
{
	return find_or_add(v, XXH3_64bits(path, strlen(path)), path, 0);
}
