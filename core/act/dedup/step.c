/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <signal.h>
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
#include "core/base/file.h"
#include "core/base/inode_number.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/source/file.h"
#include "core/source/filesystem.h"
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
 * and knows of no writer that opened the file in SOURCE.  Another file is
 * opened twice, too.
 */
enum {
	KEEP, /* in SOURCE, where that can be reached */
	REPLACE,
	KEEP_SHOWN, /* by its path */
	REPLACE_SHOWN,
	VIEWS
};

struct step {
	const struct dedup_rules *rules;
	const struct dedup_file *file[2];
	struct dedup_view view[VIEWS];
	char temporary[40];
	struct dedup_spot *spots; /* of the names that are to be replaced */
	struct dedup_hashes hashes;
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
static bool is_same(const struct stat *below, const struct stat *shown)
{
	return S_ISREG(shown->st_mode) &&
	       (below->st_ino == shown->st_ino ||
		inode_number_may_be(below->st_ino, shown->st_ino)) &&
	       below->st_size == shown->st_size &&
	       timespec_to_ns(&below->st_mtim) ==
		       timespec_to_ns(&shown->st_mtim);
}

static int open_view(const char *path, struct dedup_view *v)
{
	v->fd = dedup_open(path, DEDUP_READ);
	return v->fd < 0 ? v->fd : fstat(v->fd, &v->st) ? -errno : 0;
}

/* In SOURCE, where that can be reached. */
static int open_below(const struct dedup_file *f, struct dedup_view *v)
{
	return !f->below || open_view(f->below, v) ?
		       open_view(f->found.names[0], v) :
		       0;
}

/* side: KEEP or REPLACE. */
static int open_side(struct step *s, int side)
{
	const struct dedup_file *f = s->file[side];
	struct dedup_view *shown = &s->view[side + KEEP_SHOWN],
			  *below = &s->view[side];
	int err = open_view(f->found.names[0], shown);

	if (!err &&
	    (!is_same(&f->st, &shown->st) || shown->st.st_dev != f->st.st_dev))
		err = -ESTALE;
	if (!err)
		err = open_below(f, below);
	if (!err && !is_same(&below->st, &shown->st))
		err = -ESTALE;
	return err;
}

/* Whether a filesystem has a disk, or memory, of its own; else it may show the
 * files of another one: overlayfs, FUSE, the network.  FAT has no ctime. */
static bool is_own_disk(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type != OVERLAYFS_SUPER_MAGIC &&
	       (filesystem_of_type((uint64_t)fs.f_type).times == TIMES_OWN ||
		fs.f_type == MSDOS_SUPER_MAGIC ||
		fs.f_type == EXFAT_SUPER_MAGIC);
}

/* Whether one disk, or the image of one, is mounted twice. */
static bool is_one_disk(int a, int b)
{
	const fsid_t none = { 0 };
	struct statfs x, y;

	return !fstatfs(a, &x) && !fstatfs(b, &y) &&
	       !memcmp(&x.f_fsid, &y.f_fsid, sizeof(none)) &&
	       memcmp(&x.f_fsid, &none, sizeof(none)) != 0;
}

static bool is_one_file(const struct step *s)
{
	const struct stat *a = &s->view[KEEP].st, *b = &s->view[REPLACE].st;

	if (a->st_dev == b->st_dev ||
	    is_one_disk(s->view[KEEP].fd, s->view[REPLACE].fd))
		return a->st_ino == b->st_ino;
	/* Two files hardly ever change in one nanosecond. */
	return timespec_to_ns(&a->st_ctim) == timespec_to_ns(&b->st_ctim) &&
	       timespec_to_ns(&a->st_mtim) == timespec_to_ns(&b->st_mtim);
}

/* A second run of this program must not replace what this one keeps.  A lease
 * needs to be the owner, and a filesystem that has them; without one the checks
 * afterwards are all there is.  The kernel itself keeps writers out while it
 * shares blocks. */
static int hold_side(struct step *s, int side)
{
	const bool blocks = s->rules->method == DEDUP_BLOCKS;
	const int lock = side == KEEP || blocks ? LOCK_SH : LOCK_EX;
	struct dedup_view *v;
	int err;

	if (flock(s->view[side + KEEP_SHOWN].fd, lock | LOCK_NB) &&
	    errno == EWOULDBLOCK)
		return -EBUSY;
	for (v = &s->view[side]; !blocks && v < s->view + VIEWS;
	     v += KEEP_SHOWN) {
		err = lease_take(v->fd);
		v->leased = !err;
		if (err == -EAGAIN)
			return -ETXTBSY;
	}
	return 0;
}

static int open_both(struct step *s)
{
	struct dedup_result kept;
	int side = KEEP, err = open_side(s, KEEP);

	if (!err)
		err = open_side(s, side = REPLACE);
	if (!err && is_one_file(s))
		err = -EEXIST;
	if (!err)
		err = hold_side(s, REPLACE);
	if (!err)
		err = hold_side(s, side = KEEP);
	if (!err || side == REPLACE)
		return dedup_explain(s->result, "cannot be opened", err);
	(void)dedup_explain(&kept, "cannot be opened", err);
	return stop(s->result, "the file that is kept: %s", kept.reason);
}

/* -ESTALE, -ETXTBSY.  renamed: the second was, which moves its ctime; a link to
 * the kept file moves its ctime, too.  The kept file has a name. */
static int check_unchanged(const struct step *s, bool renamed)
{
	const struct dedup_view *v;
	struct stat now;

	if (dedup_is_broken(s->view, VIEWS))
		return -ETXTBSY;
	for (v = s->view; v < s->view + VIEWS; v++)
		if (fstat(v->fd, &now) || !now.st_nlink ||
		    now.st_size != v->st.st_size ||
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

/* Whether the caller may rename the file in a directory. */
static int check_directory(int fd, uid_t owner)
{
	const uid_t caller = geteuid();
	struct stat st;

	if (fd < 0)
		return fd;
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) || fstat(fd, &st))
		return -errno;
	if (st.st_mode & S_ISVTX && caller && caller != owner &&
	    caller != st.st_uid)
		return -EPERM;
	return check_flags(fd);
}

static int check_names(struct step *s)
{
	const struct dedup_file *f = s->file[REPLACE];
	const struct stat *st = &s->view[REPLACE].st;
	const size_t count = f->found.name_count;
	size_t names = st->st_nlink, i;
	int err;

	if (names > count)
		return stop(s->result, "it has %zu other %s not listed",
			    names - count,
			    text_plural(names - count,
					"name (hard link) that was",
					"names (hard links) that were"));
	if (names < count)
		return stop(s->result,
			    "one of its names is listed by two paths");
	s->spots = dedup_spots_open(f->found.names, count, s->temporary);
	err = s->spots ? 0 : -ENOMEM;
	for (i = 0; i < count && !err; i++)
		err = check_directory(s->spots[i].directory, st->st_uid);
	return err ? err : check_flags(s->view[REPLACE].fd);
}

/* ---- the two together ---- */

/* As the kernel: with protected_hardlinks a file needs to be the caller's, or
 * one that the caller may write to. */
static int check_link(const struct step *s)
{
	const struct dedup_view *shown = &s->view[KEEP_SHOWN];

	if (geteuid() && geteuid() != shown->st.st_uid &&
	    faccessat(shown->fd, "", R_OK | W_OK, AT_EACCESS | AT_EMPTY_PATH))
		return -EPERM;
	return check_flags(s->view[KEEP].fd);
}

/* The file that is kept and the one that goes must be two files. */
static int check_disks(const struct step *s)
{
	const struct dedup_view *a = &s->view[KEEP], *b = &s->view[REPLACE];

	return a->st.st_dev == b->st.st_dev ||
			       (is_own_disk(a->fd) && is_own_disk(b->fd)) ?
		       0 :
		       stop(s->result,
			    "the two are on different filesystems, of which "
			    "one has no disk of its own and may show the other "
			    "file");
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
	return dedup_share_probe(keep, replace);
}

/* The file gives rights to those that execute it. */
static bool has_privileges(const struct dedup_view *v)
{
	return v->st.st_mode & (S_ISUID | S_ISGID) ||
	       fgetxattr(v->fd, DEDUP_CAPABILITY, NULL, 0) > 0;
}

/* Links must be equal in all; what is removed must be of one owner, and equal
 * in all if it gives rights to those that execute it. */
static int check_metadata(const struct step *s)
{
	const struct dedup_view *a = &s->view[KEEP], *b = &s->view[REPLACE];
	bool is_owned_alike =
		a->st.st_uid == b->st.st_uid && a->st.st_gid == b->st.st_gid;
	bool rights = has_privileges(a) || has_privileges(b);
	json_t *of_keep = NULL, *of_replace = NULL;
	const char *difference = NULL;
	int err = 0;

	if (s->rules->force_metadata ?
		    !rights || s->rules->method == DEDUP_REMOVE :
		    !rights && s->rules->method == DEDUP_REMOVE &&
			    is_owned_alike)
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
	if (err || !difference)
		return dedup_explain(s->result, "cannot be compared", err);
	return stop(s->result, "their %s differ%s", difference,
		    rights ? ", and one has set-ID bits or capabilities" : "");
}

static int compare_bytes(struct step *s)
{
	const char *xxh128 = s->file[REPLACE]->xxh128;
	int err = dedup_pass(s->view, VIEWS, s->view[REPLACE].fd, false,
			     &s->hashes);

	if (!err)
		err = check_unchanged(s, false);
	if (!err && *xxh128 && strcmp(xxh128, s->hashes.xxh128) != 0)
		return stop(s->result, "its content is not that of the groups "
				       "any more");
	return dedup_explain(s->result, "cannot be compared", err);
}

/* Opens both files and says why the step must not be done; compares them byte by
 * byte. */
static int inspect(struct step *s)
{
	const enum dedup_method method = s->rules->method;
	int err = open_both(s);

	if (!err && dedup_is_sharing(method)) {
		err = check_sharing(s);
	} else if (!err) {
		err = check_names(s);
		if (!err && method == DEDUP_HARDLINK)
			err = check_link(s);
		if (!err)
			err = check_disks(s);
		if (!err)
			err = check_metadata(s);
	}
	return err || method == DEDUP_BLOCKS ? err : compare_bytes(s);
}

/* ---- the deed ---- */

/*
 * All names of a file go in one step, or none does:
 *
 *   1. A link to the kept file is made beside each name (hard links only).
 *   2. Each name is exchanged with the one beside it, or renamed to it.  Then
 *      it is looked at: the old file, unchanged, must be what is beside.
 *   3. Where the names are to go, the kept file must still be found by its own:
 *      else it was the old file, by another path.
 *   4. The names beside are removed, and the old file with the last of them.
 *
 * A failure in 1 to 3 takes all of it back.
 */

/* -EEXIST.  A filesystem without a disk may answer from what it remembers, so
 * the bytes are read again there. */
static int check_kept(const struct step *s)
{
	const struct dedup_file *f = s->file[KEEP];
	struct dedup_view now[2] = { { .fd = -1 }, { .fd = -1 } };
	struct dedup_hashes hashes = { 0 };
	int err = open_below(f, &now[0]);

	if (!err)
		err = open_view(f->found.names[0], &now[1]);
	if (!err && (!is_same(&s->view[KEEP].st, &now[0].st) ||
		     !is_same(&s->view[KEEP_SHOWN].st, &now[1].st)))
		err = -ESTALE;
	if (!err && !is_own_disk(now[0].fd)) {
		(void)posix_fadvise(now[0].fd, 0, 0, POSIX_FADV_DONTNEED);
		err = dedup_pass(now, 1, s->view[REPLACE].fd, false, &hashes);
	}
	if (now[0].fd >= 0)
		close(now[0].fd);
	if (now[1].fd >= 0)
		close(now[1].fd);
	return err == -ENOENT || err == -ESTALE || err == -EILSEQ ? -EEXIST :
								    err;
}

static int replace_names(const struct step *s)
{
	const bool links = s->rules->method == DEDUP_HARDLINK;
	const struct dedup_view *keep = &s->view[KEEP_SHOWN];
	const struct dedup_spot *spots = s->spots, *at;
	const size_t count = s->file[REPLACE]->found.name_count;
	const unsigned how = links ? RENAME_EXCHANGE : RENAME_NOREPLACE;
	size_t made = 0, swapped = 0;
	int err = 0, failed = 0;

	/* The kept file may be younger than the copy and not on the disk yet:
	 * no power loss may take it after the copy is gone. */
	if (fsync(keep->fd) && errno != EINVAL && errno != EROFS)
		return -errno;
	while (links && made < count && !err) {
		err = file_link(keep->fd, spots[made].directory,
				spots[made].beside);
		made += !err;
	}
	while (swapped < count && !err) {
		at = &spots[swapped];
		err = dedup_swap(at->directory, at->name, at->beside, how,
				 s->view[REPLACE_SHOWN].st.st_ino,
				 links ? keep->st.st_ino : 0);
		swapped += !err;
		if (!err)
			err = check_unchanged(s, true);
	}
	if (!err && !links)
		err = check_kept(s);
	/* The last one first: two paths may be one name. */
	while (err && swapped) {
		at = &spots[--swapped];
		(void)renameat2(at->directory, at->beside, at->directory,
				at->name, how);
	}
	/* The file beside is the old one, or the link that is not needed. */
	for (at = spots; at < spots + (err ? made : count); at++)
		if ((!err || dedup_look(at->directory, at->beside).st_ino ==
				     keep->st.st_ino) &&
		    unlinkat(at->directory, at->beside, 0))
			failed = -errno;
	return err ? err : failed;
}

/* Writes down what undo needs, then does it.  A signal that ends the program
 * waits until it is done. */
static int replace_file(const struct step *s, FILE *journal)
{
	const struct dedup_file *f = s->file[REPLACE];
	const struct stat *st = &s->view[REPLACE].st;
	json_t *attributes, *o;
	sigset_t all, before;
	int err = dedup_read_attributes(s->view[REPLACE_SHOWN].fd, &attributes);

	if (err)
		return err;
	o = json_pack(
		DEDUP_RECORD, "method", dedup_method_names[s->rules->method],
		"temporary", s->temporary, "sha256", s->hashes.sha256,
		"attributes", attributes, "names",
		json_paths(f->found.names, f->found.name_count), "inode",
		(json_int_t)s->view[REPLACE_SHOWN].st.st_ino, "keep_inode",
		(json_int_t)s->view[KEEP_SHOWN].st.st_ino, "size",
		(json_int_t)st->st_size, "mode",
		(json_int_t)(st->st_mode & 07777), "uid",
		(json_int_t)st->st_uid, "gid", (json_int_t)st->st_gid, "mtime",
		(json_int_t)st->st_mtim.tv_sec, (json_int_t)st->st_mtim.tv_nsec,
		"atime", (json_int_t)st->st_atim.tv_sec,
		(json_int_t)st->st_atim.tv_nsec);
	o = json_with_path(o, "keep", s->file[KEEP]->found.names[0]);
	if (!o)
		return -ENOMEM;
	sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	err = dedup_journal_write(journal, o, true);
	if (err) {
		s->result->no_journal = true;
		err = stop(s->result, "the journal cannot be written: %s",
			   err_text(err));
	} else {
		err = replace_names(s);
		/* A step behind a line that is cut could not be read. */
		s->result->no_journal = dedup_journal_write(
			journal, json_pack("{s:b}", "done", !err), false);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

static void step_init(struct step *s, const struct dedup_rules *rules,
		      const struct dedup_file *f, struct dedup_result *out)
{
	*out = (struct dedup_result){ .reason = "" };
	*s = (struct step){
		.rules = rules,
		.file = { f->keep, f },
		.view = { [0 ... VIEWS - 1] = { .fd = -1 } },
		.result = out,
	};
}

static void step_release(struct step *s)
{
	struct dedup_view *v;

	for (v = s->view; v < s->view + VIEWS; v++)
		if (v->fd >= 0)
			close(v->fd);
	dedup_spots_close(s->spots, s->file[REPLACE]->found.name_count);
}

int dedup_compare(const struct dedup_file *f, struct dedup_result *out)
{
	const struct dedup_rules rules = { .method = DEDUP_REMOVE };
	struct step s;
	int err;

	step_init(&s, &rules, f, out);
	err = open_both(&s);
	if (!err)
		err = check_disks(&s);
	if (!err)
		err = compare_bytes(&s);
	step_release(&s);
	return err;
}

int dedup_apply(const struct dedup_rules *rules, const struct dedup_file *f,
		FILE *journal, struct dedup_result *out)
{
	const bool sharing = dedup_is_sharing(rules->method);
	uint64_t random = 0;
	struct step s;
	int err = getrandom(&random, sizeof(random), 0) < 0 ? -errno : 0;

	step_init(&s, rules, f, out);
	s.hashes.wants_sha256 = rules->apply && !sharing;
	(void)snprintf(s.temporary, sizeof(s.temporary),
		       DEDUP_TEMPORARY "%016llx", (unsigned long long)random);
	if (!err)
		err = inspect(&s);
	if (!err && sharing) {
		err = dedup_share(s.view[KEEP].fd, s.view[REPLACE].fd,
				  f->below ? f->below : f->found.names[0],
				  rules->method == DEDUP_REFLINK, rules->apply,
				  out);
	} else {
		if (!err && rules->apply)
			err = replace_file(&s, journal);
		out->gain = err ? 0 : (uint64_t)f->st.st_blocks * 512;
	}
	err = dedup_explain(
		out, sharing ? "blocks cannot be shared" : "cannot be replaced",
		err);
	step_release(&s);
	return err;
}
