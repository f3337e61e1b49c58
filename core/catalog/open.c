/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/catalog/seal.h"

/* ---- the data file ---- */

static int try_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	(void)close(fd);
	return 0;
}

static bool has_seal(const struct catalog *c)
{
	struct buf path = { 0 };
	bool there =
		!buf_append_format(&path, "%s/%s", c->directory, SEAL_FILE) &&
		access(path.data, F_OK) == 0;

	buf_release(&path);
	return there;
}

static int begin_check(struct catalog *c)
{
	int err = try_file(c->data);

	c->sealed = !err && has_seal(c);
	if (err || c->sealed)
		return err;
	return inspection_start(c->directory, &c->inspection);
}

/* Opens a new catalog at once, as it needs no check. */
static int begin_data(struct catalog *c)
{
	struct stat st = { .st_mode = S_IFREG };
	int err = 0;

	if (stat(c->data, &st) != 0 && errno != ENOENT)
		return -errno;
	if (!S_ISREG(st.st_mode)) {
		c->verdict = -EUCLEAN;
	} else if (st.st_size > 0) {
		err = begin_check(c);
	} else {
		(void)seal_remove(c->directory);
		data_dir_forget_readers(c->directory);
		err = env_open(c);
		c->gate.opening = err != 0;
	}
	return err;
}

/* ---- opening ---- */

int catalog_new(const char *directory, struct catalog **out)
{
	struct catalog *c = calloc(1, sizeof(*c));
	struct buf data = { 0 };
	int err;

	if (!c)
		return -ENOMEM;
	(void)pthread_mutex_init(&c->gate.lock, NULL);
	(void)cond_init_monotonic(&c->gate.changed);
	c->lock_fd = -1;
	c->directory = strdup(directory);
	err = buf_append_format(&data, "%s/%s", directory, CATALOG_DATA_FILE);
	c->data = buf_take(&data);
	if (err || !c->directory) {
		catalog_free(c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

int catalog_begin(const struct catalog_options *options, struct catalog **out)
{
	struct catalog *c;
	int err = catalog_new(options->directory, &c);

	if (err)
		return err;
	c->gate.opening = true;
	atomic_init(&c->next_content, 1);
	c->digest_set = options->digest_set;
	c->source = strdup(options->source);
	err = c->source ? catalog_make_directories(c->directory) : -ENOMEM;
	if (!err)
		err = data_dir_lock(c->directory, &c->lock_fd);
	if (!err) {
		data_dir_sign(c->lock_fd,
			      options->holder ? options->holder : "");
		err = begin_data(c);
	}
	if (err)
		catalog_free(c);
	else
		*out = c;
	return err;
}

static int wait_for_verdict(struct catalog *c)
{
	int err = c->verdict;

	if (!err && c->sealed) {
		err = seal_check(c->directory, c->data, &c->cancelled);
		return err == -ENOENT ? -EUCLEAN : err;
	}
	return err ? err : inspection_wait(&c->inspection);
}

static void set_opener(struct catalog *c)
{
	(void)pthread_mutex_lock(&c->gate.lock);
	c->gate.has_opener = true;
	c->gate.opener = pthread_self();
	(void)pthread_mutex_unlock(&c->gate.lock);
}

/* With other digests than those that are stored every file is hashed again, so
 * nothing of the catalog is worth to be kept. */
static int begin_anew(struct catalog *c)
{
	int err = seal_remove(c->directory);

	if (!err && unlink(c->data) != 0)
		err = -errno;
	if (err)
		return err;
	c->sealed = false;
	data_dir_forget_readers(c->directory);
	return env_open(c);
}

int catalog_finish(struct catalog *c)
{
	int err;

	set_opener(c);
	if (c->env)
		return 0;
	err = wait_for_verdict(c);
	if (!err && atomic_load(&c->cancelled))
		err = -ECANCELED;
	if (!err)
		err = env_open(c);
	if (err == -ESTALE)
		err = begin_anew(c);
	if (!err)
		return 0;
	env_close(c);
	c->sealed = false;
	return atomic_load(&c->cancelled) ? -ECANCELED : err;
}

int catalog_replace(struct catalog *c, struct buf *aside_out)
{
	int err;

	env_close(c);
	c->sealed = false;
	c->dirty_trimmed = 0;
	c->replaced++;
	err = seal_remove(c->directory);
	if (!err)
		err = data_dir_move_aside(c->directory, aside_out);
	/* -ENOENT: the damaged file was deleted. */
	return err && err != -ENOENT ? err : env_open(c);
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

int catalog_open(const struct catalog_options *options, struct catalog **out)
{
	struct catalog *c;
	int err = catalog_begin(options, &c);

	if (err)
		return err;
	err = catalog_finish(c);
	catalog_admit(c, err);
	if (err)
		catalog_free(c);
	else
		*out = c;
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
	bool open;

	(void)pthread_mutex_lock(&c->gate.lock);
	open = !c->gate.opening && !c->failed && !c->gate.damaged;
	(void)pthread_mutex_unlock(&c->gate.lock);
	return open;
}

int catalog_failure(struct catalog *c)
{
	int err;

	(void)pthread_mutex_lock(&c->gate.lock);
	err = c->failed;
	(void)pthread_mutex_unlock(&c->gate.lock);
	return err;
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

int catalog_unseal(struct catalog *c)
{
	int err = c->sealed ? seal_remove(c->directory) : 0;

	if (!err)
		c->sealed = false;
	return err;
}

/* If this fails, the file is inspected when it is opened. */
static void seal(const struct catalog *c)
{
	if (c->lock_fd >= 0 && !c->sealed) /* it is the daemon's */
		(void)seal_write(c->directory, c->data);
}

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
		if (!atomic_load(&c->lost) && !c->gate.damaged)
			seal(c);
	}
	lost_names_release(c);
	if (c->lock_fd >= 0)
		data_dir_unlock(c->lock_fd);
	(void)pthread_cond_destroy(&c->gate.changed);
	(void)pthread_mutex_destroy(&c->gate.lock);
	free(c->directory);
	free(c->data);
	free(c->source);
	free(c);
}
