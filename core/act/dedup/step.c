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
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/inode_number.h"
#include "core/base/lease.h"
#include "core/base/text.h"
#include "core/source/file.h"
#include "core/act/dedup/dedup_impl.h"

/*
 * One step: the two files, open and watched; why it must not be done; and the
 * deed.
 *
 * A plan asks the same questions in the same order as the deed, so what is left
 * alone later is a file that changed meanwhile, or a disk that is full.
 *
 * A file in a kinfs mount is opened twice: in the mount, where it is linked,
 * renamed and removed so that the daemon is told, and in SOURCE, where it is
 * read and watched.  The kernel may answer for a mount from what it remembers,
 * and knows of no writer that opened the file in SOURCE.
 */
struct step_view {
	int fd;         /* for reading; negative: there is none */
	struct stat st; /* before the files were compared */
	bool leased;
};

enum {
	KEEP, /* in SOURCE, where that can be reached */
	REPLACE,
	KEEP_SHOWN, /* by its path */
	REPLACE_SHOWN,
	VIEWS
};

struct step {
	const struct dedup_rules *rules;
	struct dedup_mount *mount;
	const struct dedup_file *file[2];
	struct step_view view[VIEWS];
	int directory[2];    /* of the first path of each file */
	const char *name[2]; /* in it; borrowed from the plan */
	char sha256[65]; /* of the content, once compared, if it was wanted */
	struct dedup_result *result;
};

/* ---- words ---- */

