/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/lease.h"
#include "core/dedup/dedup_impl.h"

enum { OPEN_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

static int stop(struct dedup_result *r, enum dedup_outcome outcome,
		const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Always -ECANCELED, so that callers can return it. */
static int stop(struct dedup_result *r, enum dedup_outcome outcome,
		const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(r->reason, sizeof(r->reason), format, args);
	va_end(args);
	r->outcome = outcome;
	return -ECANCELED;
}

static int skip(struct dedup_result *r, const char *reason)
{
	return stop(r, DEDUP_SKIPPED, "%s", reason);
}

static int skip_errno(struct dedup_result *r, const char *action, int err)
{
	return stop(r, DEDUP_SKIPPED, "%s: %s", action, err_text(err));
}

/* ---- the two files ---- */

/* A second run of this program must not replace what this one keeps. */
static int open_file(const char *path, int lock, int *fd_out)
{
	int fd = open(path, OPEN_FLAGS), err = 0;

	if (fd < 0)
		return -errno;
	if (flock(fd, lock | LOCK_NB))
		err = errno == EWOULDBLOCK ? -EBUSY : 0; /* 0: no locks here */
	if (err)
		close(fd);
	else
		*fd_out = fd;
	return err;
}

static bool is_as_planned(const struct stat *planned, const struct stat *now)
{
	return S_ISREG(now->st_mode) && planned->st_dev == now->st_dev &&
	       planned->st_ino == now->st_ino &&
	       planned->st_size == now->st_size &&
	       timespec_to_ns(&planned->st_mtim) ==
		       timespec_to_ns(&now->st_mtim);
}

/* A lease needs to be the owner, and a filesystem that has them; without one
 * the checks afterwards are all there is. */
static int take_lease(int fd, bool *taken_out)
{
	int err = lease_take(fd);

	*taken_out = !err;
	return err == -EAGAIN ? err : 0;
}

static int open_side(const struct dedup_options *o, const struct dedup_file *f,
		     int lock, int *fd_out, struct stat *st_out)
{
	char *real = o->real_path && o->method == DEDUP_REFLINK ?
			     o->real_path(o->arg, f->path) :
			     NULL;
	int err = open_file(real ? real : f->path, lock, fd_out);

	if (!err && fstat(*fd_out, st_out))
		err = -errno;
	/* Another path of it may have another device number, never another
	 * size or time. */
	if (!err && real)
		st_out->st_dev = f->st.st_dev;
	free(real);
	if (err)
		return err;
	return is_as_planned(&f->st, st_out) ? 0 : -ESTALE;
}

static int open_pair(const struct dedup_plan *p, const struct dedup_step *step,
		     const struct dedup_options *o, struct dedup_pair *pair,
		     struct dedup_result *r)
{
	int err = open_side(o, &p->files[step->keep], LOCK_SH, &pair->keep_fd,
			    &pair->keep_st);

	if (err)
		return err == -ESTALE ?
			       skip(r, "the file that is kept has changed") :
			       skip_errno(r, "the file that is kept", err);
	err = open_side(o, &p->files[step->replace], LOCK_EX, &pair->replace_fd,
			&pair->replace_st);
	if (err)
		return err == -ESTALE ? skip(r, "it has changed") :
					skip_errno(r, "cannot be opened", err);
	err = take_lease(pair->keep_fd, &pair->keep_leased);
	if (!err)
		err = take_lease(pair->replace_fd, &pair->replace_leased);
	return err ? skip(r, "a program has it open for writing") : 0;
}

static void close_pair(struct dedup_pair *pair)
{
	if (pair->keep_fd >= 0)
		close(pair->keep_fd);
	if (pair->replace_fd >= 0)
		close(pair->replace_fd);
}

static int explain(struct dedup_result *r, int err)
{
	switch (err) {
	case 0:
		return 0;
	case -EILSEQ:
		return skip(r, "the contents differ");
	case -EBUSY:
		return skip(r, "a program opened it for writing");
	case -ESTALE:
		return skip(r, "it has changed");
	default:
		return skip_errno(r, "cannot be compared", err);
	}
}

static int compare(const struct dedup_options *o, struct dedup_pair *pair,
		   struct dedup_result *r)
{
	const char *difference = NULL;
	int err = explain(r, dedup_compare_content(pair));

	if (err || o->method != DEDUP_HARDLINK || o->force_metadata)
		return err;
	err = explain(r,
		      dedup_compare_metadata(pair, o->is_derived, &difference));
	if (!err && difference)
		err = stop(r, DEDUP_SKIPPED, "their %s differ", difference);
	return err;
}

/* ---- replacing ---- */

/* Where the replaced path is, and the name beside it. */
struct dedup_spot {
	int directory; /* open */
	const char *name;
	const char *temporary;
};

static bool has_inode(int directory, const char *name, ino_t inode)
{
	struct stat st;

	return !fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_ino == inode;
}

static int link_beside(const struct dedup_spot *s, const struct dedup_pair *p)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", p->keep_fd);
	return linkat(AT_FDCWD, path, s->directory, s->temporary,
		      AT_SYMLINK_FOLLOW) ?
		       -errno :
		       0;
}

static int rename_beside(const struct dedup_spot *s, bool back, unsigned flags)
{
	const char *from = back ? s->temporary : s->name;
	const char *to = back ? s->name : s->temporary;

	return renameat2(s->directory, from, s->directory, to, flags) ? -errno :
									0;
}

/* After the rename the old file has the other name.  If it is not the one that
 * was compared, or was changed since, the rename is taken back. */
static int check_renamed(const struct dedup_spot *s, const struct dedup_pair *p)
{
	if (!has_inode(s->directory, s->temporary, p->replace_st.st_ino))
		return -ESTALE;
	return dedup_check_unchanged(p, true);
}

static int replace_by_link(const struct dedup_spot *s,
			   const struct dedup_pair *p)
{
	int err = link_beside(s, p);

	if (err)
		return err;
	err = rename_beside(s, false, RENAME_EXCHANGE);
	if (!err) {
		err = check_renamed(s, p);
		if (err)
			(void)rename_beside(s, false, RENAME_EXCHANGE);
	}
	/* Either the old file or the link that is not needed. */
	if (!err || has_inode(s->directory, s->temporary, p->keep_st.st_ino))
		(void)unlinkat(s->directory, s->temporary, 0);
	return err;
}

static bool is_still_kept(const char *path, const struct dedup_pair *p)
{
	struct stat st;

	return !lstat(path, &st) && st.st_ino == p->keep_st.st_ino &&
	       st.st_dev == p->keep_st.st_dev;
}

static int remove_copy(const struct dedup_spot *s, const struct dedup_pair *p,
		       const char *keep)
{
	int err = rename_beside(s, false, RENAME_NOREPLACE);

	if (err)
		return err;
	err = check_renamed(s, p);
	if (!err && !is_still_kept(keep, p))
		err = -ESTALE;
	if (err) {
		(void)rename_beside(s, true, RENAME_NOREPLACE);
		return err;
	}
	return unlinkat(s->directory, s->temporary, 0) ? -errno : 0;
}

/* The kernel locks both, compares them, and shares what is equal. */
static int share_extents(const struct dedup_pair *p)
{
	enum { PIECE = 16 << 20 };
	struct {
		struct file_dedupe_range range;
		struct file_dedupe_range_info info;
	} request;
	uint64_t size = (uint64_t)p->keep_st.st_size, offset = 0;

	while (offset < size) {
		uint64_t len = size - offset < PIECE ? size - offset : PIECE;

		memset(&request, 0, sizeof(request));
		request.range.src_offset = offset;
		request.range.src_length = len;
		request.range.dest_count = 1;
		request.info.dest_fd = p->replace_fd;
		request.info.dest_offset = offset;
		if (ioctl(p->keep_fd, FIDEDUPERANGE, &request))
			return -errno;
		if (request.info.status == FILE_DEDUPE_RANGE_DIFFERS)
			return -EILSEQ;
		if (request.info.status < 0)
			return request.info.status;
		if (!request.info.bytes_deduped)
			return -EOPNOTSUPP;
		offset += request.info.bytes_deduped;
	}
	return 0;
}

/* ---- one step ---- */

static int make_temporary(char out[40])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	(void)snprintf(out, 40, ".kin-dedup-%016llx",
		       (unsigned long long)random);
	return 0;
}

