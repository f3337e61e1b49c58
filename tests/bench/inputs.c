/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/inputs.h"

#include <fcntl.h>
#include <fts.h>
#include <search.h>
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

struct input input_zeros(size_t size)
{
	struct input in = input_new("zeros", size);

	memset(in.data, 0, size);
	return in;
}

/* The first bytes are there; the rest repeats them. */
static void repeat(struct input *in, size_t period)
{
	size_t i;

	for (i = period; i < in->len; i++)
		in->data[i] = in->data[i - period];
}

struct input input_period(size_t size)
{
	struct input in = input_new("period 3", size);

	memcpy(in.data, "abc", 3);
	repeat(&in, 3);
	return in;
}

/* ---- dense ---- */

#define DENSE_PERIOD MIB
#define ROLLING_WINDOW 7

struct rolling {
	uint32_t h1, h2, h3;
};

static struct rolling roll(struct rolling r, uint8_t in, uint8_t out)
{
	r.h2 += ROLLING_WINDOW * (uint32_t)in - r.h1;
	r.h1 += (uint32_t)in - out;
	r.h3 = r.h3 << 5 ^ in;
	return r;
}

/* The number of block sizes 3 * 2^k that the value ends a piece of. */
static unsigned depth(struct rolling r)
{
	uint32_t next = r.h1 + r.h2 + r.h3 + 1;

	if (!next || next % 3)
		return 0;
	return 1 + (unsigned)__builtin_ctz(next);
}

/* Some byte when none ends a piece: after zeros only, none ever does. */
static uint8_t deepest(struct rolling r, uint8_t out, uint64_t *state)
{
	uint8_t byte = (uint8_t)(draw(state) >> 56);
	unsigned c, best = 0, have;

	for (c = 0; c < 256; c++) {
		have = depth(roll(r, (uint8_t)c, out));
		if (have > best) {
			best = have;
			byte = (uint8_t)c;
		}
	}
	return byte;
}

struct input input_dense(size_t size)
{
	struct input in = input_new("dense", size);
	size_t i, period = size < DENSE_PERIOD ? size : DENSE_PERIOD;
	struct rolling r = { 0 };
	uint64_t state = 1;
	uint8_t out;

	for (i = 0; i < period; i++) {
		out = i < ROLLING_WINDOW ? 0 : in.data[i - ROLLING_WINDOW];
		in.data[i] = deepest(r, out, &state);
		r = roll(r, in.data[i], out);
	}
	repeat(&in, period);
	return in;
}

/* ---- files ---- */

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void visit_below(const char *directory, visit_fn *visit, void *arg,
			bool *go_on)
{
	char path[] = "/usr/share/and/more/than/we/need";
	char *paths[] = { path, NULL };
	const FTSENT *entry;
	FTS *fts;

	if (strlen(directory) >= sizeof(path))
		fail("%s: too long", directory);
	memcpy(path, directory, strlen(directory) + 1);
	fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	if (!fts)
		return;
	while (*go_on && (entry = fts_read(fts)))
		if (entry->fts_info == FTS_F)
			*go_on = visit(arg, entry->fts_path,
				       (size_t)entry->fts_statp->st_size);
	(void)fts_close(fts);
}

void visit_files(const char *const *directories, visit_fn *visit, void *arg)
{
	bool go_on = true;

	for (; *directories && go_on; directories++)
		visit_below(*directories, visit, arg, &go_on);
}

size_t file_read(const char *path, uint8_t *data, size_t room)
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

/* ---- text ---- */

struct collection {
	struct input *in;
	size_t room;
	void *seen; /* a tree of the hashes of contents */
};

static int by_hash(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool is_new(struct collection *c, const uint8_t *data, size_t len)
{
	uint64_t *hash = allocate(sizeof(*hash));
	uint64_t **node;

	*hash = XXH3_64bits(data, len);
	node = tsearch(hash, &c->seen, by_hash);
	if (!node)
		fail("no memory");
	if (*node == hash)
		return true;
	free(hash);
	return false;
}

static bool add_text(void *arg, const char *path, size_t size)
{
	struct collection *c = arg;
	uint8_t *to = c->in->data + c->in->len;
	size_t len;

	(void)size;
	len = file_read(path, to, c->room - c->in->len);
	if (len && !memchr(to, 0, len) && is_new(c, to, len))
		c->in->len += len;
	return c->in->len < c->room;
}

struct input input_text(size_t size)
{
	static const char *const directories[] = { "/usr/include", "/usr/share",
						   NULL };
	struct input in = input_new("text", size);
	struct collection c = { .in = &in, .room = size };

	in.len = 0;
	visit_files(directories, add_text, &c);
	tdestroy(c.seen, free);
	if (in.len < size && in.len < MIB)
		fail("less than 1 MiB of text below /usr/include, /usr/share");
	return in;
}
