/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/hole.h"
#include "core/base/processors.h"
#include "core/cli/cli.h"
#include "core/digest/sdhash/sdhash.h"

#define BUFFER_BYTES ((size_t)64 << 10) /* stays in the second cache */
#define TEAM_BYTES (8 << 20)

int reader_init(struct reader *r, uint32_t digest_set)
{
	int err;

	*r = (struct reader){ .digest_set = digest_set };
	r->buffer = malloc(BUFFER_BYTES);
	err = r->buffer ? fingerprint_new(digest_set, &r->fp) : -ENOMEM;
	if (!err)
		return EXIT_OK;
	complain_errno(NULL, err);
	reader_release(r);
	return EXIT_FAILED;
}

void reader_release(struct reader *r)
{
	team_free(r->team);
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

static ssize_t fill(void *arg, void *buffer, size_t len)
{
	struct reader_part *p = arg;
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

/* Whether several threads are worth it, and can be had. */
static bool wants_team(struct reader *r, int fd)
{
	unsigned helpers;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < TEAM_BYTES)
		return false;
	if (!r->threads)
		r->threads = processors_usable();
	helpers = r->threads - 1;
	if (helpers > FINGERPRINT_PARTS - 1)
		helpers = FINGERPRINT_PARTS - 1;
	if (!r->team && helpers)
		(void)team_new(helpers, NULL, NULL, &r->team);
	return r->team;
}

static int digest_alone(struct reader *r, struct reader_part *p)
{
	ssize_t got;
	int err = 0;

	while (!err && (got = fill(p, r->buffer, BUFFER_BYTES)) != 0)
		err = got < 0 ?
			      (int)got :
			      fingerprint_update(r->fp, r->buffer, (size_t)got);
	return err;
}

static int digest_part(struct reader *r, bool team, struct reader_part *p)
{
	return team ? team_update(r->team, r->fp, fill, p) : digest_alone(r, p);
}

/* From where fd stands on, up to what was the end when it was looked at. */
static int digest_file(struct reader *r, bool team, int fd, uint64_t size)
{
	uint64_t at = (uint64_t)lseek(fd, 0, SEEK_CUR);
	struct hole_part found;
	int err = 0;

	while (!err && at < size) {
		struct reader_part p = { .fd = fd };

		hole_find(fd, at, size, &found);
		if (lseek(fd, (off_t)(found.hole ? found.end : at), SEEK_SET) <
		    0)
			return -errno;
		p.left = found.end - at;
		at = found.end;
		err = found.hole ? fingerprint_update_zeros(r->fp, p.left) :
				   digest_part(r, team, &p);
		if (!found.hole && p.left > 0)
			break; /* it was cut short */
	}
	return err;
}

static int digest_rest(struct reader *r, int fd, struct digests *out)
{
	struct reader_part rest = { .fd = fd, .left = UINT64_MAX };
	bool team = wants_team(r, fd);
	struct stat st;
	int err = 0;

	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		err = digest_file(r, team, fd, (uint64_t)st.st_size);
	if (!err)
		err = digest_part(r, team, &rest);
	return err ? err : fingerprint_final(r->fp, out);
}

/* How much is left to read, if that can be known. */
static uint64_t size_of(int fd)
{
	off_t at = lseek(fd, 0, SEEK_CUR);
	struct stat st;

	if (at < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < at)
		return SDHASH_UNKNOWN;
	return (uint64_t)(st.st_size - at);
}

int reader_digest_fd(struct reader *r, int fd, const char *name,
		     struct digests *out)
{
	uint64_t size = size_of(fd);
	off_t start = lseek(fd, 0, SEEK_CUR);
	int err;

	err = fingerprint_begin_file(r->fp, name, size, SIZE_MAX);
	if (!err)
		err = digest_rest(r, fd, out);
	/* It grew, as logs do. */
	if (err == -ESTALE && size != SDHASH_UNKNOWN &&
	    lseek(fd, start, SEEK_SET) == start) {
		err = fingerprint_begin_file(r->fp, name, SDHASH_UNKNOWN,
					     SIZE_MAX);
		if (!err)
			err = digest_rest(r, fd, out);
	}
	return err;
}

const char *base_name(const char *path)
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

/* The type is asked before opening, because opening some devices does
 * something, and again after it, because the name may mean another file. */
int reader_open(const char *path, bool follow, int *fd_out)
{
	int flags = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
	struct stat st;
	int fd, err;

	if (follow ? stat(path, &st) : lstat(path, &st))
		return -errno;
	err = type_error(&st);
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
	err = reader_digest_fd(r, fd, base_name(path), out);
	close(fd);
	return err;
}
