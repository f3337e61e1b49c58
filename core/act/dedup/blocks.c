/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/xxh3.h"
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
 * same offset; and the one that a table of fingerprints has.  What has no place
 * on the disk, or has the place of the first file's block already, is left out.
 * Memory grows with the extents of the files, and with the table up to 64 MiB.
 *
 * A block is what the filesystem can share: BLOCK_BYTES bytes at a multiple of
 * it.  The last block of a file may be shorter, and is shared only with the
 * last one of a file of the same size.
 */
enum { BLOCK_BYTES = 4096 };

/* ---- where the bytes of a file are on the disk: FIEMAP ---- */

/*
 * Two files whose bytes have one place share them already.  The kernel marks an
 * extent that more than one file refers to as shared; to let go of it frees
 * nothing.
 *
 * Of a compressed extent the kernel tells where it begins, not where a byte is.
 * Two references to it from the same offset still have equal places, so nothing
 * that is shared is taken for not shared unless the offsets differ.
 */
struct extent {
	uint64_t start, end; /* in the file, and not behind its end */
	uint64_t place;      /* of start, on the disk */
	bool shared; /* with another file, or another part of this one */
};

/* Those of a file, in order of start; holes are between them. */
struct extent_map {
	struct extent *extents; /* owned */
	size_t count;
};

