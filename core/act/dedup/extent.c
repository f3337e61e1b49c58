/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "core/base/array.h"
#include "core/act/dedup/blocks_impl.h"

/*
 * Where the bytes of a file are on the disk (FIEMAP).  Two files whose bytes
 * have one place share them already.  The kernel marks an extent that more than
 * one file refers to as shared; to let go of it frees nothing.
 *
 * Of a compressed extent the kernel tells where it begins, not where a byte is.
 * Two references to it from the same offset still have equal places, so nothing
 * that is shared is taken for not shared unless the offsets differ.
 */
enum { BATCH = 256 };

/* Small files of btrfs live in its metadata: nothing there can be shared. */
static bool has_place(const struct fiemap_extent *e)
{
	return !(e->fe_flags &
		 (FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_UNKNOWN |
		  FIEMAP_EXTENT_DELALLOC));
}

static int add_extent(struct extent_map *m, const struct fiemap_extent *e,
		      uint64_t start, uint64_t end)
{
	struct extent x = {
		.start = e->fe_logical > start ? e->fe_logical : start,
		.end = e->fe_logical + e->fe_length,
		.shared = (e->fe_flags & FIEMAP_EXTENT_SHARED) != 0,
	};
	struct extent *extents;

	x.end = x.end < end ? x.end : end;
	x.place = e->fe_physical + (x.start - e->fe_logical);
	if (x.end <= x.start || !has_place(e))
		return 0;
	extents = array_with_room(m->extents, m->count, sizeof(*extents));
	if (!extents)
		return -ENOMEM;
	m->extents = extents;
	extents[m->count++] = x;
	return 0;
}

/* Reads a batch; *at_io moves behind it, to end when there are no more. */
static int read_batch(int fd, struct fiemap *batch, struct extent_map *m,
		      uint64_t start, uint64_t end, uint64_t *at_io)
{
	const struct fiemap_extent *e = NULL;
	uint32_t i;
	int err = 0;

	memset(batch, 0, sizeof(*batch));
	batch->fm_start = *at_io;
	batch->fm_length = end - *at_io;
	batch->fm_flags = FIEMAP_FLAG_SYNC;
	batch->fm_extent_count = BATCH;
	if (ioctl(fd, FS_IOC_FIEMAP, batch))
		return -errno;
	for (i = 0; i < batch->fm_mapped_extents && !err; i++) {
		e = &batch->fm_extents[i];
		err = add_extent(m, e, start, end);
	}
	if (!e || e->fe_flags & FIEMAP_EXTENT_LAST ||
	    e->fe_logical + e->fe_length <= *at_io)
		*at_io = end;
	else
		*at_io = e->fe_logical + e->fe_length;
	return err;
}

int extent_map_read(int fd, uint64_t start, uint64_t end,
		    struct extent_map *out)
{
	struct fiemap *batch = calloc(
		1, sizeof(*batch) + BATCH * sizeof(batch->fm_extents[0]));
	uint64_t at = start;
	int err = batch ? 0 : -ENOMEM;

	out->count = 0;
	while (!err && at < end)
		err = read_batch(fd, batch, out, start, end, &at);
	free(batch);
	return err;
}

void extent_map_release(struct extent_map *m)
{
	free(m->extents);
	*m = (struct extent_map){ 0 };
}

const struct extent *extent_map_find(const struct extent_map *m, uint64_t at)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->extents[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < m->count && m->extents[low].start <= at ?
		       &m->extents[low] :
		       NULL;
}

uint64_t extent_place(const struct extent *e, uint64_t at)
{
	return e->place + (at - e->start);
}

uint64_t extent_map_unshared(const struct extent_map *m, uint64_t start,
			     uint64_t end)
{
	uint64_t bytes = 0, from, to;
	size_t i;

	for (i = 0; i < m->count; i++) {
		from = m->extents[i].start > start ? m->extents[i].start :
						     start;
		to = m->extents[i].end < end ? m->extents[i].end : end;
		if (from < to && !m->extents[i].shared)
			bytes += to - from;
	}
	return bytes;
}

static int compare_places(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

static void sort_by_place(struct extent_map *m)
{
	if (m->count)
		qsort(m->extents, m->count, sizeof(*m->extents),
		      compare_places);
}

uint64_t extent_map_missing(struct extent_map *a, struct extent_map *b)
{
	uint64_t missing = 0, at, end, from, to;
	size_t i, j = 0;

	sort_by_place(a);
	sort_by_place(b);
	for (i = 0; i < a->count; i++) {
		if (a->extents[i].shared)
			continue;
		at = a->extents[i].place;
		end = at + (a->extents[i].end - a->extents[i].start);
		missing += end - at;
		for (; j < b->count; j++) {
			from = b->extents[j].place;
			to = from + (b->extents[j].end - b->extents[j].start);
			if (from >= end)
				break;
			from = from > at ? from : at;
			if (to > from)
				missing -= (to < end ? to : end) - from;
			if (to > end)
				break;
		}
	}
	return missing;
}
