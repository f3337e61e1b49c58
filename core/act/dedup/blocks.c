/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/act/dedup/blocks_impl.h"
#include "core/act/dedup/dedup_impl.h"

/*
 * Two files that are alike share their equal blocks.
 *
 * The second file is looked at a window at a time, so memory does not grow with
 * the files: where its blocks are in the first one (block_match.c), then the
 * kernel is asked to share each run.  The kernel compares under the locks of
 * both files, so nothing that is wrong here, and no writer, can change a byte.
 *
 * The bytes freed are worked out from where the window's bytes are on the disk
 * before and after: places that no other file referred to before, and the
 * window does not refer to after, less what btrfs made
 * us write again (leftover.c).
 */
struct dedup_blocks {
	size_t slots_most;
	size_t keep; /* index of the plan's file that the table is of */
	bool is_filled;
	struct block_table table;
};

int dedup_blocks_new(size_t slots_most, struct dedup_blocks **out)
{
	struct dedup_blocks *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->slots_most = slots_most ? slots_most : BLOCK_TABLE_SLOTS;
	*out = b;
	return 0;
}

void dedup_blocks_free(struct dedup_blocks *b)
{
	if (!b)
		return;
	block_table_release(&b->table);
	free(b);
}

/* ---- runs ---- */

static bool has_one_place(const struct extent_map *keep, uint64_t from,
			  const struct extent_map *replace, uint64_t to)
{
	const struct extent *a = extent_map_find(keep, from);
	const struct extent *b = extent_map_find(replace, to);

	return a && b && extent_place(a, from) == extent_place(b, to);
}

/* Whether all of a run at another offset was shared before; one at the same
 * offset has none of those blocks. */
static bool is_shared(struct block_matcher *m, const struct block_run *run)
{
	uint64_t at;

	if (run->from == run->to ||
	    extent_map_read(m->keep_fd, run->from, run->from + run->len,
			    &m->keep_map))
		return false;
	for (at = 0; at < run->len; at += BLOCK_BYTES)
		if (!has_one_place(&m->keep_map, run->from + at,
				   &m->replace_map, run->to + at))
			return false;
	return true;
}

static void drop_shared_runs(struct block_matcher *m, struct block_window *w)
{
	size_t i, left = 0;

	for (i = 0; i < w->run_count; i++)
		if (is_shared(m, &w->runs[i]))
			w->shared += w->runs[i].len;
		else
			w->runs[left++] = w->runs[i];
	w->run_count = left;
}

static void count_window(const struct block_matcher *m,
			 const struct block_window *w,
			 struct dedup_sharing *counts)
{
	const struct block_run *run;

	counts->shared += w->shared;
	counts->ranges += w->run_count;
	for (run = w->runs; run < w->runs + w->run_count; run++) {
		counts->equal += run->len;
		counts->gain += extent_map_unshared(&m->replace_map, run->to,
						    run->to + run->len);
	}
}

/* A range that changed since it was compared is left as it is. */
static int share_runs(const struct block_matcher *m,
		      const struct block_window *w, uint64_t *shared_out)
{
	uint64_t done;
	size_t i;
	int err = 0;

	for (i = 0; i < w->run_count && !err; i++) {
		const struct block_run *run = &w->runs[i];

		err = dedup_share_range(m->keep_fd, run->from, m->replace_fd,
					run->to, run->len, &done);
		*shared_out += done;
		err = err == -EILSEQ ? 0 : err;
	}
	return err;
}

static int share_window(struct block_matcher *m, uint64_t start,
			const struct block_window *w,
			struct dedup_sharing *counts)
{
	struct extent_map after = { 0 };
	uint64_t end = start + WINDOW_SIZE, freed, used;
	struct leftover left = { 0 };
	int err = share_runs(m, w, &counts->newly_shared), read_err;

	end = end < m->replace_size ? end : m->replace_size;
	if (!err && leftover_is_needed(m->replace_fd))
		leftover_rewrite(m->replace_directory, m->replace_fd,
				 m->replace_size, &m->replace_map, w, &left);
	read_err = extent_map_read(m->replace_fd, start, end, &after);
	if (!read_err) {
		freed = extent_map_missing(&m->replace_map, &after);
		used = left.moved + left.pinned;
		counts->freed += freed > used ? freed - used : 0;
	}
	extent_map_release(&after);
	return err ? err : read_err;
}

static int do_windows(struct block_matcher *m, bool apply,
		      struct dedup_sharing *counts)
{
	struct block_window w;
	uint64_t at;
	int err = 0;

	for (at = 0; at < m->replace_size && !err; at += WINDOW_SIZE) {
		err = block_matcher_window(m, at, &w);
		if (err)
			break;
		drop_shared_runs(m, &w);
		count_window(m, &w, counts);
		if (apply && w.run_count)
			err = share_window(m, at, &w, counts);
		free(w.runs);
	}
	return err;
}

/* ---- files that are equal ---- */

/* The window as one run, unless all of it is shared. */
static int whole_window(struct block_matcher *m, uint64_t start, uint64_t end,
			struct block_run *run, struct block_window *out)
{
	uint64_t at;
	int err = extent_map_read(m->replace_fd, start, end, &m->replace_map);

	*run = (struct block_run){ start, start, end - start };
	*out = (struct block_window){ .runs = run };
	if (!err)
		err = extent_map_read(m->keep_fd, start, end, &m->keep_map);
	for (at = start; at < end && !err; at += BLOCK_BYTES) {
		if (!extent_map_find(&m->replace_map, at))
			continue;
		if (has_one_place(&m->keep_map, at, &m->replace_map, at))
			out->shared += BLOCK_BYTES;
		else
			out->run_count = 1;
	}
	return err;
}

static struct block_matcher matcher_of(const struct dedup_pair *pair)
{
	return (struct block_matcher){
		.keep_fd = pair->keep.fd,
		.replace_fd = pair->replace.fd,
		.replace_directory = pair->replace.directory,
		.keep_size = (uint64_t)pair->keep.st.st_size,
		.replace_size = (uint64_t)pair->replace.st.st_size,
	};
}

int dedup_share_whole(const struct dedup_pair *pair, bool apply,
		      struct dedup_sharing *counts)
{
	struct block_matcher m = matcher_of(pair);
	struct block_run run;
	struct block_window w;
	uint64_t at, end, shared;
	int err = dedup_share_probe(m.keep_fd, m.replace_fd);

	for (at = 0; at < m.replace_size && !err; at = end) {
		end = m.replace_size - at < WINDOW_SIZE ? m.replace_size :
							  at + WINDOW_SIZE;
		err = whole_window(&m, at, end, &run, &w);
		if (err || (count_window(&m, &w, counts), !w.run_count))
			continue;
		shared = counts->newly_shared;
		if (apply)
			err = share_window(&m, at, &w, counts);
		if (apply && !err && counts->newly_shared - shared < run.len)
			err = -EILSEQ;
	}
	extent_map_release(&m.keep_map);
	extent_map_release(&m.replace_map);
	return err;
}

/* ---- a pair ---- */

int dedup_share_alike(struct dedup_blocks *b, size_t keep,
		      const struct dedup_pair *pair, bool apply,
		      struct dedup_sharing *counts)
{
	struct block_matcher m = matcher_of(pair);
	int err;

	m.table = &b->table;
	m.is_filled = &b->is_filled;
	m.slots_most = b->slots_most;
	err = block_matcher_init(&m);
	if (b->keep != keep)
		b->is_filled = false;
	b->keep = keep;
	if (!err)
		err = do_windows(&m, apply, counts);
	block_matcher_release(&m);
	return err;
}