static int add_extent(struct extent_map *m, const struct fiemap_extent *e,
		      uint64_t size)
{
	/* Small files of btrfs live in its metadata: nothing there can be
	 * shared. */
	enum {
		NO_PLACE = FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_UNKNOWN |
			   FIEMAP_EXTENT_DELALLOC
	};
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

/* Writes the file out first.  -EOPNOTSUPP. */
static int read_extents(int fd, uint64_t size, struct extent_map *out)
{
	enum { BATCH = 256 };
	const size_t room =
		sizeof(struct fiemap) + BATCH * sizeof(struct fiemap_extent);
	struct fiemap *batch = malloc(room);
	const struct fiemap_extent *e;
	uint64_t at = 0, next;
	uint32_t i;
	int err = batch ? 0 : -ENOMEM;

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

/* The place of a byte on the disk; 0: it is in a hole. */
static uint64_t place_of(const struct extent_map *m, uint64_t at)
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

/* ---- sharing a range: FIDEDUPERANGE ---- */

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

/* Makes a range of the second file refer to the blocks of the first one.
 * -EILSEQ: the kernel found them different; -EOPNOTSUPP. */
static int share_range(int keep_fd, uint64_t from, int replace_fd, uint64_t to,
		       uint64_t len)
{
	enum { PIECE = 16 << 20 };
	uint64_t at, n;
	int err;

	for (at = 0; at < len; at += n) {
		n = len - at < PIECE ? len - at : PIECE;
		err = plain_error(share_piece(keep_fd, from + at, replace_fd,
					      to + at, &n));
		if (err || !n)
			return err ? err : -EOPNOTSUPP;
	}
	return 0;
}

int dedup_share_probe(int keep_fd, int replace_fd)
{
	uint64_t len = 1;
	int err = share_piece(keep_fd, 0, replace_fd, 1, &len);

	return err == -EINVAL || err == -EILSEQ ? 0 : plain_error(err);
}

/* ---- runs of equal blocks ---- */

/* len bytes at from in the kept file are those at to in the second one. */
struct block_run {
	uint64_t from, to, len;
	uint64_t gain; /* of these, what no third file refers to */
};

struct matcher {
	int keep, replace;
	uint64_t keep_size, replace_size;
	bool equal; /* the contents are */
	struct extent_map keep_map, replace_map;
	/* The first block of each fingerprint of the kept file, made when it is
	 * needed: the upper half of the fingerprint, and the number of the block
	 * and 1; 0: empty. */
	uint64_t *slots;        /* owned */
	size_t slot_count;      /* a power of two */
	uint64_t sample_mask;   /* only fingerprints without these bits */
	struct block_run *runs; /* owned; in order */
	size_t run_count;
};

/* The slot that a block has, or would have; NULL: it is of zeros, or not in the
 * sample. */
static uint64_t *find_slot(const struct matcher *m, const char *block,
			   uint64_t *fingerprint_out)
{
	uint64_t fingerprint;
	size_t i;

	if (!block[0] && !memcmp(block, block + 1, BLOCK_BYTES - 1))
		return NULL;
	fingerprint = XXH3_64bits(block, BLOCK_BYTES);
	if (fingerprint & m->sample_mask)
		return NULL;
	i = (size_t)(fingerprint / (m->sample_mask + 1)) & (m->slot_count - 1);
	while (m->slots[i] && m->slots[i] >> 32 != fingerprint >> 32)
		i = (i + 1) & (m->slot_count - 1);
	*fingerprint_out = fingerprint;
	return &m->slots[i];
}

/* Of a file with more blocks than there is room for, a sample is enough: a run
 * of equal blocks is found from one of them on. */
static int fill_table(struct matcher *m)
{
	enum { SLOTS_MOST = 1 << 23 };
	const uint64_t blocks = m->keep_size / BLOCK_BYTES;
	uint64_t fingerprint, *slot, at;
	const struct extent *e = m->keep_map.extents;
	char block[BLOCK_BYTES];
	int64_t n;

	while (blocks / (m->sample_mask + 1) > SLOTS_MOST / 2)
		m->sample_mask = 2 * m->sample_mask + 1;
	for (m->slot_count = 1024;
	     m->slot_count / 2 < blocks / (m->sample_mask + 1);)
		m->slot_count *= 2;
	m->slots = calloc(m->slot_count, sizeof(*m->slots));
	if (!m->slots)
		return -ENOMEM;
	for (; e < m->keep_map.extents + m->keep_map.count; e++)
		for (at = e->start; at + BLOCK_BYTES <= e->end;
		     at += BLOCK_BYTES) {
			n = dedup_read(m->keep, block, BLOCK_BYTES, at);
			if (n != BLOCK_BYTES)
				return n < 0 ? (int)n : -ESTALE;
			slot = find_slot(m, block, &fingerprint);
			if (slot && !*slot && at / BLOCK_BYTES < UINT32_MAX)
				*slot = (fingerprint & ~(uint64_t)UINT32_MAX) |
					(at / BLOCK_BYTES + 1);
		}
	return 0;
}

static bool is_equal(const struct matcher *m, uint64_t from, const char *block,
		     uint64_t len)
{
	char other[BLOCK_BYTES];

	return from + len <= m->keep_size &&
	       dedup_read(m->keep, other, len, from) == (int64_t)len &&
	       !memcmp(other, block, len);
}

/* Where the kept file has the block; next: behind that of the previous one.  1:
 * found; 0: nowhere. */
static int find_block(struct matcher *m, uint64_t at, uint64_t len,
		      uint64_t next, uint64_t *from_out)
{
	char block[BLOCK_BYTES];
	uint64_t *slot, fingerprint;
	int64_t n;
	int err;

	*from_out = at;
	if (m->equal)
		return 1;
	n = dedup_read(m->replace, block, len, at);
	if (n != (int64_t)len) /* it became shorter meanwhile */
		return n < 0 ? (int)n : -ESTALE;
	if (len < BLOCK_BYTES)
		return m->keep_size == m->replace_size &&
		       is_equal(m, at, block, len);
	if (next != at && is_equal(m, next, block, len)) {
		*from_out = next;
		return 1;
	}
	if (is_equal(m, at, block, len))
		return 1;
	err = m->slots ? 0 : fill_table(m);
	if (err)
		return err;
	slot = find_slot(m, block, &fingerprint);
	if (!slot || !*slot)
		return 0;
	*from_out = ((*slot & UINT32_MAX) - 1) * BLOCK_BYTES;
	return is_equal(m, *from_out, block, len);
}

/* Adds the block to the run that it goes on, or to a new one. */
static int add_block(struct matcher *m, const struct block_run *block)
{
	struct block_run *runs = m->runs,
			 *last = m->run_count ? &runs[m->run_count - 1] : NULL;

	if (last && last->from + last->len == block->from &&
	    last->to + last->len == block->to) {
		last->len += block->len;
		last->gain += block->gain;
		return 0;
	}
	runs = array_with_room(runs, m->run_count, sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	m->runs = runs;
	runs[m->run_count++] = *block;
	return 0;
}

static int find_runs(struct matcher *m, uint64_t *shared_out)
{
	uint64_t at = 0, from, len, place, next = 0;
	const struct extent *e = m->replace_map.extents;
	int found, err = 0;

	for (; e < m->replace_map.extents + m->replace_map.count; e++) {
		if (at < e->start)
			at = (e->start + BLOCK_BYTES - 1) / BLOCK_BYTES *
			     BLOCK_BYTES;
		for (; at < e->end && !err; at += len) {
			len = m->replace_size - at;
			len = len < BLOCK_BYTES ? len : BLOCK_BYTES;
			place = e->place + (at - e->start);
			from = at;
			found = place_of(&m->keep_map, at) == place ?
					1 :
					find_block(m, at, len, next, &from);
			if (found < 0)
				return found;
			next = found ? from + len : at + len;
			if (found && place_of(&m->keep_map, from) == place)
				*shared_out += len;
			else if (found)
				err = add_block(m,
						&(struct block_run){
							from, at, len,
							e->shared ? 0 : len });
		}
	}
	return err;
}

/* A shorter run costs more in extents than it frees, unless it is all of the
 * file. */
static uint64_t drop_short_runs(struct matcher *m)
{
	enum { LEAST = 4 * BLOCK_BYTES };
	uint64_t gain = 0;
	size_t i, kept = 0;

	for (i = 0; i < m->run_count; i++) {
		const struct block_run run = m->runs[i];

		if (!m->equal && run.len < LEAST && run.len < m->replace_size)
			continue;
		m->runs[kept++] = run;
		gain += run.gain;
	}
	m->run_count = kept;
	return gain;
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

/* Moves *at to the end of a part of the extent, which one run covers, or none;
 * true: one does.  *run: none before it goes on at *at. */
static bool next_part(const struct matcher *m, const struct extent *e,
		      size_t *run, uint64_t *at)
{
	const struct block_run *r = &m->runs[*run],
			       *stop = m->runs + m->run_count;
	uint64_t end = e->end;
	bool covered;

	while (r < stop && r->to + r->len <= *at)
		r++;
	covered = r < stop && r->to <= *at;
	if (r < stop)
		end = covered ? r->to + r->len : r->to;
	*run = (size_t)(r - m->runs);
	*at = end < e->end ? end : e->end;
	return covered;
}

/* Copies a part of the file to the nameless one, at the same offset, and shares
 * it. */
static int move_part(int fd, uint64_t start, uint64_t end, int to)
{
	char *buffer = malloc(COPY);
	uint64_t at = start;
	int64_t n;
	int err = buffer ? 0 : -ENOMEM;

	while (!err && at < end) {
		n = dedup_read(fd, buffer, end - at < COPY ? end - at : COPY,
			       at);
		if (n <= 0)
			err = n ? (int)n : -ESTALE;
		else
			err = dedup_write(to, buffer, (size_t)n, at);
		at += err ? 0 : (uint64_t)n;
	}
	if (!err)
		err = share_range(to, start, fd, start, end - start);
	free(buffer);
	return err;
}

/* After the runs were shared: moves what is left of the extents of the second
 * file, where the filesystem frees whole ones only and it is worth it.  The bytes
 * of runs that stay allocated nevertheless.  Failures cost space and nothing
 * else. */
static uint64_t rewrite_leftovers(const struct matcher *m, int directory)
{
	const struct extent *e = m->replace_map.extents;
	uint64_t kept = 0, at, end, left, covered;
	size_t run = 0, first;
	struct statfs fs;
	int to = -1, err = 0;

	if (fstatfs(m->replace, &fs) || fs.f_type != BTRFS_SUPER_MAGIC)
		return 0;
	for (; e < m->replace_map.extents + m->replace_map.count; e++) {
		first = run;
		left = covered = 0;
		for (at = end = e->start; at < e->end; at = end)
			*(next_part(m, e, &run, &end) ? &covered : &left) +=
				end - at;
		if (e->shared || !left || !covered)
			continue;
		if (to < 0 && !err) {
			to = openat(directory, ".",
				    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
			err = to < 0 ? -errno : 0;
		}
		run = first;
		for (at = end = e->start;
		     !err && left / COST_MOST <= covered && at < e->end;
		     at = end)
			if (!next_part(m, e, &run, &end))
				err = move_part(m->replace, at, end, to);
		if (err || left / COST_MOST > covered)
			kept += covered;
	}
	if (to >= 0)
		close(to);
	return kept;
}

/* ---- all of it ---- */

/* A range that changed since it was compared is left as it is; in files that
 * are to be equal it is an error. */
static int share_runs(struct matcher *m, int directory, uint64_t *gain_out)
{
	const struct block_run *r = m->runs;
	uint64_t gain = 0, kept;
	int err = 0;

	for (; r < m->runs + m->run_count && !err; r++) {
		err = share_range(m->keep, r->from, m->replace, r->to, r->len);
		if (!err)
			gain += r->gain;
		else if (err == -EILSEQ && !m->equal)
			err = 0;
	}
	kept = err ? 0 : rewrite_leftovers(m, directory);
	*gain_out = gain > kept ? gain - kept : 0;
	return err;
}

int dedup_share(int keep, int replace, int directory, bool equal, bool apply,
		struct dedup_sharing *out)
{
	struct matcher m = { .keep = keep, .replace = replace, .equal = equal };
	struct stat a, b;
	int err = fstat(keep, &a) || fstat(replace, &b) ? -errno : 0;

	if (err)
		return err;
	m.keep_size = (uint64_t)a.st_size;
	m.replace_size = (uint64_t)b.st_size;
	err = read_extents(m.keep, m.keep_size, &m.keep_map);
	if (!err)
		err = read_extents(m.replace, m.replace_size, &m.replace_map);
	if (!err)
		err = find_runs(&m, &out->shared);
	if (!err)
		out->gain = drop_short_runs(&m);
	if (!err && apply)
		err = share_runs(&m, directory, &out->gain);
	free(m.keep_map.extents);
	free(m.replace_map.extents);
	free(m.slots);
	free(m.runs);
	return err;
}