static int replace(const struct dedup_options *o, const struct dedup_spot *s,
		   const struct dedup_pair *pair, const char *keep)
{
	switch (o->method) {
	case DEDUP_HARDLINK:
		return replace_by_link(s, pair);
	case DEDUP_REFLINK:
		return share_extents(pair);
	case DEDUP_REMOVE:
	case DEDUP_METHODS:
		break;
	}
	return remove_copy(s, pair, keep);
}

static int replace_journaled(const struct dedup_options *o,
			     const struct dedup_pair *pair,
			     struct dedup_record *record,
			     struct dedup_journal *j, struct dedup_result *r)
{
	struct dedup_spot spot = { .temporary = record->temporary };
	int err;

	spot.directory = dedup_open_parent(record->path, &spot.name);
	if (spot.directory < 0)
		return skip_errno(r, "its directory", spot.directory);
	err = dedup_journal_begin(j, record);
	if (err) {
		err = stop(r, DEDUP_STOP, "the journal cannot be written: %s",
			   err_text(err));
	} else {
		err = replace(o, &spot, pair, record->keep);
		(void)dedup_journal_end(j, record, !err);
		err = err == -ESTALE || err == -EILSEQ || err == -EBUSY ?
			      explain(r, err) :
		      err ? skip_errno(r, "cannot be replaced", err) :
			    0;
	}
	close(spot.directory);
	return err;
}

void dedup_apply(const struct dedup_plan *p, const struct dedup_step *step,
		 const struct dedup_options *options, struct dedup_journal *j,
		 struct dedup_result *out)
{
	struct dedup_pair pair = { .keep_fd = -1, .replace_fd = -1 };
	struct dedup_record record = {
		.method = options->method,
		.path = p->files[step->replace].path,
		.keep = p->files[step->keep].path,
	};
	char temporary[40];
	int err = open_pair(p, step, options, &pair, out);

	if (!err)
		err = compare(options, &pair, out);
	if (!err)
		err = explain(out, make_temporary(temporary));
	if (!err)
		err = explain(out, dedup_read_attributes(pair.replace_fd,
							 options->is_derived,
							 &record.attributes));
	if (!err) {
		record.temporary = temporary;
		record.st = pair.replace_st;
		record.keep_inode = pair.keep_st.st_ino;
		memcpy(record.xxh128, pair.xxh128, sizeof(record.xxh128));
		err = replace_journaled(options, &pair, &record, j, out);
	}
	if (!err)
		out->outcome = DEDUP_DONE;
	json_decref(record.attributes);
	close_pair(&pair);
}
