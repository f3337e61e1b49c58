/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/inode_number.h"
#include "core/base/lease.h"
#include "core/base/text.h"
#include "core/act/dedup/dedup_impl.h"

/*
 * The two files of a step, open and watched, and why the step must not be done.
 *
 * A plan asks the same questions in the same order as the deed, so what is left
 * alone later is a file that changed meanwhile, or a disk that is full.
 *
 * A file in a kinfs mount is opened twice: in the mount, where it is linked,
 * renamed and removed so that the daemon is told, and in SOURCE, where it is
 * read and watched.  The kernel may answer for a mount from what it remembers,
 * and knows of no writer that opened the file in SOURCE.
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
		{ -EKEYREJECTED, "the file that was kept for it has another "
				 "owner, or other rights than a set-ID file "
				 "must have (--force-metadata)" },
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

/* ---- opening ---- */

/* The numbers of a mount are those of the tree below it, or made of them. */
static bool is_as_before(const struct stat *before, const struct stat *now)
{
	return S_ISREG(now->st_mode) &&
	       (inode_number_is_same(before->st_ino, now->st_ino) ||
		inode_number_may_be(now->st_ino, before->st_ino)) &&
	       before->st_size == now->st_size &&
	       timespec_to_ns(&before->st_mtim) ==
		       timespec_to_ns(&now->st_mtim);
}

/* Closed by dedup_pair_close().  directory_out: NULL, or the open directory. */
static int open_view(const char *path, int *directory_out,
		     const char **name_out, struct dedup_view *v)
{
	int directory = dedup_open_parent(path, name_out), err = 0;

	if (directory < 0)
		return directory;
	v->fd = dedup_open_at(directory, *name_out);
	if (v->fd < 0 || fstat(v->fd, &v->st))
		err = v->fd < 0 ? v->fd : -errno;
	if (directory_out)
		*directory_out = directory;
	else
		close(directory);
	return err;
}

/* Blocks are shared below a mount, and there only. */
static int open_side(const struct dedup_rules *rules,
		     const struct dedup_file *f, struct dedup_side *s)
{
	const char *path = f->paths[0], *name;
	char *real = dedup_real_path(rules->mount, path);
	bool sharing = real && dedup_is_sharing(rules->method);
	int err = open_view(sharing ? real : path, &s->directory, &s->name,
			    &s->view[0]);

	/* The name is that of the string that is freed here. */
	if (!err && sharing)
		s->name = path + strlen(path) - strlen(s->name);
	if (!err && (!is_as_before(&f->st, &s->view[0].st) ||
		     (!sharing && s->view[0].st.st_dev != f->st.st_dev)))
		err = -ESTALE;
	/* Nothing is asked of what is below but that it is the same file, if it
	 * can be had. */
	if (!err && real && !sharing && strcmp(real, path) != 0 &&
	    !open_view(real, NULL, &name, &s->view[1]) &&
	    !is_as_before(&s->view[0].st, &s->view[1].st))
		err = -ESTALE;
	free(real);
	return err;
}

/* ---- one file, or two? ---- */

static bool is_one_file(const struct dedup_pair *p)
{
	const struct stat *a, *b;
	int i;

	for (i = 0; i < 4; i++) {
		const struct dedup_view *k = &p->keep.view[i / 2];
		const struct dedup_view *r = &p->replace.view[i % 2];

		if (k->fd >= 0 && r->fd >= 0 && k->st.st_ino == r->st.st_ino &&
		    k->st.st_dev == r->st.st_dev)
			return true;
	}
	/* Another filesystem may show a file of this one: overlayfs, bindfs, a
	 * network mount of this machine.  Two files hardly ever change in one
	 * nanosecond. */
	a = &dedup_side_view(&p->keep)->st;
	b = &dedup_side_view(&p->replace)->st;
	return a->st_dev != b->st_dev &&
	       timespec_to_ns(&a->st_ctim) == timespec_to_ns(&b->st_ctim) &&
	       timespec_to_ns(&a->st_mtim) == timespec_to_ns(&b->st_mtim);
}

/* A second run of this program must not replace what this one keeps.  A lease
 * needs to be the owner, and a filesystem that has them; without one the checks
 * afterwards are all there is.  The kernel itself keeps writers out while it
 * shares blocks. */
static int hold_side(const struct dedup_rules *rules, int lock,
		     struct dedup_side *s)
{
	struct dedup_view *v;
	int err;

