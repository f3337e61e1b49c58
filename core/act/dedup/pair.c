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

/* ---- both ---- */

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

int dedup_pair_open(const struct dedup_file *keep,
		    const struct dedup_file *replace,
		    const struct dedup_rules *rules, struct dedup_pair *pair,
		    bool *is_kept_out)
{
	static const struct dedup_side none = {
		.directory = -1, .view = { { .fd = -1 }, { .fd = -1 } }
	};
	int lock = rules->method == DEDUP_BLOCKS ? LOCK_SH : LOCK_EX, err;

	*pair = (struct dedup_pair){ .keep = none, .replace = none };
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
