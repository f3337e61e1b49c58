/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
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
enum {
	BLOCK_BYTES = 4096,
	/* A shorter run costs more in extents than it frees. */
	RUN_LEAST = 4 * BLOCK_BYTES,
};

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

static int add_extent(struct extent_map *m, const struct extent *e)
{
	struct extent *extents =
		array_with_room(m->extents, m->count, sizeof(*extents));

	if (!extents)
		return -ENOMEM;
	m->extents = extents;
	extents[m->count++] = *e;
	return 0;
}

/* Writes the file out first.  -EOPNOTSUPP. */
static int read_extents(int fd, uint64_t size, struct extent_map *out)
{
	/* Small files of btrfs live in its metadata: nothing there can be
	 * shared. */
	enum {
		BATCH = 256,
		NO_PLACE = FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_UNKNOWN |
			   FIEMAP_EXTENT_DELALLOC,
	};
	const size_t room =
		sizeof(struct fiemap) + BATCH * sizeof(struct fiemap_extent);
	struct fiemap *batch = malloc(room);
	const struct fiemap_extent *e;
	uint64_t at = 0, end = 0;
	int err = batch ? 0 : -ENOMEM;

	for (; !err && at<size; at = end> at ? end : size) {
		memset(batch, 0, room);
		batch->fm_start = at;
		batch->fm_length = size - at;
		batch->fm_flags = FIEMAP_FLAG_SYNC;
		batch->fm_extent_count = BATCH;
		if (ioctl(fd, FS_IOC_FIEMAP, batch))
			err = -errno;
		for (e = batch->fm_extents;
		     !err && e < batch->fm_extents + batch->fm_mapped_extents;
		     e++) {
			end = e->fe_logical + e->fe_length;
			if (e->fe_flags & NO_PLACE || e->fe_logical >= size)
				continue;
			err = add_extent(
				out, &(struct extent){
					     e->fe_logical,
					     end < size ? end : size,
					     e->fe_physical,
					     e->fe_flags & FIEMAP_EXTENT_SHARED,
				     });
		}
	}
	free(batch);
	return err;
}

static int compare_to_extent(const void *key, const void *extent)
{
	const uint64_t at = *(const uint64_t *)key;
	const struct extent *e = extent;

	return at < e->start ? -1 : at >= e->end;
}

/* The place of a byte on the disk; 0: it is in a hole. */
static uint64_t place_of(const struct extent_map *m, uint64_t at)
{
	const struct extent *e = bsearch(&at, m->extents, m->count, sizeof(*e),
					 compare_to_extent);

	return e ? e->place + (at - e->start) : 0;
}

/* ---- sharing a range: FIDEDUPERANGE ---- */

/* Makes a range of the second file refer to the blocks of the first one.  The
 * kernel locks both files and compares.  -EILSEQ: it found them different. */
static int share_range(int keep_fd, uint64_t from, int replace_fd, uint64_t to,
		       uint64_t len)
{
	enum { PIECE = 16 << 20 };
	/* The range ends in an array, of which there is one. */
	union {
		struct file_dedupe_range range;
		uint8_t bytes[sizeof(struct file_dedupe_range) +
			      sizeof(struct file_dedupe_range_info)];
	} request;
	struct file_dedupe_range_info *info = request.range.info;
	uint64_t at;

	for (at = 0; at < len; at += info->bytes_deduped) {
		memset(&request, 0, sizeof(request));
		request.range.src_offset = from + at;
		request.range.src_length = len - at < PIECE ? len - at : PIECE;
		request.range.dest_count = 1;
		info->dest_fd = replace_fd;
		info->dest_offset = to + at;
		if (ioctl(keep_fd, FIDEDUPERANGE, &request))
			return -errno;
		if (info->status == FILE_DEDUPE_RANGE_DIFFERS)
			return -EILSEQ;
		if (info->status < 0 || !info->bytes_deduped)
			return info->status ? info->status : -EOPNOTSUPP;
	}
	return 0;
}

/* Filesystems that have no such call answer in one of these ways. */
static int plain_error(int err)
{
	return err == -EINVAL || err == -ENOTTY || err == -ENOSYS ?
		       -EOPNOTSUPP :
		       err;
}