	if (flock(s->view[0].fd, lock | LOCK_NB) && errno == EWOULDBLOCK)
		return -EBUSY;
	if (rules->method == DEDUP_BLOCKS)
		return 0;
	for (v = s->view; v < s->view + 2; v++) {
		if (v->fd < 0)
			continue;
		err = lease_take(v->fd);
		v->leased = !err;
		if (err == -EAGAIN)
			return -ETXTBSY;
	}
	return 0;
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

/* A file of an overlay may be the other file, of a layer. */
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

/* The file gives rights to those that execute it. */
static bool has_privileges(const struct dedup_view *v)
{
	enum { BITS = S_ISUID | S_ISGID };

	return v->st.st_mode & BITS ||
	       fgetxattr(v->fd, DEDUP_CAPABILITY, NULL, 0) > 0;
}

/* Links must be equal in all; what is removed must be of one owner, and equal
 * in all if it gives rights to those that execute it. */
static int check_metadata(const struct dedup_pair *p,
			  const struct dedup_rules *rules,
			  struct dedup_result *r)
{
	const struct dedup_view *a = dedup_side_view(&p->keep);
	const struct dedup_view *b = dedup_side_view(&p->replace);
	bool is_owned_alike =
		a->st.st_uid == b->st.st_uid && a->st.st_gid == b->st.st_gid;
	bool rights = has_privileges(a) || has_privileges(b);
	json_t *of_keep = NULL, *of_replace = NULL;
	const char *difference = NULL;
	int err = 0;

	if (rules->method == DEDUP_REMOVE &&
	    (rules->force_metadata || (!rights && is_owned_alike)))
		return 0;
	if (!is_owned_alike) {
		difference = "owners";
	} else if (a->st.st_mode != b->st.st_mode) {
		difference = "modes";
	} else {
		err = dedup_read_attributes(a->fd, &of_keep);
		if (!err)
			err = dedup_read_attributes(b->fd, &of_replace);
		if (!json_equal(of_keep, of_replace))
			difference = "access lists or attributes";
		json_decref(of_keep);
		json_decref(of_replace);
	}
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

/* ---- all of it ---- */

static int explain_kept(struct dedup_result *r, int err)
{
	if (err == -ESTALE)
		return dedup_stop(r, DEDUP_SKIPPED,
				  "the file that is kept has changed");
	return dedup_explain(r, "the file that is kept", err);
}

static int open_both(const struct dedup_file *keep,
		     const struct dedup_file *replace,
		     const struct dedup_rules *rules, struct dedup_pair *pair,
		     struct dedup_result *r)
{
	int lock = rules->method == DEDUP_BLOCKS ? LOCK_SH : LOCK_EX;
	int err = explain_kept(r, open_side(rules, keep, &pair->keep));

	if (err)
		return err;
	err = open_side(rules, replace, &pair->replace);
	if (!err && is_one_file(pair))
		err = -EEXIST;
	if (!err)
		err = hold_side(rules, lock, &pair->replace);
	if (err)
		return dedup_explain(r, "cannot be opened", err);
	return explain_kept(r, hold_side(rules, LOCK_SH, &pair->keep));
}

int dedup_inspect(const struct dedup_file *keep,
		  const struct dedup_file *replace,
		  const struct dedup_rules *rules, bool sha256,
		  struct dedup_pair *pair, struct dedup_result *r)
{
	static const struct dedup_side none = {
		.directory = -1, .view = { { .fd = -1 }, { .fd = -1 } }
	};
	int err;

	*pair = (struct dedup_pair){ .keep = none, .replace = none };
	err = open_both(keep, replace, rules, pair, r);
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

void dedup_pair_close(struct dedup_pair *pair)
{
	const int fds[] = {
		pair->keep.directory,     pair->keep.view[0].fd,
		pair->keep.view[1].fd,    pair->replace.directory,
		pair->replace.view[0].fd, pair->replace.view[1].fd,
	};
	size_t i;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* ---- has one changed? ---- */

static const struct dedup_view *view_of(const struct dedup_pair *p, int i)
{
	return &(i / 2 ? &p->keep : &p->replace)->view[i % 2];
}

bool dedup_pair_is_broken(const struct dedup_pair *p)
{
	int i;

	for (i = 0; i < 4; i++)
		if (view_of(p, i)->leased && !lease_holds(view_of(p, i)->fd))
			return true;
	return false;
}

/* A link to the kept file moves its ctime, too. */
int dedup_pair_check(const struct dedup_pair *p, bool renamed)
{
	struct stat now;
	int i;

	if (dedup_pair_is_broken(p))
		return -ETXTBSY;
	for (i = 0; i < 4; i++) {
		const struct dedup_view *v = view_of(p, i);

		if (v->fd < 0)
			continue;
		if (fstat(v->fd, &now) || now.st_size != v->st.st_size ||
		    timespec_to_ns(&now.st_mtim) !=
			    timespec_to_ns(&v->st.st_mtim) ||
		    (!renamed && timespec_to_ns(&now.st_ctim) !=
					 timespec_to_ns(&v->st.st_ctim)))
			return -ESTALE;
	}
	return 0;
}

const struct dedup_view *dedup_side_view(const struct dedup_side *s)
{
	return &s->view[s->view[1].fd >= 0];
}
