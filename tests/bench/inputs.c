/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/inputs.h"

#include <fcntl.h>
#include <fts.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "tests/bench/bench.h"

void input_release(struct input *in)
{
	free(in->data);
	in->data = NULL;
}

static struct input input_new(const char *name, size_t size)
{
	return (struct input){ name, allocate(size), size };
}

uint64_t draw(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

struct input input_random(size_t size)
{
	struct input in = input_new("random", size);
	uint64_t state = 1, value;
	size_t i;

	for (i = 0; i + sizeof(value) <= size; i += sizeof(value)) {
		value = draw(&state);
		memcpy(in.data + i, &value, sizeof(value));
	}
	for (; i < size; i++)
		in.data[i] = (uint8_t)draw(&state);
	return in;
}

/* ---- text ---- */

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* At most room bytes from the start of a file; 0 when it can not be read. */
static size_t file_read(const char *path, uint8_t *data, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t len = 0;
	ssize_t got = 1;

	if (fd < 0)
		return 0;
	while (len < room && got > 0) {
		got = read(fd, data + len, room - len);
		if (got > 0)
			len += (size_t)got;
	}
	close(fd);
	return got < 0 ? 0 : len;
}

static int by_hash(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* seen is a tree of the hashes of contents. */
static bool is_new(void **seen, const uint8_t *data, size_t len)
{
	uint64_t *hash = allocate(sizeof(*hash));
	uint64_t **node;

	*hash = XXH3_64bits(data, len);
	node = tsearch(hash, seen, by_hash);
	if (!node)
		fail("no memory");
	if (*node == hash)
		return true;
	free(hash);
	return false;
}

struct input input_text(size_t size)
{
	char directories[2][16] = { "/usr/include", "/usr/share" };
	char *paths[] = { directories[0], directories[1], NULL };
	struct input in = input_new("text", size);
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	const FTSENT *entry;
	void *seen = NULL;
	uint8_t *to;
	size_t len;

	in.len = 0;
	while (fts && in.len < size && (entry = fts_read(fts))) {
		if (entry->fts_info != FTS_F)
			continue;
		to = in.data + in.len;
		len = file_read(entry->fts_path, to, size - in.len);
		if (len && !memchr(to, 0, len) && is_new(&seen, to, len))
			in.len += len;
	}
	if (fts)
		(void)fts_close(fts);
	tdestroy(seen, free);
	if (in.len < size && in.len < MIB)
		fail("less than 1 MiB of text below /usr/include, /usr/share");
	return in;
}
