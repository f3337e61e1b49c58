/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"

/* ---- opening ---- */

/* Opens a new catalog at once, as it needs no check. */
static int begin_data(struct catalog *c)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NONBLOCK;
	int fd = openat(c->dir, CATALOG_DATA_FILE, flags);
	struct stat st = { 0 };
	int err = fd < 0 || fstat(fd, &st) ? -errno : 0;

	if (fd >= 0)
		(void)close(fd);
	if (err == -EISDIR || (!err && !S_ISREG(st.st_mode))) {
		c->verdict = -EUCLEAN;
		return 0;
	}
	if (err && err != -ENOENT)
		return err;
	c->sealed = !faccessat(c->dir, SEAL_FILE, F_OK, 0);
	if (st.st_size > 0)
		return c->sealed ? 0 : inspection_start(c);
	(void)catalog_unseal(c);
	(void)unlinkat(c->dir, CATALOG_READERS_FILE, 0);
	err = env_open(c);
	c->gate.opening = err != 0;
	return err;
}

/* A catalog of that directory, which is not open yet. */
static int catalog_new(const char *directory, struct catalog **out)
{
	struct catalog *c = calloc(1, sizeof(*c));
	int err = 0;

	if (!c)
		return -ENOMEM;
	(void)pthread_mutex_init(&c->gate.lock, NULL);
	(void)cond_init_monotonic(&c->gate.changed);
	c->lock_fd = -1;
	c->directory = strdup(directory);
	c->dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->dir < 0)
		err = -errno;
	if (!c->directory ||
	    asprintf(&c->data, "%s/%s", directory, CATALOG_DATA_FILE) < 0 ||
	    asprintf(&c->copy, "%s/%s", directory, CATALOG_COPY_FILE) < 0)
		err = -ENOMEM;
	if (err)
		catalog_free(c);
	else
		*out = c;
	return err;
}

/* The key is a file of its own, because files are hashed before the data file
 * is open.  With another key than that of its identities the data file is not
 * used. */
static int load_key(struct catalog *c)
{
	struct digest_key *key = &c->key;
	ssize_t len = data_dir_read(c->dir, KEY_FILE, key, sizeof(*key));

	if (len == sizeof(*key))
		return 0;
	if (getrandom(key, sizeof(*key), 0) != sizeof(*key))
		return -EAGAIN;
	/* Where that fails, the next process has another key. */
	(void)data_dir_write(c->dir, KEY_FILE, key, sizeof(*key));
	return 0;
}

const struct digest_key *catalog_key(const struct catalog *c)
{
	return &c->key;
}

int catalog_begin(const struct catalog_options *options, struct catalog **out)
{
	const char *holder = options->holder ? options->holder : "";
	struct catalog *c;
	int err = catalog_make_directories(options->directory);

	if (!err)
		err = catalog_new(options->directory, &c);
	if (err)
		return err;
	c->gate.opening = true;
	atomic_init(&c->next_content, 1);
	c->digest_set = options->digest_set;
	c->root = options->root;
	c->filesystem = options->filesystem;
	c->text_version = options->text_version;
	c->source = strdup(options->source);
	err = c->source ? data_dir_lock(c->dir, holder, &c->lock_fd) : -ENOMEM;
	if (!err)
		err = load_key(c) ?: begin_data(c);
	if (err)
		catalog_free(c);
	else
		*out = c;
	return err;
}

static void set_opener(struct catalog *c)
{
	(void)pthread_mutex_lock(&c->gate.lock);
	c->gate.has_opener = true;
	c->gate.opener = pthread_self();
	(void)pthread_mutex_unlock(&c->gate.lock);
}

int catalog_finish(struct catalog *c)
{
	struct buf none = { 0 };
	int err = c->verdict;

	set_opener(c);
	if (c->env)
		return 0;
	if (!err)
		err = c->sealed ? seal_check(c) :
				  inspection_wait(&c->inspection);
	if (!err && atomic_load(&c->cancelled))
		err = -ECANCELED;
	if (!err)
		err = env_open(c);
	c->verdict = err;
	/* With other digests than those that are stored, or on another
	 * filesystem, every file is hashed again, so nothing of the catalog is
	 * worth to be kept. */
	if (err == -ESTALE)
		err = unlinkat(c->dir, CATALOG_DATA_FILE, 0) ?
			      -errno :
			      catalog_replace(c, &none);
	if (!err && c->root.inode)
		err = root_settle(c);
	if (!err && c->text_version)
		err = texts_settle(c);
	buf_release(&none);
	return err && atomic_load(&c->cancelled) ? -ECANCELED : err;
}

/* Renames the data file to the first unused name of its kind. */
static int move_aside(struct catalog *c, struct buf *path_out)
{
	char name[64];
	unsigned n = 0;
	int err;

	do
		(void)snprintf(name, sizeof(name),
			       c->verdict == -EMEDIUMTYPE ?
				       CATALOG_DATA_FILE ".other-version-%u" :
				       CATALOG_DATA_FILE ".damaged-%u",
			       ++n);
	while (!faccessat(c->dir, name, F_OK, 0));
	buf_clear(path_out);
	err = buf_append_format(path_out, "%s/%s", c->directory, name);
	if (!err && renameat(c->dir, CATALOG_DATA_FILE, c->dir, name)) {
		err = errno == ENOENT ? 0 : -errno; /* it was deleted */
		buf_clear(path_out);
	}
	return err;
}

