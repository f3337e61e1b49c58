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

#include "core/base/xxh3.h"
#include "core/act/dedup/dedup_impl.h"

/*
 * Two files share their equal blocks, one extent of the second file after the
 * other.
 *
 * Runs of blocks that are equal are found, and the kernel is asked to share each
 * of them.  It compares under the locks of both files, so nothing that is wrong
 * here, and no writer, can change a byte.
 *
 * For each block of the second file, three places of the first one are tried:
 * as far away as that of the block before, so that runs go on, also behind a
 * block that differs; the same offset, which shares 0.7 per cent more of two disk
 * images; and the one that a table of fingerprints has.  What has no place on the
 * disk, or has the place of the first file's block already, is left out.  The
 * table takes up to 64 MiB.
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
 * Two references to it from the same offset still have equal places; from other
 * offsets equal places say nothing, so the bytes are compared there.
 */
struct layout {
	int fd;
	uint64_t size;
	/* The extent that was asked for last, not beyond the end of the file,
	 * and where the hole before it begins.  Where there is none, start is
	 * the size. */
	uint64_t hole, start, end;
	uint64_t place; /* of start, on the disk */
	bool shared;    /* with another file, or another part of this one */
};

/* Finds the extent that has a byte, or else the next one: 1; 0: there is none.
 * Writes the file out first.  -EOPNOTSUPP. */
static int find_extent(struct layout *l, uint64_t at)
{
	/* Small files of btrfs live in its metadata: nothing there can be
	 * shared. */
	enum {
		NO_PLACE = FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_UNKNOWN |
			   FIEMAP_EXTENT_DELALLOC,
	};
	/* The map ends in an array, of which there is one. */
	union {
		struct fiemap map;
		uint8_t bytes[sizeof(struct fiemap) +
			      sizeof(struct fiemap_extent)];
	} request;
	const struct fiemap_extent *e = request.map.fm_extents;
	uint64_t next = at;

	if (at >= l->hole && at < l->end)
		return l->start < l->size;
	l->hole = at;
	l->start = l->size;
	l->end = UINT64_MAX;
	while (next < l->size) {
		memset(&request, 0, sizeof(request));
		request.map.fm_start = next;
		request.map.fm_length = l->size - next;
		request.map.fm_flags = FIEMAP_FLAG_SYNC;
		request.map.fm_extent_count = 1;
		if (ioctl(l->fd, FS_IOC_FIEMAP, &request))
			return -errno;
		if (!request.map.fm_mapped_extents || e->fe_logical >= l->size)
			return 0;
		next = e->fe_logical + e->fe_length;
		if (e->fe_flags & NO_PLACE)
			continue;
		l->start = e->fe_logical;
		l->end = next < l->size ? next : l->size;
		l->place = e->fe_physical;
		l->shared = e->fe_flags & FIEMAP_EXTENT_SHARED;
		return 1;
	}
	return 0;
}

