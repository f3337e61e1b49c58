/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/act/dedup/dedup_impl.h"

/*
 * Two files share their equal blocks.
 *
 * First runs of blocks that are equal are found, then the kernel is asked to
 * share each.  It compares under the locks of both files, so nothing that is
 * wrong here, and no writer, can change a byte.
 *
 * For each block of the second file, three places of the first one are tried:
 * behind the block that the previous one was equal to, so that runs go on; the
 * same offset; and the one that the table of fingerprints has.  What has no
 * place on the disk, or has the place of the first file's block already, is
 * left out.  Memory grows with the extents of the files, not with their size.
 *
 * The bytes freed are worked out from where the bytes are on the disk before and
 * after: places that no other file referred to before, and this one does not
 * refer to after, less what btrfs made us write again.
 */
struct dedup_blocks {
	size_t keep;              /* index of the plan's file, */
	struct block_table table; /* ... that this is of; slots NULL: of none */
};

void dedup_blocks_free(struct dedup_blocks *b)
{
	if (b)
		block_table_release(&b->table);
	free(b);
}

/* len bytes at from in the kept file are those at to in the second one. */
struct block_run {
	uint64_t from, to, len;
};

struct matcher {
	const struct dedup_pair *pair;
	struct dedup_blocks *blocks; /* NULL: the files are equal */
	size_t keep;                 /* index of the plan's file */
	uint64_t keep_size, replace_size;
	struct extent_map keep_map, replace_map;
	struct block_run *runs; /* owned; in order */
	size_t run_count;
};

static bool has_one_place(const struct matcher *m, uint64_t from, uint64_t to)
{
	uint64_t place = extent_map_place(&m->replace_map, to);

	return place && place == extent_map_place(&m->keep_map, from);
}

static bool is_equal(const struct matcher *m, uint64_t from, const char *block,
		     uint64_t len)
{
	char other[BLOCK_BYTES];

	return from + len <= m->keep_size &&
	       block_read(m->pair->keep.view[0].fd, other, len, from) ==
		       (int64_t)len &&
	       !memcmp(other, block, len);
}

/* Where the kept file has the block; next: behind that of the previous one, or
 * 0.  1: found; 0: nowhere. */
static int find_block(struct matcher *m, uint64_t at, uint64_t len,
		      uint64_t next, uint64_t *from_out)
{
	struct dedup_blocks *b = m->blocks;
	char block[BLOCK_BYTES];
	uint64_t number;
	int64_t n;
	int err;

	*from_out = at;
	if (!b)
		return 1;
	n = block_read(m->pair->replace.view[0].fd, block, len, at);
	if (n != (int64_t)len) /* it became shorter meanwhile */
		return n < 0 ? (int)n : -ESTALE;
	if (len < BLOCK_BYTES)
		return m->keep_size == m->replace_size &&
		       is_equal(m, at, block, len);
	if (next && is_equal(m, next, block, len)) {
		*from_out = next;
		return 1;
	}
	if (is_equal(m, at, block, len))
		return 1;
	err = b->table.slots && b->keep == m->keep ?
		      0 :
		      block_table_fill(&b->table, m->pair->keep.view[0].fd,
				       m->keep_size, BLOCK_TABLE_SLOTS);
	if (err)
		return err;
	b->keep = m->keep;
	if (!block_table_find(&b->table, block, &number))
		return 0;
	*from_out = number * BLOCK_BYTES;
	return is_equal(m, *from_out, block, len);
}

/* Adds the block to the run that it goes on, or to a new one. */
static int add_block(struct matcher *m, uint64_t from, uint64_t to,
		     uint64_t len)
{
	struct block_run *runs = m->runs,
			 *last = m->run_count ? &runs[m->run_count - 1] : NULL;

	if (last && last->from + last->len == from &&
	    last->to + last->len == to) {
		last->len += len;
	} else {
		runs = array_with_room(runs, m->run_count, sizeof(*runs));
		if (!runs)
			return -ENOMEM;
		m->runs = runs;
		last = &runs[m->run_count++];
		*last = (struct block_run){ from, to, len };
	}
	return 0;
}

