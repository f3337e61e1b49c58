/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/inode_number.h"
#include "core/base/lease.h"
#include "core/act/dedup/dedup_impl.h"

/*
 * The two files of a step, open and watched.
 *
 * A file in a kinfs mount is opened twice: in the mount, where it is linked,
 * renamed and removed so that the daemon is told, and in SOURCE, where it is
 * read and watched.  The kernel may answer for a mount from what it remembers,
 * and knows of no writer that opened the file in SOURCE.
 */

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

/* A second run of this program must not replace what this one keeps. */
static int lock_file(int fd, int lock)
{
	if (!flock(fd, lock | LOCK_NB) || errno != EWOULDBLOCK)
		return 0; /* or there are no locks here */
	return -EBUSY;
}

static int open_file(const char *path, int *directory_out,
		     const char **name_out, int *fd_out, struct stat *st_out)
{
	int directory = dedup_open_parent(path, name_out), fd, err = 0;

	if (directory < 0)
		return directory;
	fd = dedup_open_at(directory, *name_out);
	if (fd < 0 || fstat(fd, st_out))
		err = fd < 0 ? fd : -errno;
	if (err) {
		if (fd >= 0)
			close(fd);
		close(directory);
		return err;
	}
	*directory_out = directory;
	*fd_out = fd;
	return 0;
}

/* Nothing is asked of it but that it is the same file, if it can be had. */
static int open_below(const char *path, struct dedup_side *s)
{
	int directory = -1;
	const char *name;

	if (open_file(path, &directory, &name, &s->below_fd, &s->below_st))
		return 0;
	close(directory);
	return is_as_before(&s->st, &s->below_st) ? 0 : -ESTALE;
}

/* A lease needs to be the owner, and a filesystem that has them; without one
 * the checks afterwards are all there is. */
static int take_lease(int fd, bool *taken_out)
{
	int err = fd < 0 ? -EBADF : lease_take(fd);

	*taken_out = !err;
	return err == -EAGAIN ? -ETXTBSY : 0;
}

static int watch(struct dedup_side *s)
{
	int err = take_lease(s->fd, &s->leased);

	return err ? err : take_lease(s->below_fd, &s->below_leased);
}

/* Blocks are shared below a mount, and there only. */
static int open_side(const struct dedup_rules *rules,
		     const struct dedup_file *f, struct dedup_side *s)
{
	const char *path = f->paths[0];
	char *real = dedup_real_path(rules->mount, path);
	bool sharing = real && dedup_is_sharing(rules->method);
	int err = open_file(sharing ? real : path, &s->directory, &s->name,
			    &s->fd, &s->st);

	/* The name is that of the string that is freed here. */
	if (!err && sharing)
		s->name = path + strlen(path) - strlen(s->name);
	if (!err && (!is_as_before(&f->st, &s->st) ||
		     (!sharing && s->st.st_dev != f->st.st_dev)))
		err = -ESTALE;
	if (!err && real && !sharing && strcmp(real, path) != 0)
		err = open_below(real, s);
	free(real);
	return err;
}

/* ---- one file, or two? ---- */

static bool is_one_inode(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

static bool is_one_file(const struct dedup_pair *p)
{
	const struct dedup_side *k = &p->keep, *r = &p->replace;
	const struct stat *a, *b;

	if (is_one_inode(&k->st, &r->st) ||
	    (k->below_fd >= 0 && is_one_inode(&k->below_st, &r->st)) ||
	    (r->below_fd >= 0 && is_one_inode(&k->st, &r->below_st)) ||
	    (k->below_fd >= 0 && r->below_fd >= 0 &&
	     is_one_inode(&k->below_st, &r->below_st)))
		return true;
	/* Another filesystem may show a file of this one: overlayfs, bindfs, a
	 * network mount of this machine.  Two files hardly ever change in one
	 * nanosecond. */
	a = dedup_side_stat(k);
	b = dedup_side_stat(r);
	return a->st_dev != b->st_dev &&
	       timespec_to_ns(&a->st_ctim) == timespec_to_ns(&b->st_ctim) &&
	       timespec_to_ns(&a->st_mtim) == timespec_to_ns(&b->st_mtim);
}

/* ---- both ---- */

/* The kernel itself keeps writers out while it shares blocks. */
static int hold_side(const struct dedup_rules *rules, int lock,
		     struct dedup_side *s)
{
	int err = lock_file(s->fd, lock);

	return err || rules->method == DEDUP_BLOCKS ? err : watch(s);
}

int dedup_pair_open(const struct dedup_file *keep,
		    const struct dedup_file *replace,
		    const struct dedup_rules *rules, struct dedup_pair *pair,
		    bool *is_kept_out)
{
	int lock = rules->method == DEDUP_BLOCKS ? LOCK_SH : LOCK_EX, err;

	*pair = (struct dedup_pair){
		.keep = { .fd = -1, .directory = -1, .below_fd = -1 },
		.replace = { .fd = -1, .directory = -1, .below_fd = -1 },
	};
	*is_kept_out = true;
	err = open_side(rules, keep, &pair->keep);
	if (err)
		return err;
	*is_kept_out = false;
	err = open_side(rules, replace, &pair->replace);
	if (!err && is_one_file(pair))
		err = -EEXIST;
	if (!err)
		err = hold_side(rules, lock, &pair->replace);
	if (err)
		return err;
	*is_kept_out = true;
	return hold_side(rules, LOCK_SH, &pair->keep);
}

static void close_side(struct dedup_side *s)
{
	if (s->fd >= 0)
		close(s->fd);
	if (s->below_fd >= 0)
		close(s->below_fd);
	if (s->directory >= 0)
		close(s->directory);
}

void dedup_pair_close(struct dedup_pair *pair)
{
	close_side(&pair->keep);
	close_side(&pair->replace);
}

/* ---- has one changed? ---- */

static bool same_state(const struct stat *before, int fd, bool renamed)
{
	struct stat now;

	if (fstat(fd, &now))
		return false;
	return now.st_size == before->st_size &&
	       timespec_to_ns(&now.st_mtim) ==
		       timespec_to_ns(&before->st_mtim) &&
	       (renamed || timespec_to_ns(&now.st_ctim) ==
				   timespec_to_ns(&before->st_ctim));
}

static bool is_broken(const struct dedup_side *s)
{
	return (s->leased && !lease_holds(s->fd)) ||
	       (s->below_leased && !lease_holds(s->below_fd));
}

bool dedup_pair_is_broken(const struct dedup_pair *p)
{
	return is_broken(&p->keep) || is_broken(&p->replace);
}

static bool is_unchanged(const struct dedup_side *s, bool renamed)
{
	return same_state(&s->st, s->fd, renamed) &&
	       (s->below_fd < 0 ||
		same_state(&s->below_st, s->below_fd, renamed));
}

/* A link to the kept file moves its ctime, too. */
int dedup_pair_check(const struct dedup_pair *p, bool renamed)
{
	if (dedup_pair_is_broken(p))
		return -ETXTBSY;
	return is_unchanged(&p->keep, renamed) &&
			       is_unchanged(&p->replace, renamed) ?
		       0 :
		       -ESTALE;
}

int dedup_side_fd(const struct dedup_side *s)
{
	return s->below_fd >= 0 ? s->below_fd : s->fd;
}

const struct stat *dedup_side_stat(const struct dedup_side *s)
{
	return s->below_fd >= 0 ? &s->below_st : &s->st;
}
