/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/act/dedup/blocks_impl.h"

/*
 * For each block of the window, three places of the kept file are tried: behind
 * the block that the previous one was equal to, so that runs go on; the same
 * offset; and the one that the table of fingerprints has.  All three are
 * compared byte by byte.  What has no place on the disk, or has the place of
 * the kept file's block already, is left out.
 */
enum {
	CHUNK = 1 << 20,
	CHUNK_BLOCKS = CHUNK / BLOCK_BYTES,
	AHEAD = 64 << 10,
	/* A shorter run costs more in extents than it frees, unless it is all
	 * of the file. */
	RUN_LEAST = 4 * BLOCK_BYTES,
};

#define SHARED UINT64_MAX /* in sources: it has one place already */

int block_matcher_init(struct block_matcher *m)
{
	m->replace_chunk = malloc(CHUNK);
	m->keep_chunk = malloc(CHUNK);
	m->ahead = malloc(AHEAD);
	m->sources = calloc(WINDOW_BLOCKS, sizeof(*m->sources));
	if (m->replace_chunk && m->keep_chunk && m->ahead && m->sources)
		return 0;
	block_matcher_release(m);
	return -ENOMEM;
}

void block_matcher_release(struct block_matcher *m)
{
	free(m->replace_chunk);
	free(m->keep_chunk);
	free(m->ahead);
	free(m->sources);
	extent_map_release(&m->keep_map);
	extent_map_release(&m->replace_map);
	*m = (struct block_matcher){ 0 };
}

/* ---- one block ---- */

/* The bytes of a block of the kept file, or NULL: there is no whole one. */
static const char *keep_block(struct block_matcher *m, uint64_t number)
{
	uint64_t at = number * BLOCK_BYTES;
	int64_t n;

	if (at + BLOCK_BYTES > m->keep_size)
		return NULL;
	if (at < m->ahead_at || at + BLOCK_BYTES > m->ahead_at + m->ahead_len) {
		n = block_read(m->keep_fd, m->ahead, AHEAD, at);
		m->ahead_at = at;
		m->ahead_len = n > 0 ? (uint64_t)n : 0;
	}
	return at + BLOCK_BYTES <= m->ahead_at + m->ahead_len ?
		       m->ahead + (at - m->ahead_at) :
		       NULL;
}

static bool is_equal_to(struct block_matcher *m, uint64_t number,
			const char *block)
{
	const char *other = keep_block(m, number);

	return other && !memcmp(other, block, BLOCK_BYTES);
}

static int fill_table(struct block_matcher *m)
{
	int err;

	if (*m->is_filled)
		return 0;
	err = block_table_fill(m->table, m->keep_fd, m->keep_size,
			       m->slots_most);
	*m->is_filled = !err;
	return err;
}

/* A chunk of the replaced file, and the same part of the kept one. */
struct chunk {
	uint64_t at;            /* in the file */
	uint64_t len, keep_len; /* that were read */
	uint64_t *sources;      /* of its blocks */
	size_t blocks;
};

/* Blocks before one that was found by its fingerprint may be equal, too: their
 * fingerprints are not in the table, or are those of other blocks. */
static void grow_back(struct block_matcher *m, const struct chunk *c, size_t i)
{
	uint64_t number = c->sources[i] - 1;

	while (i-- > 0 && number-- > 0 && !c->sources[i] &&
	       extent_map_find(&m->replace_map, c->at + i * BLOCK_BYTES) &&
	       is_equal_to(m, number, m->replace_chunk + i * BLOCK_BYTES))
		c->sources[i] = number + 1;
}

/* The last block may be short; it is equal to nothing but the last one. */
static bool is_equal_tail(const struct block_matcher *m, const struct chunk *c,
			  size_t offset)
{
	return m->keep_size == m->replace_size && c->keep_len == c->len &&
	       !memcmp(m->keep_chunk + offset, m->replace_chunk + offset,
		       c->len - offset);
}

static int match_block(struct block_matcher *m, const struct chunk *c, size_t i,
		       uint64_t previous)
{
	size_t offset = i * BLOCK_BYTES;
	const char *block = m->replace_chunk + offset;
	uint64_t same = (c->at + offset) / BLOCK_BYTES, number;
	int err;

	if (c->len - offset < BLOCK_BYTES) {
		c->sources[i] = is_equal_tail(m, c, offset) ? same + 1 : 0;
		return 0;
	}
	/* sources has the number and 1: the next number. */
	if (previous && previous != same && is_equal_to(m, previous, block)) {
		c->sources[i] = previous + 1;
		return 0;
	}
	if (offset + BLOCK_BYTES <= c->keep_len &&
	    !memcmp(m->keep_chunk + offset, block, BLOCK_BYTES)) {
		c->sources[i] = same + 1;
		return 0;
	}
	err = fill_table(m);
	if (!err && block_table_find(m->table, block, &number) &&
	    is_equal_to(m, number, block)) {
		c->sources[i] = number + 1;
		grow_back(m, c, i);
	}
	return err;
}

