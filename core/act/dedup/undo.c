/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/inode_number.h"
#include "core/base/lease.h"
#include "core/act/dedup/dedup_impl.h"
#include "core/source/file.h"

/*
 * A step that was begun left each name of the file in one of four states,
 * whatever the journal says of its end; which one is seen from the inode
 * numbers of the path and of the name beside it:
 *
 *   path          name beside it   what happened            what undo does
 *   old file      -                nothing, or undone       nothing
 *   old file      link to kept     not yet renamed          removes the name
 *   link, or -    old file         not yet removed          renames it back
 *   link, or -    -                all of it                links the old file,
 *                                                           or a copy, again
 *
 * A copy has the bytes, owner, mode, attributes and times of the old file, and
 * a new inode.  It is made once: the other names become links of it.
 *
 * The kept file may be another user's by now.  So what is copied is hashed as it
 * is written, and compared before the copy gets its owner, mode and name.
 */
struct undo_names {
	struct stat at, beside; /* st_nlink 0: there is none */
};

static struct stat look(int directory, const char *name)
{
	struct stat st;

	if (directory < 0 || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW))
		return (struct stat){ 0 };
	return st;
}

static struct undo_names find_place(const struct dedup_spot *s)
{
	return (struct undo_names){ look(s->directory, s->name),
				    look(s->directory, s->beside) };
}

static bool is_kept(const struct dedup_record *r, const struct stat *st)
{
	return st->st_nlink && inode_number_is_same(st->st_ino, r->keep_inode);
}

/* The old file, or a copy of it: nobody else gives a file that owner. */
static bool is_old(const struct dedup_record *r, const struct stat *st)
{
	return S_ISREG(st->st_mode) && !is_kept(r, st) &&
	       st->st_size == r->st.st_size && st->st_uid == r->st.st_uid &&
	       st->st_gid == r->st.st_gid &&
	       timespec_to_ns(&st->st_mtim) == timespec_to_ns(&r->st.st_mtim);
}

static bool is_replaced(const struct dedup_record *r,
			const struct undo_names *p)
{
	return r->method == DEDUP_HARDLINK ? is_kept(r, &p->at) :
					     !p->at.st_nlink;
}

/* A link to the kept file that is not needed, and not its last name. */
static bool is_spare(const struct dedup_record *r, const struct stat *st)
{
	return is_kept(r, st) && st->st_nlink > 1;
}

/* ---- a copy ---- */

static int set_metadata(int fd, const struct dedup_record *r)
{
	const struct timespec times[2] = { r->st.st_atim, r->st.st_mtim };
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if ((st.st_uid != r->st.st_uid || st.st_gid != r->st.st_gid) &&
	    fchown(fd, r->st.st_uid, r->st.st_gid))
		return -errno;
	err = dedup_write_attributes(fd, r->attributes);
	if (err)
		return err;
	if (fchmod(fd, r->st.st_mode) || futimens(fd, times) || fsync(fd))
		return -errno;
	return 0;
}

/* Whether another user could have chosen what is to get these rights. */
static bool crosses_users(const struct dedup_record *r, const struct stat *kept)
{
	bool rights = r->st.st_mode & (S_ISUID | S_ISGID) ||
		      json_object_get(r->attributes, DEDUP_CAPABILITY);

	return kept->st_uid != r->st.st_uid ||
	       (rights && (kept->st_gid != r->st.st_gid ||
			   (kept->st_mode & 07777) != r->st.st_mode));
}

/* In place of the path's link to the kept file, or of nothing.  If another
 * program put something else there, or beside, meanwhile, that stays. */
static int put_back(const struct dedup_record *r, const struct dedup_spot *s,
		    const char *beside, int fd)
{
	bool links = r->method == DEDUP_HARDLINK;
	struct stat st, kept;

	if (fstat(fd, &st))
		return -errno;
	if (renameat2(s->directory, beside, s->directory, s->name,
		      links ? RENAME_EXCHANGE : RENAME_NOREPLACE))
		return -errno;
	kept = look(s->directory, beside);
	if (dedup_has_inode(s->directory, s->name, st.st_ino) &&
	    (!links || is_kept(r, &kept)))
		return links && unlinkat(s->directory, beside, 0) ? -errno : 0;
	(void)renameat2(s->directory, s->name, s->directory, beside,
			links ? RENAME_EXCHANGE : RENAME_NOREPLACE);
	return -ESTALE;
}

/* Half a copy, of an undo that was killed, has a name of its own: its inode may
 * have the number of the old file. */
static void name_copy(const struct dedup_spot *s, char out[NAME_MAX + 1])
{
	(void)snprintf(out, NAME_MAX + 1, "%.240s.copy", s->beside);
}

/* Where the path is a link to it, that is the kept file, wherever it is by now.
 * Nobody writes to it while the lease is held. */
static int make_copy(const struct dedup_record *r, const struct dedup_spot *s,
		     const char *name, bool force, int *fd_out)
{
	enum { FLAGS = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };
	int from = r->method == DEDUP_HARDLINK ?
			   dedup_open_at(s->directory, s->name) :
			   dedup_open_file(r->keep);
	int err = from < 0 ? from : 0, to = -1;
	struct stat st;

	if (!err && fstat(from, &st))
		err = -errno;
	if (!err && crosses_users(r, &st) && !force)
		err = -EKEYREJECTED;
	if (!err && lease_take(from) == -EAGAIN)
		err = -ETXTBSY;
	if (!err) {
		to = openat(s->directory, name, FLAGS, 0600);
		err = to < 0 ? -errno : dedup_copy(from, to, r->sha256);
	}
	if (!err)
		err = set_metadata(to, r);
	if (from >= 0)
		close(from);
	if (!err)
		*fd_out = to;
	else if (to >= 0)
		close(to);
	return err;
}

