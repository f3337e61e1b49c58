/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/hole.h"
#include "core/cli/cli.h"
#include "core/digest/sdhash/sdhash.h"

#define BUFFER_BYTES ((size_t)256 << 10) /* stays in the second cache */
#define UNTOLD_BYTES (64 << 20) /* most that is read of a file of size 0 */

int reader_init(struct reader *r, uint32_t digest_set)
{
	int err;

	*r = (struct reader){ .digest_set = digest_set };
	r->buffer = malloc(BUFFER_BYTES);
	err = r->buffer ? fingerprint_new(digest_set, &r->fp) : -ENOMEM;
	if (!err)
		return EXIT_OK;
	cli_complain_errno(NULL, err);
	reader_release(r);
	return EXIT_FAILED;
}

void reader_release(struct reader *r)
{
	fingerprint_free(r->fp);
	free(r->buffer);
	*r = (struct reader){ 0 };
}

int reader_each(struct reader *r, int fd,
		int (*take)(void *arg, const void *data, size_t len), void *arg)
{
	ssize_t got;
	int err;

	for (;;) {
		got = read(fd, r->buffer, BUFFER_BYTES);
		if (!got)
			return 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		err = take(arg, r->buffer, (size_t)got);
		if (err)
			return err;
	}
}

/* The bytes that a part of a file still has. */
struct reader_part {
	int fd;
	uint64_t left;
};

static ssize_t fill(struct reader_part *p, void *buffer, size_t len)
{
	ssize_t got;

	if (p->left < len)
		len = (size_t)p->left;
	do {
		got = read(p->fd, buffer, len);
	} while (got < 0 && errno == EINTR);
	if (got > 0)
		p->left -= (uint64_t)got;
	return got < 0 ? -errno : got;
}

/* The part of a file that is not read yet. */
struct reader_extent {
	uint64_t at;
	uint64_t end;
	bool known; /* it is a regular file */
};

static void find_extent(int fd, struct reader_extent *out)
{
	struct stat st;
	off_t at;

	*out = (struct reader_extent){ 0 };
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return;
	at = lseek(fd, 0, SEEK_CUR);
	if (at < 0 || at > st.st_size)
		return;
	*out = (struct reader_extent){ (uint64_t)at, (uint64_t)st.st_size,
				       true };
}

static int digest_part(struct reader *r, struct reader_part *p)
{
	ssize_t got;
	int err = 0;

	while (!err && (got = fill(p, r->buffer, BUFFER_BYTES)) != 0)
		err = got < 0 ?
			      (int)got :
			      fingerprint_update(r->fp, r->buffer, (size_t)got);
	return err;
}

/* Up to what was the end when it was looked at. */
static int digest_extent(struct reader *r, int fd,
			 const struct reader_extent *e)
{
	struct hole_part found;
	uint64_t at = e->at;
	int err = 0;

	while (!err && at < e->end) {
		struct reader_part p = { .fd = fd };

		hole_find(fd, at, e->end, &found);
		if (lseek(fd, (off_t)(found.hole ? found.end : at), SEEK_SET) <
		    0)
			return -errno;
		p.left = found.end - at;
		at = found.end;
		err = found.hole ? fingerprint_update_zeros(r->fp, p.left) :
				   digest_part(r, &p);
		if (!found.hole && p.left > 0)
			break; /* it was cut short */
	}
	return err;
}

static int digest_rest(struct reader *r, int fd, const struct reader_extent *e)
{
	struct reader_part rest = { .fd = fd, .left = UINT64_MAX };
	int err = e->known ? digest_extent(r, fd, e) : 0;

	return err ? err : digest_part(r, &rest);
}

/* A file that tells a size of 0 may have no end (/proc/self/pagemap). */
static int digest_untold(struct reader *r, struct reader_part *rest)
{
	int err;

	rest->left = UNTOLD_BYTES;
	err = digest_part(r, rest);
	return err || rest->left ? err : -EFBIG;
}

/* A file that fits the buffer.  One that has ended ends a read early: to read
 * on would tell nothing more. */
static int digest_small(struct reader *r, int fd, const struct reader_extent *e)
{
	struct reader_part rest = { .fd = fd, .left = UINT64_MAX };
	ssize_t got = fill(&rest, r->buffer, BUFFER_BYTES);
	int err;

	if (got < 0)
		return (int)got;
	err = fingerprint_update(r->fp, r->buffer, (size_t)got);
	if (err || (uint64_t)got == e->end - e->at)
		return err;
	return e->end ? digest_part(r, &rest) : digest_untold(r, &rest);
}

/* size: what the digests are told of it. */
static int digest_as(struct reader *r, int fd, const char *name, uint64_t size,
		     const struct reader_extent *e, struct digests *out)
{
	int err = fingerprint_begin_file(r->fp, name, size, SIZE_MAX);

	if (!err && e->known && e->end - e->at < BUFFER_BYTES)
		err = digest_small(r, fd, e);
	else if (!err)
		err = digest_rest(r, fd, e);
	return err ? err : fingerprint_final(r->fp, out);
}

int reader_digest_fd(struct reader *r, int fd, const char *name,
		     struct digests *out)
{
	struct reader_extent e;
	int err;

	find_extent(fd, &e);
	err = digest_as(r, fd, name, e.known ? e.end - e.at : SDHASH_UNKNOWN,
			&e, out);
	/* It grew, as logs do. */
	if (err == -ESTALE && e.known &&
	    lseek(fd, (off_t)e.at, SEEK_SET) == (off_t)e.at)
		err = digest_as(r, fd, name, SDHASH_UNKNOWN, &e, out);
	return err;
}

int cli_walk(char *path, int options, cli_walk_compare_fn *compare,
	     cli_walk_fn *each, void *arg)
{
	char *paths[] = { path, NULL };
	FTS *fts =
		fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | options, compare);
	FTSENT *entry;
	int err = 0;

	if (!fts)
		return -errno;
	for (errno = 0; !err && (entry = fts_read(fts)); errno = 0)
		err = each(arg, fts, entry);
	if (!err)
		err = -errno;
	(void)fts_close(fts);
	return err;
}

const char *cli_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

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
	int fd, err;

	if (follow && stat(path, &st))
		return -errno;
	err = follow ? type_error(&st) : 0;
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

int reader_digest_path(struct reader *r, const char *path, bool follow,
		       struct digests *out)
{
	int fd = -1, err = reader_open(path, follow, &fd);

	if (err)
		return err;
	err = reader_digest_fd(r, fd, cli_base_name(path), out);
	close(fd);
	return err;
}
