/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/act/dedup/blocks_impl.h"
#include "core/act/dedup/dedup_impl.h"

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
	BATCH = 64 << 20, /* in a nameless file at a time */
	COST_MOST = 7,    /* bytes that are written for one that gets free */
};

bool leftover_is_needed(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == BTRFS_SUPER_MAGIC;
}

struct piece {
	uint64_t at, len; /* in the file */
};

struct pieces {
	struct piece list[512];
	size_t count;
	uint64_t bytes, frees; /* of the pieces, and by moving them */
	struct leftover done;  /* by all flushes */
	int directory, fd;
};

static int copy_piece(int from, const struct piece *p, int to, uint64_t at)
{
	char *buffer = malloc(COPY);
	uint64_t done = 0;
	int64_t n = 0;
	int err = buffer ? 0 : -ENOMEM;

	while (!err && done < p->len) {
		n = block_read(from, buffer,
			       p->len - done < COPY ? p->len - done : COPY,
			       p->at + done);
		if (n <= 0)
			err = n ? (int)n : -ESTALE;
		else if (pwrite(to, buffer, (size_t)n, (off_t)(at + done)) != n)
			err = -EIO;
		done += err ? 0 : (uint64_t)n;
	}
	free(buffer);
	return err;
}

/* Writes the pieces to a nameless file and shares them with it. */
static void flush(struct pieces *p)
{
	int to =
		openat(p->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	uint64_t at = 0, done;
	size_t i;
	int err = to < 0 ? -errno : 0;

	for (i = 0; i < p->count && !err; at += p->list[i++].len)
		err = copy_piece(p->fd, &p->list[i], to, at);
	for (i = 0, at = 0; i < p->count && !err; at += p->list[i++].len) {
		err = dedup_share_range(to, at, p->fd, p->list[i].at,
					p->list[i].len, &done);
		p->done.moved += done;
	}
	if (to >= 0)
		close(to);
	p->done.pinned += err ? p->frees : 0;
	p->count = 0;
	p->bytes = 0;
	p->frees = 0;
}

static void add_piece(struct pieces *p, uint64_t start, uint64_t end)
{
	uint64_t len;

	for (; start < end; start += len) {
		len = end - start < BATCH ? end - start : BATCH;
		if (p->count == sizeof(p->list) / sizeof(p->list[0]) ||
		    p->bytes + len > BATCH)
			flush(p);
		p->list[p->count++] = (struct piece){ start, len };
		p->bytes += len;
	}
}

/* What the runs leave of the extent, by pieces or in sum. */
static uint64_t each_left(const struct extent *e, const struct block_window *w,
			  size_t run, struct pieces *to)
{
	uint64_t at = e->start, left = 0, start, end;

	for (; run < w->run_count && w->runs[run].to < e->end; run++) {
		start = w->runs[run].to;
		end = start + w->runs[run].len;
		if (start > at) {
			left += start - at;
			if (to)
				add_piece(to, at, start);
		}
		at = end > at ? end : at;
	}
	if (at < e->end) {
		left += e->end - at;
		if (to)
			add_piece(to, at, e->end);
	}
	return left;
}

/* Moves what is left of the extent, if that is worth it. */
static void rewrite_extent(struct pieces *p, const struct extent *e,
			   const struct block_window *w, size_t run)
{
	uint64_t left = each_left(e, w, run, NULL);
	uint64_t covered = e->end - e->start - left;

	if (e->shared || !left || !covered)
		return;
	if (left / COST_MOST > covered) {
		p->done.pinned += covered;
		return;
	}
	(void)each_left(e, w, run, p);
	p->frees += covered;
}

/* Runs and extents are in the order of their places in the file. */
void leftover_rewrite(int directory, int fd, uint64_t size,
		      const struct extent_map *before,
		      const struct block_window *w, struct leftover *out)
{
	struct pieces *pieces = calloc(1, sizeof(*pieces));
	size_t i, run = 0;

	*out = (struct leftover){ 0 };
	if (!pieces)
		return;
	pieces->directory = directory;
	pieces->fd = fd;
	for (i = 0; i < before->count; i++) {
		struct extent e = before->extents[i];

		e.end = e.end < size ? e.end : size;
		while (run < w->run_count &&
		       w->runs[run].to + w->runs[run].len <= e.start)
			run++;
		rewrite_extent(pieces, &e, w, run);
	}
	if (pieces->count)
		flush(pieces);
	*out = pieces->done;
	free(pieces);
}