/* The place of a byte on the disk; 0: it is in a hole. */
static uint64_t place_of(struct layout *l, uint64_t at)
{
	return find_extent(l, at) > 0 && at >= l->start ?
		       l->place + (at - l->start) :
		       0;
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

struct matcher {
	struct layout keep, replace;
	bool equal; /* the contents are */
	bool apply; /* else it is only counted */
	/* The first block of each fingerprint of the kept file, made when it is
	 * needed: the upper half of the fingerprint, and the number of the block
	 * and 1; 0: empty. */
	uint64_t *slots;      /* owned */
	size_t slot_count;    /* a power of two */
	uint64_t sample_mask; /* only fingerprints without these bits */
	/* Of the block that was found last, its offset in the kept file less
	 * that in the second one; below 0 it wraps. */
	uint64_t shift;
	uint64_t run; /* bytes up to the block at hand that are to be shared */
	uint64_t covered; /* bytes of the extent that runs have */
	bool frees_whole; /* the filesystem: extents, not blocks */
	int spare; /* for what is left of extents; negative: it is not moved */
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
	const uint64_t blocks = m->keep.size / BLOCK_BYTES;
	struct layout keep = m->keep;
	uint64_t fingerprint, *slot, at = 0;
	size_t used = 0;
	char block[BLOCK_BYTES];
	int64_t n;
	int err;

	while (blocks / (m->sample_mask + 1) > SLOTS_MOST / 2)
		m->sample_mask = 2 * m->sample_mask + 1;
	for (m->slot_count = 1024;
	     m->slot_count / 2 < blocks / (m->sample_mask + 1);)
		m->slot_count *= 2;
	m->slots = calloc(m->slot_count, sizeof(*m->slots));
	if (!m->slots)
		return -ENOMEM;
	for (; (err = find_extent(&keep, at)) > 0; at = keep.end)
		for (at = keep.start; at + BLOCK_BYTES <= keep.end;
		     at += BLOCK_BYTES) {
			n = dedup_read(keep.fd, block, BLOCK_BYTES, at);
			if (n != BLOCK_BYTES)
				return n < 0 ? (int)n : -ESTALE;
			slot = find_slot(m, block, &fingerprint);
			/* Blocks that were made for it could fill it. */
			if (!slot || *slot || used == m->slot_count / 2 ||
			    at / BLOCK_BYTES >= UINT32_MAX)
				continue;
			*slot = (fingerprint & ~(uint64_t)UINT32_MAX) |
				(at / BLOCK_BYTES + 1);
			used++;
		}
	return err;
}

static bool is_equal(const struct matcher *m, uint64_t from, const char *block,
		     uint64_t len)
{
	char other[BLOCK_BYTES];

	return len <= m->keep.size && from <= m->keep.size - len &&
	       dedup_read(m->keep.fd, other, len, from) == (int64_t)len &&
	       !memcmp(other, block, len);
}

/* Where the kept file has the block; *from_io: the place to try first.  1: found;
 * 0: nowhere. */
static int find_block(struct matcher *m, uint64_t at, uint64_t len,
		      uint64_t *from_io)
{
	char block[BLOCK_BYTES];
	uint64_t *slot, fingerprint;
	int64_t n;
	int err;

	if (m->equal)
		return 1;
	n = dedup_read(m->replace.fd, block, len, at);
	if (n != (int64_t)len) /* it became shorter meanwhile */
		return n < 0 ? (int)n : -ESTALE;
	if (len == BLOCK_BYTES && is_equal(m, *from_io, block, len))
		return 1;
	*from_io = at;
	if (len < BLOCK_BYTES)
		return m->keep.size == m->replace.size &&
		       is_equal(m, at, block, len);
	if (m->shift && is_equal(m, at, block, len))
		return 1;
	err = m->slots ? 0 : fill_table(m);
	if (err)
		return err;
	slot = find_slot(m, block, &fingerprint);
	if (!slot || !*slot)
		return 0;
	*from_io = ((*slot & UINT32_MAX) - 1) * BLOCK_BYTES;
	return is_equal(m, *from_io, block, len);
}

/* Shares the run that ends at an offset of the second file.  One within an
 * extent that is shorter costs more in extents than it frees. */
static int end_run(struct matcher *m, uint64_t end)
{
	enum { RUN_LEAST = 4 * BLOCK_BYTES };
	const struct layout *e = &m->replace;
	const uint64_t len = m->run, to = end - len;
	int err = 0;

	m->run = 0;
	if (!len || (!m->equal && len < RUN_LEAST && len < e->end - e->start))
		return 0;
	if (m->apply)
		err = share_range(m->keep.fd, to + m->shift, m->replace.fd, to,
				  len);
	/* It changed since it was compared, and is left as it is; in files that
	 * are to be equal this is an error. */
	if (err == -EILSEQ && !m->equal)
		return 0;
	m->covered += err ? 0 : len;
	return err;
}

/* Shares runs of the extent of the second file, from a block on; *at_io: behind
 * it then. */
static int share_runs(struct matcher *m, uint64_t *at_io, uint64_t *shared_io)
{
	const struct layout *e = &m->replace;
	uint64_t at = *at_io, from, len, place;
	bool shared;
	int found, err = 0;

	m->covered = 0;
	for (; at < e->end && !err; at += len) {
		len = e->size - at;
		len = len < BLOCK_BYTES ? len : BLOCK_BYTES;
		place = e->place + (at - e->start);
		from = at + m->shift;
		shared = !m->shift && place_of(&m->keep, from) == place;
		found = shared ? 1 : find_block(m, at, len, &from);
		if (found < 0)
			return found;
		shared |= found && place_of(&m->keep, from) == place;
		if (!found || shared || from != at + m->shift)
			err = end_run(m, at);
		m->shift = found ? from - at : m->shift;
		m->run += found && !shared ? len : 0;
		*shared_io += shared ? len : 0;
	}
	*at_io = at;
	return err ? err : end_run(m, at);
}

/* ---- what is left of an extent ---- */

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

/* Moves what is still where it was.  A failure costs space and nothing else. */
static int move_leftovers(const struct matcher *m)
{
	const struct layout *e = &m->replace;
	struct layout now = { .fd = m->replace.fd, .size = e->end };
	uint64_t at;
	int err;

	for (at = e->start; (err = find_extent(&now, at)) > 0; at = now.end) {
		if (at < now.start)
			at = now.start;
		/* Of a compressed extent all parts have one place. */
		if (now.place != e->place &&
		    now.place - now.start != e->place - e->start)
			continue;
		err = move_part(m->replace.fd, at, now.end, m->spare);
		if (err)
			break;
	}
	return err;
}

/* After the runs of an extent were shared: what gets free. */
static uint64_t free_extent(const struct matcher *m)
{
	enum { COST_MOST = 7 }; /* bytes written for one that gets free */
	const struct layout *e = &m->replace;
	const uint64_t left = e->end - e->start - m->covered;

	if (e->shared || !m->covered ||
	    (m->frees_whole && left / COST_MOST > m->covered))
		return 0;
	return m->frees_whole && left && m->apply && move_leftovers(m) ?
		       0 :
		       m->covered;
}

/* ---- all of it ---- */

int dedup_share(int keep, int replace, const char *path, bool equal, bool apply,
		struct dedup_result *out)
{
	struct matcher m = { .equal = equal, .apply = apply, .spare = -1 };
	const struct layout *e = &m.replace;
	struct stat a, b;
	struct statfs fs;
	uint64_t at = 0;
	int directory, err;

	if (fstat(keep, &a) || fstat(replace, &b) || fstatfs(replace, &fs))
		return -errno;
	m.keep = (struct layout){ .fd = keep, .size = (uint64_t)a.st_size };
	m.replace =
		(struct layout){ .fd = replace, .size = (uint64_t)b.st_size };
	m.frees_whole = fs.f_type == BTRFS_SUPER_MAGIC;
	if (m.frees_whole && apply) {
		directory = dedup_open_parent(path, &path);
		if (directory >= 0) {
			m.spare = openat(directory, ".",
					 O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
			close(directory);
		}
	}
	while ((err = find_extent(&m.replace, at)) > 0) {
		if (at < e->start)
			at = (e->start + BLOCK_BYTES - 1) / BLOCK_BYTES *
			     BLOCK_BYTES;
		err = share_runs(&m, &at, &out->shared);
		if (err)
			break;
		out->gain += free_extent(&m);
	}
	if (m.spare >= 0)
		close(m.spare);
	free(m.slots);
	return plain_error(err);
}
