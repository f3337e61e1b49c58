/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/file.h"
#include "core/cli/cli.h"
#include "core/cli/table.h"
#include "core/extract/sketch.h"
#include "core/extract/sniff.h"

#define BUFFER_BYTES ((size_t)256 << 10) /* stays in the second cache */
#define UNTOLD_BYTES (64 << 20) /* most that is read of a file of size 0 */

int reader_init(struct reader *r, uint32_t digest_set)
{
	*r = (struct reader){ .digest_set = digest_set,
			      .buffer = malloc(BUFFER_BYTES) };
	return r->buffer ? fingerprint_new(digest_set, &r->fp) : -ENOMEM;
}

void reader_release(struct reader *r)
{
	fingerprint_free(r->fp);
	extract_free(r->extract);
	free(r->buffer);
	*r = (struct reader){ 0 };
}

ssize_t reader_next(struct reader *r, int fd, uint64_t most)
{
	const size_t len = most < BUFFER_BYTES ? (size_t)most : BUFFER_BYTES;
	const ssize_t got = TEMP_FAILURE_RETRY(read(fd, r->buffer, len));

	return got < 0 ? -errno : got;
}

/* ---- texts and pictures ---- */

/* Adds what kin-extract makes of the file: the sketch of the text of a document, or
 * of the members of an archive; the hashes of a picture. */
static void add_extracted(struct reader *r, int fd, bool text,
			  struct digests *d)
{
	uint8_t head[SNIFF_BYTES], packed[SKETCH_PACKED_MAX];
	const ssize_t len = pread(fd, head, sizeof(head), 0);
	const struct sketch *sketch = NULL;
	struct extract_result result = { 0 };
	struct extract_sketch *s;
	struct stat st;

	if (len <= 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    !(text ? sniff_is_document(head, (size_t)len) :
		     sniff_picture(head, (size_t)len)) ||
	    (!r->extract && extract_open(NULL, &r->extract)))
		return;
	s = extract_sketch_new();
	if (s && !extract_sketch_read(s, r->extract, fd, st.st_uid, &sketch,
				      &result)) {
		digests_put_picture(d, &result.picture);
		if (sketch)
			(void)digests_put_text(d, packed,
					       sketch_pack(sketch, packed));
	}
	extract_sketch_free(s);
}

/* Reads the rest of a regular file up to the end that it has now.  A file that
 * tells a size of 0 may have no end (/proc/self/pagemap).  Holes are not read. */
int reader_digest_fd(struct reader *r, int fd, const char *name,
		     struct digests *out)
{
	struct stat st;
	const bool is_regular = !fstat(fd, &st) && S_ISREG(st.st_mode);
	const off_t begin = is_regular ? lseek(fd, 0, SEEK_CUR) : -1;
	const bool known = begin >= 0 && begin <= st.st_size && st.st_size;
	const uint64_t end = known      ? (uint64_t)st.st_size :
			     is_regular ? UNTOLD_BYTES :
					  UINT64_MAX;
	uint64_t at = known ? (uint64_t)begin : 0;
	struct hole_part part = { 0 };
	ssize_t n = 0;
	int err = fingerprint_begin_file(
		r->fp, name, known ? end - at : UINT64_MAX, SIZE_MAX);

	while (!err && at < end) {
		if (at >= part.end) {
			part = (struct hole_part){ .end = end };
			if (known)
				hole_find(fd, at, end, &part);
			/* Where it looked for holes, it has moved fd. */
			if (known && end - at >= HOLE_LEAST &&
			    lseek(fd, (off_t)(part.hole ? part.end : at),
				  SEEK_SET) < 0)
				return -errno;
		}
		if (part.hole) {
			err = fingerprint_update_zeros(r->fp, part.end - at);
			at = part.end;
			continue;
		}
		n = reader_next(r, fd, part.end - at);
		if (n <= 0) /* the end, perhaps before the one that was told */
			break;
		err = fingerprint_update(r->fp, r->buffer, (size_t)n);
		at += (uint64_t)n;
	}
	if (!err && n < 0)
		err = (int)n;
	if (!err && !known && at == end)
		err = -EFBIG;
	if (!err)
		err = fingerprint_final(r->fp, out);
	if (!err && r->digest_set & DIGEST_BIT(DIGEST_PDQ))
		add_extracted(r, fd, false, out);
	return err;
}

int cli_told_digests(const char *path, uint32_t set, struct digests *out)
{
	struct buf text = { 0 };
	struct stat st;
	int id, err = stat(path, &st) ? -errno : 0;

	if (!err)
		out->size = (uint64_t)st.st_size;
	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		if (!(set & DIGEST_BIT(id)))
			continue;
		err = mount_get_attribute(path, digest_table[id]->attribute,
					  &text);
		if (!err)
			err = digest_parse((enum digest_id)id, text.data,
					   text.len, out);
		else if (err == -ENODATA)
			err = 0;
	}
	buf_release(&text);
	return err;
}

int mount_told_digests(const struct mount *mount, const char *rel, uint32_t set,
		       struct digests *out)
{
	char *path = path_shown(mount->point, rel, false);
	int err = path ? cli_told_digests(path, set, out) : -ENOMEM;

	free(path);
	return err;
}

/* ---- files ---- */

static int type_error(const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return 0;
	return S_ISDIR(st->st_mode) ? -EISDIR : -ENOTSUP;
}

/* Opening some devices does something: where the caller has not seen the type,
 * it is asked before.  And it is asked again, because the name may mean another
 * file by then. */
int reader_open(const char *path, bool follow, int *fd_out)
{
	int flags = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
	struct stat st;
	int fd, err = 0;

	if (follow)
		err = stat(path, &st) ? -errno : type_error(&st);
	if (err)
		return err;
	fd = open(path, follow ? flags : flags | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : type_error(&st);
	if (err) {
		close(fd);
		return err;
	}
	if (st.st_size >= (off_t)BUFFER_BYTES)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	*fd_out = fd;
	return 0;
}

int reader_digest_named(struct reader *r, const char *path, bool text,
			struct digests *out)
{
	int fd, err;

	if (!strcmp(path, "-"))
		return reader_digest_fd(r, STDIN_FILENO, "stdin", out);
	err = reader_open(path, true, &fd);
	if (err)
		return err;
	err = reader_digest_fd(r, fd, basename(path), out);
	if (!err && text)
		add_extracted(r, fd, true, out);
	close(fd);
	return err;
}
