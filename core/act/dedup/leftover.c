/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/act/dedup/blocks_impl.h"

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
static bool next_gap(const struct extent *e, const struct block_run *runs,
		     size_t run_count, size_t *run, uint64_t *at,
		     uint64_t *end_out)
{
	while (*at < e->end) {
		const struct block_run *r =
			*run < run_count ? &runs[*run] : NULL;

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
		     uint64_t *size, struct leftover *out)
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
	out->moved += moved;
	*size += end - start;
	free(buffer);
	return err;
}

void leftover_rewrite(int directory, int fd, const struct extent_map *before,
		      const struct block_run *runs, size_t run_count,
		      struct leftover *out)
{
	const struct extent *e;
	uint64_t at, end, left, covered, size = 0;
	size_t first = 0, run;
	struct statfs fs;
	int to = -1, err = 0;

	*out = (struct leftover){ 0 };
	if (fstatfs(fd, &fs) || fs.f_type != BTRFS_SUPER_MAGIC)
		return;
	for (e = before->extents; e < before->extents + before->count; e++) {
		while (first < run_count &&
		       runs[first].to + runs[first].len <= e->start)
			first++;
		left = 0;
		for (at = e->start, run = first;
		     next_gap(e, runs, run_count, &run, &at, &end); at = end)
			left += end - at;
		covered = e->end - e->start - left;
		if (e->shared || !left || !covered)
			continue;
		if (to < 0 && !err) {
			to = openat(directory, ".",
				    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
			err = to < 0 ? -errno : 0;
		}
		for (at = e->start, run = first;
		     !err && left / COST_MOST <= covered &&
		     next_gap(e, runs, run_count, &run, &at, &end);
		     at = end)
			err = move_part(fd, at, end, to, &size, out);
		if (err || left / COST_MOST > covered)
			out->pinned += covered;
	}
	if (to >= 0)
		close(to);
}