/* ---- a window ---- */

static bool has_one_place(const struct extent *a, const struct extent *b,
			  uint64_t at)
{
	return a && b && extent_place(a, at) == extent_place(b, at);
}

/* Marks what is shared already; true when something else is left to look at. */
static bool mark_shared(struct block_matcher *m, const struct chunk *c,
			uint64_t *shared_io)
{
	uint64_t at;
	bool left = false;
	size_t i;

	for (i = 0; i < c->blocks; i++) {
		const struct extent *e;

		at = c->at + i * BLOCK_BYTES;
		e = extent_map_find(&m->replace_map, at);
		c->sources[i] = 0;
		if (!e)
			continue;
		if (!has_one_place(e, extent_map_find(&m->keep_map, at), at)) {
			left = true;
			continue;
		}
		c->sources[i] = SHARED;
		*shared_io += BLOCK_BYTES;
	}
	return left;
}

static int read_chunk(struct block_matcher *m, struct chunk *c)
{
	int64_t n = block_read(m->replace_fd, m->replace_chunk, (size_t)c->len,
			       c->at);
	int64_t k = block_read(m->keep_fd, m->keep_chunk, CHUNK, c->at);

	if (n < 0 || k < 0)
		return (int)(n < 0 ? n : k);
	/* It became shorter meanwhile. */
	if ((uint64_t)n < c->len)
		return -ESTALE;
	c->keep_len = (uint64_t)k < c->len ? (uint64_t)k : c->len;
	return 0;
}

static int match_chunk(struct block_matcher *m, struct chunk *c,
		       uint64_t *previous_io, uint64_t *shared_io)
{
	size_t i;
	int err;

	if (!mark_shared(m, c, shared_io)) {
		*previous_io = 0;
		return 0;
	}
	err = read_chunk(m, c);
	for (i = 0; i < c->blocks && !err; i++) {
		if (c->sources[i] != SHARED &&
		    extent_map_find(&m->replace_map, c->at + i * BLOCK_BYTES))
			err = match_block(m, c, i, *previous_io);
		*previous_io = c->sources[i] == SHARED ? 0 : c->sources[i];
	}
	return err;
}

/* ---- runs ---- */

static int add_run(struct block_window *w, const struct block_run *run,
		   const struct block_matcher *m)
{
	struct block_run *runs;

	if (run->len < RUN_LEAST && run->len < m->replace_size)
		return 0;
	runs = array_with_room(w->runs, w->run_count, sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	w->runs = runs;
	runs[w->run_count++] = *run;
	return 0;
}

static int make_runs(struct block_matcher *m, uint64_t start, size_t blocks,
		     struct block_window *w)
{
	struct block_run run = { 0 };
	uint64_t source, len, at;
	size_t i;
	int err = 0;

	for (i = 0; i < blocks && !err; i++) {
		source = m->sources[i] == SHARED ? 0 : m->sources[i];
		at = start + i * BLOCK_BYTES;
		len = m->replace_size - at < BLOCK_BYTES ?
			      m->replace_size - at :
			      BLOCK_BYTES;
		if (run.len && source &&
		    (source - 1) * BLOCK_BYTES == run.from + run.len) {
			run.len += len;
			continue;
		}
		if (run.len)
			err = add_run(w, &run, m);
		run = (struct block_run){ .to = at };
		if (source) {
			run.from = (source - 1) * BLOCK_BYTES;
			run.len = len;
		}
	}
	return !err && run.len ? add_run(w, &run, m) : err;
}

int block_matcher_window(struct block_matcher *m, uint64_t start,
			 struct block_window *out)
{
	uint64_t end = m->replace_size - start < WINDOW_SIZE ?
			       m->replace_size :
			       start + WINDOW_SIZE;
	uint64_t previous = 0;
	size_t blocks = (size_t)((end - start + BLOCK_BYTES - 1) / BLOCK_BYTES);
	size_t i;
	int err = extent_map_read(m->replace_fd, start, end, &m->replace_map);

	*out = (struct block_window){ 0 };
	if (!err)
		err = extent_map_read(m->keep_fd, start, end, &m->keep_map);
	for (i = 0; i < blocks && !err; i += CHUNK_BLOCKS) {
		struct chunk c = {
			.at = start + i * BLOCK_BYTES,
			.sources = m->sources + i,
			.blocks = blocks - i < CHUNK_BLOCKS ? blocks - i :
							      CHUNK_BLOCKS,
		};

		c.len = end - c.at < CHUNK ? end - c.at : CHUNK;
		err = match_chunk(m, &c, &previous, &out->shared);
	}
	if (!err)
		err = make_runs(m, start, blocks, out);
	if (err) {
		free(out->runs);
		*out = (struct block_window){ 0 };
	}
	return err;
}
