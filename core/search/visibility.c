/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/visibility.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static bool is_free(const struct sight *at)
{
	return !at->content && !at->path;
}

void sights_release(struct sights *s)
{
	size_t i;

	for (i = 0; i < s->size; i++)
		free(s->slots[i].path);
	free(s->slots);
	*s = (struct sights){ 0 };
}

static bool grow(struct sights *s)
{
	size_t size = s->size ? 2 * s->size : 64, i, at;
	struct sight *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return false;
	for (i = 0; i < s->size; i++) {
		if (is_free(&s->slots[i]))
			continue;
		at = s->slots[i].hash & (size - 1);
		while (!is_free(&slots[at]))
			at = (at + 1) & (size - 1);
		slots[at] = s->slots[i];
	}
	free(s->slots);
	s->slots = slots;
	s->size = size;
	return true;
}

static bool is_it(const struct sight *at, const char *path, uint32_t content)
{
	if (content)
		return at->content == content;
	return at->path && strcmp(at->path, path) == 0;
}

static struct sight *find(struct sights *s, uint64_t hash, const char *path,
			  uint32_t content)
{
	struct sight *found;
	size_t at;

	if (2 * s->count >= s->size && !grow(s))
		return NULL;
	at = hash & (s->size - 1);
	while (!is_free(&s->slots[at]) && !is_it(&s->slots[at], path, content))
		at = (at + 1) & (s->size - 1);
	found = &s->slots[at];
	if (!is_free(found))
		return found;
	*found = (struct sight){ .hash = hash,
				 .path = path ? strdup(path) : NULL,
				 .content = content,
				 .answer = -1 };
	if (is_free(found))
		return NULL;
	s->count++;
	return found;
}

struct sight *sights_content(struct sights *s, uint32_t content)
{
	return find(s, XXH3_64bits(&content, sizeof(content)), NULL, content);
}

struct sight *sights_path(struct sights *s, const char *path)
{
	return find(s, XXH3_64bits(path, strlen(path)), path, 0);
}