int catalog_replace(struct catalog *c, struct buf *aside_out)
{
	int err;

	env_close(c);
	c->dirty_trimmed = 0;
	c->replaced++;
	err = catalog_unseal(c);
	if (!err)
		err = move_aside(c, aside_out);
	c->verdict = 0;
	if (err)
		return err;
	(void)unlinkat(c->dir, CATALOG_READERS_FILE, 0);
	return env_open(c);
}

void catalog_admit(struct catalog *c, int err)
{
	(void)pthread_mutex_lock(&c->gate.lock);
	c->failed = err;
	c->gate.damaged = err && c->gate.damaged;
	c->gate.opening = false;
	(void)pthread_cond_broadcast(&c->gate.changed);
	(void)pthread_mutex_unlock(&c->gate.lock);
}

/* ---- damage while it is open ---- */

void catalog_found_damage(struct catalog *c)
{
	struct map_gate *g = &c->gate;

	(void)pthread_mutex_lock(&g->lock);
	g->damaged = true;
	g->opening = g->opening || g->watched;
	(void)pthread_cond_broadcast(&g->changed);
	(void)pthread_mutex_unlock(&g->lock);
}

int catalog_await_damage(struct catalog *c)
{
	struct map_gate *g = &c->gate;
	int err;

	set_opener(c);
	(void)pthread_mutex_lock(&g->lock);
	g->watched = true;
	while (!atomic_load(&c->cancelled) && !g->damaged)
		(void)pthread_cond_wait(&g->changed, &g->lock);
	g->watched = false;
	err = g->damaged ? 0 : -ECANCELED;
	g->opening = g->damaged;
	while (!err && (g->moving || g->inside > 0))
		(void)pthread_cond_wait(&g->changed, &g->lock);
	(void)pthread_mutex_unlock(&g->lock);
	return err;
}

void catalog_cancel(struct catalog *c)
{
	(void)pthread_mutex_lock(&c->gate.lock);
	atomic_store(&c->cancelled, true);
	(void)pthread_cond_broadcast(&c->gate.changed);
	(void)pthread_mutex_unlock(&c->gate.lock);
	if (c->inspection.pid)
		inspection_cancel(&c->inspection);
}

bool catalog_is_open(struct catalog *c)
{
	return !c->gate.opening && !c->failed && !c->gate.damaged;
}

int catalog_failure(struct catalog *c)
{
	return c->failed;
}

void catalog_wait_open(struct catalog *c, unsigned timeout_ms)
{
	const int64_t end_ms = clock_now_ms() + timeout_ms;

	(void)pthread_mutex_lock(&c->gate.lock);
	while (c->gate.opening && clock_now_ms() < end_ms)
		cond_wait_until(&c->gate.changed, &c->gate.lock, end_ms);
	(void)pthread_mutex_unlock(&c->gate.lock);
}

/* ---- closing ---- */

void catalog_free(struct catalog *c)
{
	if (!c)
		return;
	if (c->inspection.pid) {
		inspection_cancel(&c->inspection);
		(void)inspection_wait(&c->inspection);
	}
	if (c->env) {
		env_close(c);
		/* Of the daemon alone.  If this fails, the file is inspected
		 * when it is opened. */
		if (c->lock_fd >= 0 && !c->sealed && !c->gate.damaged &&
		    !atomic_load(&c->lost))
			(void)seal_write(c);
	}
	lost_names_release(c);
	if (c->lock_fd >= 0)
		data_dir_unlock(c->lock_fd);
	(void)pthread_cond_destroy(&c->gate.changed);
	(void)pthread_mutex_destroy(&c->gate.lock);
	if (c->dir >= 0)
		(void)close(c->dir);
	free(c->directory);
	free(c->data);
	free(c->copy);
	free(c->source);
	free(c);
}

/* ---- following ---- */

/*
 * A second process reads the daemon's catalog.  Its transactions are in the
 * reader table of LMDB's lock file, so the daemon's LMDB does not reuse the
 * pages that they need.  A daemon that replaces the data file removes the lock
 * file, too.  So a process with the old files cannot disturb the daemon, and
 * finds out by their inode numbers.
 */

/* 0: there is no such file. */
static ino_t inode_of(int dir, const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, 0) ? 0 : st.st_ino;
}

/* The data file by its path, as the directory may be replaced. */
bool catalog_follow_holds(const struct catalog *c)
{
	return c->data_inode == inode_of(AT_FDCWD, c->data) &&
	       c->lock_inode == inode_of(c->dir, CATALOG_READERS_FILE);
}

/* -EAGAIN: a file was replaced while they were opened. */
static int open_follower(struct catalog *c)
{
	int err;

	c->data_inode = inode_of(AT_FDCWD, c->data);
	c->lock_inode = inode_of(c->dir, CATALOG_READERS_FILE);
	if (!c->data_inode)
		return -ENOENT;
	err = env_map(c, MDB_RDONLY);
	if (err)
		return err;
	if (!c->lock_inode) /* it was made now */
		c->lock_inode = inode_of(c->dir, CATALOG_READERS_FILE);
	if (!catalog_follow_holds(c))
		return -EAGAIN;
	GUARDED(c, err,
		catalog_errno(mdb_reader_check(c->env, NULL)) ?:
			env_open_tables(c, true));
	return err;
}

int catalog_follow(const char *directory, struct catalog **out)
{
	struct catalog *c;
	int err = catalog_new(directory, &c);

	if (err)
		return err;
	err = open_follower(c);
	if (err)
		catalog_free(c);
	else
		*out = c;
	return err;
}
