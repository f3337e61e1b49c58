/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/text.h"
#include "core/act/dedup/dedup_impl.h"

/*
 * Why a step must not be done.  A plan asks the same questions in the same
 * order as the deed, so what is left alone later is a file that changed
 * meanwhile, or a disk that is full.
 */

/* ---- words ---- */

int dedup_stop(struct dedup_result *r, enum dedup_outcome outcome,
	       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(r->reason, sizeof(r->reason), format, args);
	va_end(args);
	r->outcome = outcome;
	return -ECANCELED;
}

int dedup_explain(struct dedup_result *r, const char *action, int err)
{
	static const struct {
		int err;
		const char *reason;
	} reasons[] = {
		{ -EILSEQ, "the contents differ" },
		{ -ETXTBSY, "a program has it open for writing" },
		{ -ESTALE, "it has changed" },
		{ -EBUSY, "another program has locked it (busy)" },
		{ -ELOOP, "a directory of its path is a symbolic link" },
		{ -EOPNOTSUPP, "this filesystem cannot share blocks of them "
			       "(XFS and btrfs can): not supported" },
		{ -EEXIST, "it is the kept file itself, by another path" },
		{ -EXDEV, "the two are on different filesystems" },
	};
	size_t i;

	if (!err || err == -ECANCELED)
		return err;
	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (err == reasons[i].err)
			return dedup_stop(r, DEDUP_SKIPPED, "%s",
					  reasons[i].reason);
	return dedup_stop(r, DEDUP_SKIPPED, "%s: %s", action, err_text(err));
}

/* ---- names and directories ---- */

/* Immutable and append-only files keep their names and are given no others. */
static int check_flags(int fd)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &x))
		return 0; /* not known here */
	return x.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND) ?
		       -EPERM :
		       0;
}

/* Whether the caller may rename what is in a directory.  A mount does not show
 * the flags of what is below. */
static int check_directory(const char *path, const struct dedup_rules *rules,
			   uid_t owner)
{
	const uid_t caller = geteuid();
	char *real = dedup_real_path(rules->mount, path);
	const char *name;
	struct stat st;
	int fd = dedup_open_parent(path, &name), err = fd < 0 ? fd : 0;
	int below = real ? dedup_open_parent(real, &name) : -1;

	if (!err &&
	    (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) || fstat(fd, &st)))
		err = -errno;
	if (!err && st.st_mode & S_ISVTX && caller && caller != owner &&
	    caller != st.st_uid)
		err = -EPERM;
	if (!err)
		err = check_flags(fd);
	if (!err && below >= 0)
		err = check_flags(below);
	if (fd >= 0)
		close(fd);
	if (below >= 0)
		close(below);
	free(real);
	return err;
}

static int check_names(const struct dedup_file *f,
		       const struct dedup_side *side,
		       const struct dedup_rules *rules, struct dedup_result *r)
{
	size_t names = dedup_side_view(side)->st.st_nlink, i;
	int err = 0;

	if (names > f->path_count)
		return dedup_stop(r, DEDUP_SKIPPED,
				  "it has %zu other %s not listed",
				  names - f->path_count,
				  text_plural(names - f->path_count,
					      "name (hard link) that was",
					      "names (hard links) that were"));
	if (names < f->path_count)
		return dedup_stop(r, DEDUP_SKIPPED,
				  "one of its names is listed by two paths");
	for (i = 0; i < f->path_count && !err; i++)
		err = check_directory(f->paths[i], rules,
				      side->view[0].st.st_uid);
	return err;
}

/* ---- the two together ---- */

static uint64_t mount_of(int fd)
{
	struct statx x;

	return statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) ||
			       !(x.stx_mask & STATX_MNT_ID) ?
		       0 :
		       x.stx_mnt_id;
}

/* As the kernel: with protected_hardlinks a file needs to be the caller's, or
 * one that the caller may write to. */
static int check_link(const struct dedup_pair *p)
{
	const struct dedup_side *k = &p->keep;
	int fd = dedup_side_view(k)->fd;

	if (mount_of(fd) != mount_of(dedup_side_view(&p->replace)->fd))
		return -EXDEV;
	if (geteuid() && geteuid() != k->view[0].st.st_uid &&
	    faccessat(k->directory, k->name, R_OK | W_OK, AT_EACCESS))
		return -EPERM;
	return check_flags(fd);
}