static int match_block(struct matcher *m, uint64_t at, uint64_t len,
		       uint64_t *next_io, struct dedup_sharing *counts)
{
	uint64_t from = at;
	int err = 1;

	if (!has_one_place(m, at, at))
		err = find_block(m, at, len, *next_io, &from);
	*next_io = 0;
	if (err <= 0)
		return err;
	if (has_one_place(m, from, at)) {
		counts->shared += len;
		*next_io = from == at ? 0 : from + len;
		return 0;
	}
	*next_io = from + len;
	return add_block(m, from, at, len);
}

static int find_runs(struct matcher *m, struct dedup_sharing *counts)
{
	/* A shorter run costs more in extents than it frees, unless it is all
	 * of the file. */
	enum { RUN_LEAST = 4 * BLOCK_BYTES };
	uint64_t at = 0, len, next = 0;
	size_t i, kept = 0;
	int err = 0;

	for (i = 0; i < m->replace_map.count && !err; i++) {
		const struct extent *e = &m->replace_map.extents[i];

		if (at < e->start)
			at = (e->start + BLOCK_BYTES - 1) / BLOCK_BYTES *
			     BLOCK_BYTES;
		for (; at < e->end && !err; at += len) {
			len = m->replace_size - at;
			len = len < BLOCK_BYTES ? len : BLOCK_BYTES;
			err = match_block(m, at, len, &next, counts);
		}
	}
	for (i = 0; i < m->run_count; i++) {
		struct block_run run = m->runs[i];

		if (m->blocks && run.len < RUN_LEAST &&
		    run.len < m->replace_size)
			continue;
		m->runs[kept++] = run;
		counts->gain += extent_map_unshared(&m->replace_map, run.to,
						    run.to + run.len);
	}
	m->run_count = kept;
	return err;
}

/* ---- what is left of extents ---- */

/*
 * btrfs frees an extent when nothing refers to any of its blocks.  A file that
 * shares 99 per cent of an extent of 128 MiB with another one keeps all of it
 * allocated for the last per cent.  So what is left of such an extent is
 * written to a new file without a name, and the old file is made to share the
 * blocks of that one.  The kernel compares once more; a kill leaves nothing
 * behind.
 */
enum {
	COPY = 1 << 20,
	COST_MOST = 7, /* bytes that are written for one that gets free */
};

/* The next part of an extent behind *at that no run covers; false: no more.
 * *run: the first one that may be behind *at. */
static bool next_gap(const struct matcher *m, const struct extent *e,
		     size_t *run, uint64_t *at, uint64_t *end_out)
{
	while (*at < e->end) {
		const struct block_run *r =
			*run < m->run_count ? &m->runs[*run] : NULL;

		if (!r || r->to > *at) {
			*end_out = r && r->to < e->end ? r->to : e->end;
			return true;
		}
		if (r->to + r->len > *at)
			*at = r->to + r->len;
		if (*at < e->end)
			++*run;
	}
	return false;
}

/* Copies a part of the file to the end of the nameless one, which is *size
 * long, and shares it. */
static int move_part(int fd, uint64_t start, uint64_t end, int to,
		     uint64_t *size, uint64_t *used)
{
	char *buffer = malloc(COPY);
	uint64_t at = start, moved = 0;
	int64_t n;
	int err = buffer ? 0 : -ENOMEM;

	while (!err && at < end) {
		n = block_read(fd, buffer, end - at < COPY ? end - at : COPY,
			       at);
		if (n <= 0)
			err = n ? (int)n : -ESTALE;
		else
			err = block_write(to, buffer, (size_t)n,
					  *size + (at - start));
		at += err ? 0 : (uint64_t)n;
	}
	if (!err)
		err = extent_share(to, *size, fd, start, end - start, &moved);
	*used += moved;
	*size += end - start;
	free(buffer);
	return err;
}

