/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/act/dedup/dedup_impl.h"

/*
 * Where the bytes of a file are on the disk (FIEMAP).  Two files whose bytes
 * have one place share them already.  The kernel marks an extent that more than
 * one file refers to as shared; to let go of it frees nothing.
 *
 * Of a compressed extent the kernel tells where it begins, not where a byte is.
 * Two references to it from the same offset still have equal places, so nothing
 * that is shared is taken for not shared unless the offsets differ.
 */
enum {
	BATCH = 256,
	/* Small files of btrfs live in its metadata: nothing there can be
	 * shared. */
	NO_PLACE = FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_UNKNOWN |
		   FIEMAP_EXTENT_DELALLOC,
};

static int add_extent(struct extent_map *m, const struct fiemap_extent *e,
		      uint64_t size)
{
	uint64_t end = e->fe_logical + e->fe_length;
	struct extent *extents;

	if (e->fe_flags & NO_PLACE || e->fe_logical >= size)
		return 0;
	extents = array_with_room(m->extents, m->count, sizeof(*extents));
	if (!extents)
		return -ENOMEM;
	m->extents = extents;
	extents[m->count++] = (struct extent){
		.start = e->fe_logical,
		.end = end < size ? end : size,
		.place = e->fe_physical,
		.shared = (e->fe_flags & FIEMAP_EXTENT_SHARED) != 0,
	};
	return 0;
}

int extent_map_read(int fd, uint64_t size, struct extent_map *out)
{
	const size_t room =
		sizeof(struct fiemap) + BATCH * sizeof(struct fiemap_extent);
	struct fiemap *batch = malloc(room);
	const struct fiemap_extent *e;
	uint64_t at = 0, next;
	uint32_t i;
	int err = batch ? 0 : -ENOMEM;

	extent_map_release(out);
	while (!err && at < size) {
		memset(batch, 0, room);
		batch->fm_start = at;
		batch->fm_length = size - at;
		batch->fm_flags = FIEMAP_FLAG_SYNC;
		batch->fm_extent_count = BATCH;
		next = size;
		if (ioctl(fd, FS_IOC_FIEMAP, batch))
			err = -errno;
		for (i = 0; !err && i < batch->fm_mapped_extents; i++) {
			e = &batch->fm_extents[i];
			err = add_extent(out, e, size);
			next = e->fe_flags & FIEMAP_EXTENT_LAST ?
				       size :
				       e->fe_logical + e->fe_length;
		}
		at = next > at ? next : size;
	}
	free(batch);
	return err;
}

void extent_map_release(struct extent_map *m)
{
	free(m->extents);
	*m = (struct extent_map){ 0 };
}

uint64_t extent_map_place(const struct extent_map *m, uint64_t at)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct extent *e = &m->extents[middle];

		if (at < e->start)
			high = middle;
		else if (at >= e->end)
			low = middle + 1;
		else
			return e->place + (at - e->start);
	}
	return 0;
}

static uint64_t overlap(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
	uint64_t start = a > b ? a : b, end = a_end < b_end ? a_end : b_end;

	return end > start ? end - start : 0;
}

uint64_t extent_map_unshared(const struct extent_map *m, uint64_t start,
			     uint64_t end)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < m->count; i++)
		if (!m->extents[i].shared)
			bytes += overlap(m->extents[i].start, m->extents[i].end,
					 start, end);
	return bytes;
}

static int by_place(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

static uint64_t place_end(const struct extent *e)
{
	return e->place + (e->end - e->start);
}

uint64_t extent_map_missing(struct extent_map *a, struct extent_map *b)
{
	const struct extent *x, *y;
	uint64_t missing = 0;
	size_t j = 0, k;

	if (a->count)
		qsort(a->extents, a->count, sizeof(*a->extents), by_place);
	if (b->count)
		qsort(b->extents, b->count, sizeof(*b->extents), by_place);
	for (x = a->extents; x < a->extents + a->count; x++) {
		if (x->shared)
			continue;
		missing += x->end - x->start;
		while (j < b->count && place_end(&b->extents[j]) <= x->place)
			j++;
		for (k = j; k < b->count; k++) {
			y = &b->extents[k];
			if (y->place >= place_end(x))
				break;
			missing -= overlap(x->place, place_end(x), y->place,
					   place_end(y));
		}
	}
	return missing;
}

/* ---- sharing ---- */

/* One call.  The kernel locks both files, compares, and shares what is equal.
 * *len_io: what it was asked for, and did. */
static int share_piece(int keep_fd, uint64_t from, int replace_fd, uint64_t to,
		       uint64_t *len_io)
{
	/* The range ends in an array, of which there is one. */
	union {
		struct file_dedupe_range range;
		uint8_t bytes[sizeof(struct file_dedupe_range) +
			      sizeof(struct file_dedupe_range_info)];
	} request;
	struct file_dedupe_range_info *info = request.range.info;

	memset(&request, 0, sizeof(request));
	request.range.src_offset = from;
	request.range.src_length = *len_io;
	request.range.dest_count = 1;
	info->dest_fd = replace_fd;
	info->dest_offset = to;
	if (ioctl(keep_fd, FIDEDUPERANGE, &request))
		return -errno;
	if (info->status == FILE_DEDUPE_RANGE_DIFFERS)
		return -EILSEQ;
	*len_io = info->bytes_deduped;
	return info->status < 0 ? info->status : 0;
}

/* Filesystems that have no such call answer in one of these ways. */
static int plain_error(int err)
{
	return err == -EINVAL || err == -ENOTTY || err == -ENOSYS ?
		       -EOPNOTSUPP :
		       err;
}

int extent_share(int keep_fd, uint64_t from, int replace_fd, uint64_t to,
		 uint64_t len, uint64_t *done_out)
{
	enum { PIECE = 16 << 20 };
	uint64_t at = 0, n;
	int err = 0;

	while (at < len && !err) {
		n = len - at < PIECE ? len - at : PIECE;
		err = plain_error(share_piece(keep_fd, from + at, replace_fd,
					      to + at, &n));
		if (!err && !n)
			err = -EOPNOTSUPP;
		at += err ? 0 : n;
	}
	*done_out = at;
	return err;
}

int dedup_share_probe(int keep_fd, int replace_fd)
{
	uint64_t len = 1;
	int err = share_piece(keep_fd, 0, replace_fd, 1, &len);

	return err == -EINVAL || err == -EILSEQ ? 0 : plain_error(err);
}

int64_t block_read(int fd, void *buffer, size_t len, uint64_t at)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < len && n) {
		n = pread(fd, (char *)buffer + done, len - done,
			  (off_t)(at + done));
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return (int64_t)done;
}

int block_write(int fd, const void *buffer, size_t len, uint64_t at)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = pwrite(fd, (const char *)buffer + done, len - done,
			   (off_t)(at + done));
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}
