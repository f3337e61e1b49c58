/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>

#include "core/act/dedup/dedup_impl.h"

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

int dedup_share_range(int keep_fd, uint64_t from, int replace_fd, uint64_t to,
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