/* After the runs were shared: moves what is left of the extents of the second
 * file, where the filesystem frees whole ones only and it is worth it.  The bytes
 * that are used in place of those that were shared: they have a new place, or
 * stay allocated nevertheless.  Failures cost space and nothing else. */
static uint64_t rewrite_leftovers(const struct matcher *m)
{
	const int fd = m->pair->replace.view[0].fd;
	uint64_t used = 0;
	const struct extent *e;
	uint64_t at, end, left, covered, size = 0;
	size_t first = 0, run;
	struct statfs fs;
	int to = -1, err = 0;

	if (fstatfs(fd, &fs) || fs.f_type != BTRFS_SUPER_MAGIC)
		return 0;
	for (e = m->replace_map.extents;
	     e < m->replace_map.extents + m->replace_map.count; e++) {
		while (first < m->run_count &&
		       m->runs[first].to + m->runs[first].len <= e->start)
			first++;
		left = 0;
		for (at = e->start, run = first;
		     next_gap(m, e, &run, &at, &end); at = end)
			left += end - at;
		covered = e->end - e->start - left;
		if (e->shared || !left || !covered)
			continue;
		if (to < 0 && !err) {
			to = openat(m->pair->replace.directory, ".",
				    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
			err = to < 0 ? -errno : 0;
		}
		for (at = e->start, run = first;
		     !err && left / COST_MOST <= covered &&
		     next_gap(m, e, &run, &at, &end);
		     at = end)
			err = move_part(fd, at, end, to, &size, &used);
		if (err || left / COST_MOST > covered)
			used += covered;
	}
	if (to >= 0)
		close(to);
	return used;
}

/* ---- sharing ---- */

/* A range that changed since it was compared is left as it is; in files that
 * are to be equal it is an error. */
static int share_runs(struct matcher *m, struct dedup_sharing *counts)
{
	const struct dedup_side *to = &m->pair->replace;
	struct extent_map after = { 0 };
	uint64_t done, freed, used = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < m->run_count && !err; i++) {
		err = extent_share(m->pair->keep.view[0].fd, m->runs[i].from,
				   to->view[0].fd, m->runs[i].to,
				   m->runs[i].len, &done);
		if (err == -EILSEQ && m->blocks)
			err = 0;
	}
	if (!err)
		used = rewrite_leftovers(m);
	if (m->run_count &&
	    !extent_map_read(to->view[0].fd, m->replace_size, &after)) {
		freed = extent_map_missing(&m->replace_map, &after);
		counts->freed = freed > used ? freed - used : 0;
	}
	extent_map_release(&after);
	return err;
}

int dedup_share(const struct dedup_pair *pair, struct dedup_blocks **blocks_io,
		size_t keep, bool apply, struct dedup_sharing *counts)
{
	struct matcher m = {
		.pair = pair,
		.keep = keep,
		.keep_size = (uint64_t)pair->keep.view[0].st.st_size,
		.replace_size = (uint64_t)pair->replace.view[0].st.st_size,
	};
	int err;

	if (blocks_io) {
		if (!*blocks_io)
			*blocks_io = calloc(1, sizeof(**blocks_io));
		m.blocks = *blocks_io;
		if (!m.blocks)
			return -ENOMEM;
	}
	err = extent_map_read(pair->keep.view[0].fd, m.keep_size, &m.keep_map);
	if (!err)
		err = extent_map_read(pair->replace.view[0].fd, m.replace_size,
				      &m.replace_map);
	if (!err)
		err = find_runs(&m, counts);
	if (!err && apply)
		err = share_runs(&m, counts);
	extent_map_release(&m.keep_map);
	extent_map_release(&m.replace_map);
	free(m.runs);
	return err;
}