/* fd_io: the file that the names are to have again; -1: a copy is to be made. */
static int restore(const struct dedup_record *r, const struct dedup_spot *s,
		   bool force, int *fd_io)
{
	char name[NAME_MAX + 1];
	int err;

	name_copy(s, name);
	err = *fd_io < 0 ? make_copy(r, s, name, force, fd_io) :
			   file_link(*fd_io, s->directory, name);
	if (!err)
		err = put_back(r, s, name, *fd_io);
	if (err)
		(void)unlinkat(s->directory, name, 0);
	return err;
}

/* ---- one step ---- */

struct undoing {
	const struct dedup_record *r;
	struct dedup_spot *spots;
	bool force;
	int fd; /* of the old file, or of its copy; -1: there is none yet */
	bool restored;
};

/* Where one of its names still has it, it need not be copied. */
static void find_old(struct undoing *u)
{
	enum { FLAGS = O_PATH | O_NOFOLLOW | O_CLOEXEC };
	const struct dedup_record *r = u->r;
	size_t i;

	for (i = 0; i < r->path_count && u->fd < 0; i++) {
		const struct dedup_spot *s = &u->spots[i];
		struct undo_names p = find_place(s);

		if (is_old(r, &p.beside))
			u->fd = openat(s->directory, s->beside, FLAGS);
		else if (is_old(r, &p.at))
			u->fd = openat(s->directory, s->name, FLAGS);
	}
}

static int undo_name(struct undoing *u, const struct dedup_spot *s)
{
	const struct dedup_record *r = u->r;
	struct undo_names p = find_place(s);
	char copy[NAME_MAX + 1];
	int err;

	if (s->directory < 0)
		return s->directory;
	name_copy(s, copy);
	(void)unlinkat(s->directory, copy, 0);
	if (!is_replaced(r, &p)) {
		if (is_spare(r, &p.beside))
			(void)unlinkat(s->directory, s->beside, 0);
		/* The step was not done: the old file may have been changed
		 * since.  Else its number may be that of a new one. */
		return is_old(r, &p.at) || (!r->done && p.at.st_nlink &&
					    p.at.st_ino == r->st.st_ino) ?
			       0 :
			       -ESTALE;
	}
	if (u->fd >= 0 && is_old(r, &p.beside))
		err = put_back(r, s, s->beside, u->fd);
	else
		err = restore(r, s, u->force, &u->fd);
	u->restored |= !err;
	return err;
}

/* Shared extents are nothing that a reader could see. */
static int undo_step(const struct dedup_record *r, bool force,
		     void (*tell)(void *arg, const char *path,
				  const char *reason),
		     void *arg, struct dedup_undo_counts *counts)
{
	struct undoing u = { .r = r, .force = force, .fd = -1 };
	struct dedup_result result;
	size_t i, failed = counts->failed;
	int err;

	if (dedup_is_sharing(r->method)) {
		counts->nothing += r->ended && !r->done;
		counts->sharing += !r->ended || r->done;
		return 0;
	}
	err = dedup_spots_open(r->paths, r->path_count, r->temporary, true,
			       &u.spots);
	if (err)
		return err;
	find_old(&u);
	for (i = 0; i < r->path_count; i++) {
		err = undo_name(&u, &u.spots[i]);
		if (dedup_explain(&result, "it cannot be restored", err))
			tell(arg, r->paths[i], result.reason);
		counts->failed += err != 0;
	}
	counts->restored += u.restored;
	counts->nothing += !u.restored && counts->failed == failed;
	if (u.fd >= 0)
		close(u.fd);
	dedup_spots_close(u.spots, r->path_count);
	return 0;
}

int dedup_undo(const char *journal, bool force_metadata,
	       void (*tell)(void *arg, const char *path, const char *reason),
	       void *arg, struct dedup_undo_counts *out)
{
	struct dedup_record *records = NULL;
	size_t count = 0, i;
	int err = dedup_journal_read(journal, &records, &count);

	*out = (struct dedup_undo_counts){ 0 };
	for (i = count; i-- > 0;) {
		if (!err)
			err = undo_step(&records[i], force_metadata, tell, arg,
					out);
		dedup_record_release(&records[i]);
	}
	free(records);
	return err;
}

/* ---- a run that was killed ---- */

/* A name beside is removed when the path has its content; else it is the only
 * name of the old file and gets the path back. */
static bool settle_name(const struct dedup_record *r,
			const struct dedup_spot *s)
{
	struct undo_names p = find_place(s);

	if (!p.at.st_nlink && is_old(r, &p.beside))
		return !renameat2(s->directory, s->beside, s->directory,
				  s->name, RENAME_NOREPLACE);
	if (is_spare(r, &p.beside) ||
	    (r->method == DEDUP_HARDLINK && is_kept(r, &p.at) &&
	     is_old(r, &p.beside)))
		return !unlinkat(s->directory, s->beside, 0);
	return false;
}

int dedup_settle(const char *journal, bool *settled_out)
{
	struct dedup_record *records = NULL, *last;
	struct dedup_spot *spots = NULL;
	size_t count = 0, i;
	int err = dedup_journal_read(journal, &records, &count);

	if (err)
		return err;
	*settled_out = false;
	last = count ? &records[count - 1] : NULL;
	if (last && !last->ended && last->temporary &&
	    !dedup_spots_open(last->paths, last->path_count, last->temporary,
			      true, &spots)) {
		for (i = 0; i < last->path_count; i++)
			*settled_out |= settle_name(last, &spots[i]);
		dedup_spots_close(spots, last->path_count);
	}
	while (count)
		dedup_record_release(&records[--count]);
	free(records);
	return 0;
}