int dedup_share_probe(int keep_fd, int replace_fd)
{
	int err = share_range(keep_fd, 0, replace_fd, 1, 1);

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

/* Unless it is all of the file. */
static void drop_last_run_if_short(struct matcher *m)
{
	uint64_t len =
		m->run_count ? m->runs[m->run_count - 1].len : UINT64_MAX;

	if (!m->equal && len < RUN_LEAST && len < m->replace_size)
		m->run_count--;
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
	drop_last_run_if_short(m);
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
	drop_last_run_if_short(m);
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

/* Copies a part of the file to the nameless one, at the same offset, and shares
 * it. */
static int move_part(int fd, uint64_t start, uint64_t end, int to)
{
	off_t at = (off_t)start;
	ssize_t n = lseek(to, at, SEEK_SET);

	while (n >= 0 && (uint64_t)at < end) {
		n = sendfile(to, fd, &at, end - (uint64_t)at);
		if (!n)
			return -ESTALE;
	}
	return n < 0 ? -errno : share_range(to, start, fd, start, end - start);
}

/* The bytes of an extent that no run covers, which are moved if to is a file;
 * *run: the first that may cover it. */
static int64_t leftovers(const struct matcher *m, const struct extent *e,
			 const struct block_run *run, int to)
{
	const struct block_run *end = m->runs + m->run_count;
	uint64_t at = e->start, next, left = 0;
	int err = 0;

	for (; at < e->end && !err; run++) {
		next = run < end && run->to < e->end ? run->to : e->end;
		if (next > at) {
			left += next - at;
			err = to < 0 ? 0 : move_part(m->replace, at, next, to);
		}
		at = run < end && run->to + run->len > at ? run->to + run->len :
							    next;
	}
	return err ? err : (int64_t)left;
}

/* After the runs were shared: moves what is left of the extents of the second
 * file, where the filesystem frees whole ones only and it is worth it.  The bytes
 * of runs that stay allocated nevertheless.  Failures cost space and nothing
 * else. */
static uint64_t rewrite_leftovers(const struct matcher *m, const char *path)
{
	enum {
		COST_MOST = 7
	}; /* bytes that are written for one that gets
				 * free */
	const struct extent *e = m->replace_map.extents;
	const struct block_run *run = m->runs, *end = run + m->run_count;
	uint64_t kept = 0, left, covered;
	struct statfs fs;
	int directory, to;

	if (fstatfs(m->replace, &fs) || fs.f_type != BTRFS_SUPER_MAGIC)
		return 0;
	directory = dedup_open_parent(path, &path);
	to = directory < 0 ? -1 :
			     openat(directory, ".",
				    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	for (; e < m->replace_map.extents + m->replace_map.count; e++) {
		while (run < end && run->to + run->len <= e->start)
			run++;
		left = (uint64_t)leftovers(m, e, run, -1);
		covered = e->end - e->start - left;
		if (e->shared || !left || !covered)
			continue;
		if (to < 0 || left / COST_MOST > covered ||
		    leftovers(m, e, run, to) < 0)
			kept += covered;
	}
	if (to >= 0)
		close(to);
	if (directory >= 0)
		close(directory);
	return kept;
}

/* ---- all of it ---- */

int dedup_share(int keep, int replace, const char *path, bool equal, bool apply,
		struct dedup_result *out)
{
	struct matcher m = { .keep = keep, .replace = replace, .equal = equal };
	const struct block_run *r;
	struct stat a, b;
	uint64_t kept;
	int err = fstat(keep, &a) || fstat(replace, &b) ? -errno : 0;

	if (err)
		return err;
	m.keep_size = (uint64_t)a.st_size;
	m.replace_size = (uint64_t)b.st_size;
	err = read_extents(keep, m.keep_size, &m.keep_map);
	if (!err)
		err = read_extents(replace, m.replace_size, &m.replace_map);
	if (!err)
		err = find_runs(&m, &out->shared);
	for (r = m.runs; !err && r < m.runs + m.run_count; r++) {
		if (apply)
			err = share_range(keep, r->from, replace, r->to,
					  r->len);
		if (!err)
			out->gain += r->gain;
		/* It changed since it was compared, and is left as it is; in
		 * files that are to be equal this is an error. */
		else if (err == -EILSEQ && !equal)
			err = 0;
	}
	if (!err && apply) {
		kept = rewrite_leftovers(&m, path);
		out->gain -= kept < out->gain ? kept : out->gain;
	}
	free(m.keep_map.extents);
	free(m.replace_map.extents);
	free(m.slots);
	free(m.runs);
	return plain_error(err);
}