/* Says why a step was not done.  Always -ECANCELED, for callers to return. */
__attribute__((format(printf, 2, 3))) static int stop(struct dedup_result *r,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(r->reason, sizeof(r->reason), format, args);
	va_end(args);
	r->outcome = DEDUP_SKIPPED;
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
			return stop(r, "%s", reasons[i].reason);
	return stop(r, "%s: %s", action, err_text(err));
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

/* The directory stays open. */
static int open_view(const char *path, int *directory_out, struct step_view *v)
{
	const char *name;

	*directory_out = dedup_open_parent(path, &name);
	if (*directory_out < 0)
		return *directory_out;
	v->fd = dedup_open_at(*directory_out, name);
	if (v->fd < 0)
		return v->fd;
	return fstat(v->fd, &v->st) ? -errno : 0;
}

/* side: KEEP or REPLACE.  Blocks are shared below a mount, and there only. */
static int open_side(struct step *s, int side)
{
	const struct dedup_file *f = s->file[side];
	const char *path = f->paths[0];
	struct step_view *shown = &s->view[side + KEEP_SHOWN],
			 *below = &s->view[side];
	char *real = dedup_real_path(s->mount, path);
	bool sharing = real && dedup_is_sharing(s->rules->method);
	int err = open_view(sharing ? real : path, &s->directory[side], shown),
	    other = -1;

	s->name[side] = strrchr(path, '/') + 1;
	if (!err && (!is_as_before(&f->st, &shown->st) ||
		     (!sharing && shown->st.st_dev != f->st.st_dev)))
		err = -ESTALE;
	/* Nothing is asked of what is below but that it is the same file, if it
	 * can be had. */
	if (!err && real && !sharing && strcmp(real, path) != 0 &&
	    !open_view(real, &other, below) &&
	    !is_as_before(&shown->st, &below->st))
		err = -ESTALE;
	if (other >= 0)
		close(other);
	if (!err && below->fd < 0) {
		*below = *shown;
		below->fd = fcntl(shown->fd, F_DUPFD_CLOEXEC, 0);
		err = below->fd < 0 ? -errno : 0;
	}
	free(real);
	return err;
}

static bool is_one_file(const struct step *s)
{
	const struct stat *a = &s->view[KEEP].st, *b = &s->view[REPLACE].st;
	int i;

	for (i = 0; i < 4; i++) {
		const struct stat *k = &s->view[i / 2 * KEEP_SHOWN].st;
		const struct stat *r =
			&s->view[i % 2 * KEEP_SHOWN + REPLACE].st;

		if (k->st_ino == r->st_ino && k->st_dev == r->st_dev)
			return true;
	}
	/* Another filesystem may show a file of this one: overlayfs, bindfs, a
	 * network mount of this machine.  Two files hardly ever change in one
	 * nanosecond. */
	return a->st_dev != b->st_dev &&
	       timespec_to_ns(&a->st_ctim) == timespec_to_ns(&b->st_ctim) &&
	       timespec_to_ns(&a->st_mtim) == timespec_to_ns(&b->st_mtim);
}

/* A second run of this program must not replace what this one keeps.  A lease
 * needs to be the owner, and a filesystem that has them; without one the checks
 * afterwards are all there is.  The kernel itself keeps writers out while it
 * shares blocks. */
static int hold_side(struct step *s, int side, int lock)
{
	struct step_view *v;
	int err;

	if (flock(s->view[side + KEEP_SHOWN].fd, lock | LOCK_NB) &&
	    errno == EWOULDBLOCK)
		return -EBUSY;
	if (s->rules->method == DEDUP_BLOCKS)
		return 0;
	for (v = &s->view[side]; v < s->view + VIEWS; v += KEEP_SHOWN) {
		err = lease_take(v->fd);
		v->leased = !err;
		if (err == -EAGAIN)
			return -ETXTBSY;
	}
	return 0;
}

static int explain_kept(struct step *s, int err)
{
	if (err == -ESTALE)
		return stop(s->result, "the file that is kept has changed");
	return dedup_explain(s->result, "the file that is kept", err);
}

static int open_both(struct step *s)
{
	int lock = s->rules->method == DEDUP_BLOCKS ? LOCK_SH : LOCK_EX;
	int err = explain_kept(s, open_side(s, KEEP));

	if (err)
		return err;
	err = open_side(s, REPLACE);
	if (!err && is_one_file(s))
		err = -EEXIST;
	if (!err)
		err = hold_side(s, REPLACE, lock);
	if (err)
		return dedup_explain(s->result, "cannot be opened", err);
	return explain_kept(s, hold_side(s, KEEP, LOCK_SH));
}

static void step_close(struct step *s)
{
	int i;

	for (i = 0; i < VIEWS; i++)
		if (s->view[i].fd >= 0)
			close(s->view[i].fd);
	for (i = 0; i < 2; i++)
		if (s->directory[i] >= 0)
			close(s->directory[i]);
}

/* ---- has one changed? ---- */

/* Another program opened one of them for writing, or waits for that. */
static bool is_broken(const struct step *s)
{
	const struct step_view *v;

	for (v = s->view; v < s->view + VIEWS; v++)
		if (v->leased && !lease_holds(v->fd))
			return true;
	return false;
}

/* -ESTALE, -ETXTBSY.  renamed: the second was, which moves its ctime; a link to
 * the kept file moves its ctime, too. */
static int check_unchanged(const struct step *s, bool renamed)
{
	const struct step_view *v;
	struct stat now;

	if (is_broken(s))
		return -ETXTBSY;
	for (v = s->view; v < s->view + VIEWS; v++)
		if (fstat(v->fd, &now) || now.st_size != v->st.st_size ||
		    timespec_to_ns(&now.st_mtim) !=
			    timespec_to_ns(&v->st.st_mtim) ||
		    (!renamed && timespec_to_ns(&now.st_ctim) !=
					 timespec_to_ns(&v->st.st_ctim)))
			return -ESTALE;
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
static int check_directory(const struct step *s, const char *path)
{
	const uid_t caller = geteuid(),
		    owner = s->view[REPLACE_SHOWN].st.st_uid;
	char *real = dedup_real_path(s->mount, path);
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

static int check_names(const struct step *s)
{
	const struct dedup_file *f = s->file[REPLACE];
	size_t names = s->view[REPLACE].st.st_nlink, i;
	int err = 0;

	if (names > f->path_count)
		return stop(s->result, "it has %zu other %s not listed",
			    names - f->path_count,
			    text_plural(names - f->path_count,
					"name (hard link) that was",
					"names (hard links) that were"));
	if (names < f->path_count)
		return stop(s->result,
			    "one of its names is listed by two paths");
	for (i = 0; i < f->path_count && !err; i++)
		err = check_directory(s, f->paths[i]);
	return err ? err : check_flags(s->view[REPLACE].fd);
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
static int check_link(const struct step *s)
{
	if (mount_of(s->view[KEEP].fd) != mount_of(s->view[REPLACE].fd))
		return -EXDEV;
	if (geteuid() && geteuid() != s->view[KEEP_SHOWN].st.st_uid &&
	    faccessat(s->directory[KEEP], s->name[KEEP], R_OK | W_OK,
		      AT_EACCESS))
		return -EPERM;
	return check_flags(s->view[KEEP].fd);
}

static bool is_overlay(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* A file of an overlay may be the other file, of a layer. */
static int check_layers(const struct step *s)
{
	if (s->view[KEEP].st.st_dev == s->view[REPLACE].st.st_dev ||
	    (!is_overlay(s->view[KEEP].fd) && !is_overlay(s->view[REPLACE].fd)))
		return 0;
	return stop(s->result, "one of the two is on an overlay filesystem, "
			       "which may show the other one");
}

static bool is_nocow(int fd)
{
	int flags = 0;

	return !ioctl(fd, FS_IOC_GETFLAGS, &flags) && flags & FS_NOCOW_FL;
}

static int check_sharing(const struct step *s)
{
	const int keep = s->view[KEEP].fd, replace = s->view[REPLACE].fd;

	if (is_nocow(keep) != is_nocow(replace))
		return stop(s->result, "one of the two is not copied on write "
				       "(chattr +C)");
	return dedup_explain(s->result, "blocks cannot be shared",
			     dedup_share_probe(keep, replace));
}

/* The file gives rights to those that execute it. */
static bool has_privileges(const struct step_view *v)
{
	enum { BITS = S_ISUID | S_ISGID };

	return v->st.st_mode & BITS ||
	       fgetxattr(v->fd, DEDUP_CAPABILITY, NULL, 0) > 0;
}

/* Links must be equal in all; what is removed must be of one owner, and equal
 * in all if it gives rights to those that execute it. */
static int check_metadata(const struct step *s)
{
	const struct step_view *a = &s->view[KEEP], *b = &s->view[REPLACE];
	bool is_owned_alike =
		a->st.st_uid == b->st.st_uid && a->st.st_gid == b->st.st_gid;
	bool rights = has_privileges(a) || has_privileges(b);
	json_t *of_keep = NULL, *of_replace = NULL;
	const char *difference = NULL;
	int err = 0;

	if (s->rules->method == DEDUP_REMOVE &&
	    (s->rules->force_metadata || (!rights && is_owned_alike)))
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
	if (err || !difference || (s->rules->force_metadata && !rights))
		return dedup_explain(s->result, "cannot be compared", err);
	return stop(s->result, "their %s differ%s", difference,
		    rights ? ", and one has set-ID bits or capabilities" : "");
}

/* Byte by byte.  sha256: work that out, too. */
static int compare(struct step *s, bool sha256)
{
	enum { CHUNK = 1 << 20 };
	struct fingerprint *fp = NULL;
	char *a = malloc(CHUNK), *b = malloc(CHUNK), xxh128[33];
	int64_t n = CHUNK, m;
	uint64_t at;
	int err = a && b ? dedup_hash_begin(sha256, &fp) : -ENOMEM;

	for (at = 0; !err && n == CHUNK; at += CHUNK) {
		n = dedup_read(s->view[KEEP].fd, a, CHUNK, at);
		m = dedup_read(s->view[REPLACE].fd, b, CHUNK, at);
		if (n < 0 || m < 0)
			err = (int)(n < 0 ? n : m);
		else if (is_broken(s))
			err = -ETXTBSY;
		else if (n != m || memcmp(a, b, (size_t)n) != 0)
			err = -EILSEQ;
		else
			err = fingerprint_update(fp, a, (size_t)n);
	}
	if (!err)
		err = dedup_hash_end(fp, xxh128, s->sha256);
	free(a);
	free(b);
	fingerprint_free(fp);
	if (!err)
		err = check_unchanged(s, false);
	if (!err && *s->file[REPLACE]->xxh128 &&
	    strcmp(s->file[REPLACE]->xxh128, xxh128) != 0)
		return stop(s->result, "its content is not that of the groups "
				       "any more");
	return dedup_explain(s->result, "cannot be compared", err);
}

/* Opens both files and says why the step must not be done. */
static int inspect(struct step *s, bool sha256)
{
	const enum dedup_method method = s->rules->method;
	int err = open_both(s);

	if (!err && dedup_is_sharing(method)) {
		err = check_sharing(s);
	} else if (!err) {
		err = check_names(s);
		if (!err && method == DEDUP_HARDLINK)
			err = check_link(s);
		err = dedup_explain(s->result, "cannot be replaced", err);
		if (!err)
			err = check_layers(s);
		if (!err)
			err = check_metadata(s);
	}
	return err || method == DEDUP_BLOCKS ? err : compare(s, sha256);
}

/* ---- the deed ---- */

/*
 * All names of a file go in one step, or none does:
 *
 *   1. A link to the kept file is made beside each name (hard links only).
 *   2. Each name is exchanged with the one beside it, or renamed to it.  Then
 *      it is looked at: the old file, unchanged, must be what is beside.
 *   3. The names beside are removed, and the old file with the last of them.
 *
 * A failure in 1 or 2 takes all of it back.
 */

static int swap(const struct step *s, const struct dedup_spot *at, bool back)
{
	const char *from = back ? at->beside : at->name;
	const char *to = back ? at->name : at->beside;
	bool links = s->rules->method == DEDUP_HARDLINK;

	return renameat2(at->directory, from, at->directory, to,
			 links ? RENAME_EXCHANGE : RENAME_NOREPLACE) ?
		       -errno :
		       0;
}

/* After the rename the old file has the other name, and the kept one has the
 * name that it is to have. */
static int check_swapped(const struct step *s, const struct dedup_spot *at)
{
	bool links = s->rules->method == DEDUP_HARDLINK;

	if (!dedup_has_inode(at->directory, at->beside,
			     s->view[REPLACE_SHOWN].st.st_ino) ||
	    !dedup_has_inode(links ? at->directory : s->directory[KEEP],
			     links ? at->name : s->name[KEEP],
			     s->view[KEEP_SHOWN].st.st_ino))
		return -ESTALE;
	return check_unchanged(s, true);
}

static int replace_names(const struct step *s, const struct dedup_spot *spots)
{
	const struct step_view *keep = &s->view[KEEP_SHOWN];
	const size_t count = s->file[REPLACE]->path_count;
	bool links = s->rules->method == DEDUP_HARDLINK;
	size_t made = 0, swapped = 0, i;
	int err = 0, failed = 0;

	while (links && made < count && !err) {
		err = file_link(keep->fd, spots[made].directory,
				spots[made].beside);
		made += !err;
	}
	while (swapped < count && !err) {
		err = swap(s, &spots[swapped], false);
		swapped += !err;
		if (!err)
			err = check_swapped(s, &spots[swapped - 1]);
	}
	for (i = 0; err && i < swapped; i++)
		(void)swap(s, &spots[i], true);
	/* The file beside is the old one, or the link that is not needed. */
	for (i = 0; i < (err ? made : count); i++) {
		if (err && !dedup_has_inode(spots[i].directory, spots[i].beside,
					    keep->st.st_ino))
			continue;
		if (unlinkat(spots[i].directory, spots[i].beside, 0))
			failed = failed ? failed : -errno;
	}
	return err ? err : failed;
}

/* The kept file may be younger than the copy and not on the disk yet: no power
 * loss may take it after the copy is gone. */
static int sync_kept(const struct step *s)
{
	if (!fsync(s->view[KEEP_SHOWN].fd) || errno == EINVAL || errno == EROFS)
		return 0;
	return -errno;
}

/* Writes down what undo needs, then does it. */
static int replace_file(const struct step *s, struct dedup_journal *j)
{
	char temporary[40];
	struct dedup_record record = {
		.method = s->rules->method,
		.paths = s->file[REPLACE]->paths,
		.path_count = s->file[REPLACE]->path_count,
		.keep = s->file[KEEP]->paths[0],
		.temporary = temporary,
		.st = s->view[REPLACE].st,
		.keep_inode = s->view[KEEP_SHOWN].st.st_ino,
	};
	struct dedup_spot *spots = NULL;
	uint64_t random;
	int err = dedup_read_attributes(s->view[REPLACE_SHOWN].fd,
					&record.attributes);

	record.st.st_ino = s->view[REPLACE_SHOWN].st.st_ino;
	memcpy(record.sha256, s->sha256, sizeof(record.sha256));
	if (!err && getrandom(&random, sizeof(random), 0) != sizeof(random))
		err = -EIO;
	if (!err) {
		(void)snprintf(temporary, sizeof(temporary),
			       DEDUP_TEMPORARY "%016llx",
			       (unsigned long long)random);
		err = dedup_spots_open(&record, false, &spots);
	}
	if (err)
		goto out;
	err = dedup_journal_begin(j, &record);
	if (err) {
		err = stop(s->result, "the journal cannot be written: %s",
			   err_text(err));
		s->result->outcome = DEDUP_STOP;
		goto out;
	}
	err = sync_kept(s);
	if (!err)
		err = replace_names(s, spots);
	(void)dedup_journal_end(j, &record, !err);
out:
	dedup_spots_close(spots, record.path_count);
	json_decref(record.attributes);
	return err;
}

void dedup_apply(struct dedup_plan *p, size_t replace, struct dedup_journal *j,
		 struct dedup_result *out)
{
	const struct dedup_file *f = &p->files[replace];
	const bool sharing = dedup_is_sharing(p->rules.method);
	struct step s = {
		.rules = &p->rules,
		.mount = &p->mount,
		.file = { &p->files[f->keep], f },
		.view = { { .fd = -1 },
			  { .fd = -1 },
			  { .fd = -1 },
			  { .fd = -1 } },
		.directory = { -1, -1 },
		.result = out,
	};
	int err = inspect(&s, j && !sharing);

	if (!err && sharing)
		err = dedup_share(s.view[KEEP].fd, s.view[REPLACE].fd,
				  s.directory[REPLACE],
				  p->rules.method == DEDUP_REFLINK, j,
				  &out->sharing);
	else if (!err && j)
		err = replace_file(&s, j);
	if (!dedup_explain(out,
			   sharing ? "blocks cannot be shared" :
				     "cannot be replaced",
			   err))
		out->outcome = DEDUP_DONE;
	step_close(&s);
}