static bool is_overlay(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* What an overlay shows may be the other file, of a layer. */
static int check_layers(const struct dedup_pair *p, struct dedup_result *r)
{
	if (dedup_side_view(&p->keep)->st.st_dev ==
		    dedup_side_view(&p->replace)->st.st_dev ||
	    (!is_overlay(dedup_side_view(&p->keep)->fd) &&
	     !is_overlay(dedup_side_view(&p->replace)->fd)))
		return 0;
	return dedup_stop(r, DEDUP_SKIPPED,
			  "one of the two is on an overlay filesystem, which "
			  "may show the other one");
}

static bool is_nocow(int fd)
{
	int flags = 0;

	return !ioctl(fd, FS_IOC_GETFLAGS, &flags) && flags & FS_NOCOW_FL;
}

static int check_sharing(const struct dedup_pair *p, struct dedup_result *r)
{
	if (is_nocow(p->keep.view[0].fd) != is_nocow(p->replace.view[0].fd))
		return dedup_stop(r, DEDUP_SKIPPED,
				  "one of the two is not copied on write "
				  "(chattr +C)");
	return dedup_explain(
		r, "blocks cannot be shared",
		dedup_share_probe(p->keep.view[0].fd, p->replace.view[0].fd));
}

/* Links must be equal in all; what is removed must be of one owner, and equal
 * in all if it gives rights to those that execute it. */
static int check_metadata(const struct dedup_pair *p,
			  const struct dedup_rules *rules,
			  struct dedup_result *r)
{
	const struct stat *a = &dedup_side_view(&p->keep)->st;
	const struct stat *b = &dedup_side_view(&p->replace)->st;
	bool rights = dedup_has_privileges(&p->keep) ||
		      dedup_has_privileges(&p->replace);
	const char *difference;
	int err;

	if (rules->method == DEDUP_REMOVE &&
	    (rules->force_metadata ||
	     (!rights && a->st_uid == b->st_uid && a->st_gid == b->st_gid)))
		return 0;
	err = dedup_compare_metadata(p, &difference);
	if (err || !difference || (rules->force_metadata && !rights))
		return dedup_explain(r, "cannot be compared", err);
	return dedup_stop(r, DEDUP_SKIPPED, "their %s differ%s", difference,
			  rights ? ", and one has set-ID bits or capabilities" :
				   "");
}

static int check_content(const struct dedup_file *f, bool sha256,
			 struct dedup_pair *p, struct dedup_result *r)
{
	int err = dedup_compare_content(p, sha256);

	if (!err && *f->xxh128 && strcmp(f->xxh128, p->xxh128) != 0)
		return dedup_stop(r, DEDUP_SKIPPED,
				  "its content is not that of the groups any "
				  "more");
	return dedup_explain(r, "cannot be compared", err);
}

int dedup_inspect(const struct dedup_file *keep,
		  const struct dedup_file *replace,
		  const struct dedup_rules *rules, bool sha256,
		  struct dedup_pair *pair, struct dedup_result *r)
{
	bool is_kept;
	int err = dedup_pair_open(keep, replace, rules, pair, &is_kept);

	if (err == -ESTALE && is_kept)
		return dedup_stop(r, DEDUP_SKIPPED,
				  "the file that is kept has changed");
	err = dedup_explain(
		r, is_kept ? "the file that is kept" : "cannot be opened", err);
	if (!err && dedup_is_sharing(rules->method)) {
		err = check_sharing(pair, r);
	} else if (!err) {
		err = check_names(replace, &pair->replace, rules, r);
		if (!err)
			err = check_flags(dedup_side_view(&pair->replace)->fd);
		if (!err && rules->method == DEDUP_HARDLINK)
			err = check_link(pair);
		err = dedup_explain(r, "cannot be replaced", err);
		if (!err)
			err = check_layers(pair, r);
		if (!err)
			err = check_metadata(pair, rules, r);
	}
	return err || rules->method == DEDUP_BLOCKS ?
		       err :
		       check_content(replace, sha256, pair, r);
}
