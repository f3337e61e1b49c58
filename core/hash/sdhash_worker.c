/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hash/sdhash_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/digest/fingerprint.h"
#include "core/engine/engine_impl.h"
#include "core/source/file.h"
#include "core/source/source.h"

enum { PIECE = 64 * 1024 };

/* A file may have names that the caller must not learn, and the one by which
 * the caller asked is not known: sdhash's own name for standard input. */
#define NAME "stdin"

struct order {
	struct order *next;
	int fd; /* owned, O_PATH */
	uid_t uid;
	uint64_t turn; /* the list is in this order */
	size_t most;
	void (*done)(void *arg, int result, const struct buf *text);
	void *arg;
};

static void order_end(struct order *o, int result, const struct buf *text)
{
	o->done(o->arg, result, text);
	close(o->fd);
	free(o);
}

/* ---- computing ---- */

static int read_file(struct desk *d, int fd, uint64_t size)
{
	char piece[PIECE];
	uint64_t done = 0;
	ssize_t n;
	int err = 0;

	while (done < size && !err) {
		n = pread(fd, piece, sizeof(piece), (off_t)done);
		if (n == 0)
			return -ESTALE;
		if (n < 0)
			return -errno;
		done += (uint64_t)n;
		err = fingerprint_update(d->fp, piece, (size_t)n);
		if (atomic_load(&d->engine->stopping))
			return -ECANCELED;
	}
	return err;
}

static int digest_file(struct desk *d, int fd, uint64_t size, size_t most)
{
	struct digests digests;
	int err;

	err = fingerprint_begin_file(d->fp, NAME, size, most);
	if (!err)
		err = read_file(d, fd, size);
	if (!err)
		err = fingerprint_final(d->fp, &digests);
	if (err)
		return err;
	err = digest_format(&digests, DIGEST_SDHASH, &d->text);
	digests_release(&digests);
	return err;
}

static int compute(struct desk *d, const struct order *o)
{
	int err, fd = file_reopen(o->fd);

	buf_clear(&d->text);
	err = fd < 0 ? fd : digest_file(d, fd, d->identity.size, o->most);
	if (fd >= 0)
		close(fd);
	return err == -ESTALE ? -EAGAIN : err;
}

static int look(struct engine *e, int fd, struct file_key *key_out,
		struct file_identity *identity_out)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	source_get_key(&e->source, fd, &st, key_out);
	source_get_identity(&st, identity_out);
	return 0;
}

/* -EAGAIN when the file changed meanwhile. */
static int serve(struct desk *d, const struct order *o)
{
	struct engine *e = d->engine;
	struct file_identity identity = { 0 };
	struct file_key key = { 0 };
	int err = look(e, o->fd, &key, &identity);

	if (err)
		return err;
	if (!file_key_equal(&key, &d->key) ||
	    !file_identity_equal(&identity, &d->identity) ||
	    d->result == -EAGAIN) {
		d->key = key;
		d->identity = identity;
		d->result = compute(d, o);
	}
	err = look(e, o->fd, &key, &identity);
	if (!err && !file_identity_equal(&identity, &d->identity))
		err = d->result = -EAGAIN;
	return err ? err : d->result;
}

/* ---- the thread ---- */

/* Whether the other desk serves the user. */
static bool is_served(const struct demand *d, uid_t uid)
{
	size_t i;

	for (i = 0; i < DESKS; i++)
		if (d->desks[i].busy && d->desks[i].uid == uid)
			return true;
	return false;
}

/* The first order of a user who is not being served, or NULL at the end. */
static struct order *take_order(struct demand *d)
{
	struct order **at, *o;

	while (!d->stopped) {
		for (at = &d->first; *at; at = &(*at)->next)
			if (!is_served(d, (*at)->uid))
				break;
		o = *at;
		if (o) {
			*at = o->next;
			share_serve(&d->share, o->turn);
			return o;
		}
		pthread_cond_wait(&d->work, &d->lock);
	}
	return NULL;
}

static void *desk_run(void *arg)
{
	struct desk *desk = arg;
	struct demand *d = &desk->engine->demand;
	struct order *o;
	int result;

	thread_set_name("kinfs-sdhash");
	pthread_mutex_lock(&d->lock);
	while ((o = take_order(d))) {
		desk->busy = true;
		desk->uid = o->uid;
		pthread_mutex_unlock(&d->lock);
		result = serve(desk, o);
		order_end(o, result, &desk->text);
		pthread_mutex_lock(&d->lock);
		desk->busy = false;
		share_give(&d->share, desk->uid);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

static int enter(struct demand *d, struct order *o)
{
	struct order **at = &d->first;
	int err = d->stopped ? -ECANCELED :
			       share_take(&d->share, o->uid, &o->turn);

	if (err)
		return err;
	while (*at && (*at)->turn <= o->turn)
		at = &(*at)->next;
	o->next = *at;
	*at = o;
	pthread_cond_broadcast(&d->work);
	return 0;
}

int engine_sdhash(struct engine *e, int fd, uid_t uid, size_t most,
		  void (*done)(void *arg, int result, const struct buf *text),
		  void *arg)
{
	struct demand *d = &e->demand;
	struct order *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return -ENOMEM;
	*o = (struct order){
		.uid = uid, .most = most, .done = done, .arg = arg
	};
	o->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (o->fd < 0) {
		err = -errno;
		free(o);
		return err;
	}
	pthread_mutex_lock(&d->lock);
	err = enter(d, o);
	pthread_mutex_unlock(&d->lock);
	if (err) {
		close(o->fd);
		free(o);
	}
	return err;
}

int demand_init(struct demand *d)
{
	int err = -pthread_mutex_init(&d->lock, NULL);
	size_t i;

	d->share.most = ORDERS_MAX;
	if (!err)
		err = -pthread_cond_init(&d->work, NULL);
	for (i = 0; i < DESKS && !err; i++)
		err = fingerprint_new(DIGEST_BIT(DIGEST_SDHASH),
				      &d->desks[i].fp);
	return err;
}

int demand_start(struct engine *e)
{
	int err = 0;
	size_t i;

	for (i = 0; i < DESKS && !err; i++) {
		struct desk *desk = &e->demand.desks[i];

		desk->engine = e;
		err = -pthread_create(&desk->thread, NULL, desk_run, desk);
		desk->started = !err;
	}
	return err;
}

void demand_stop(struct engine *e)
{
	struct demand *d = &e->demand;
	struct order *o, *next;
	size_t i;

	pthread_mutex_lock(&d->lock);
	d->stopped = true;
	o = d->first;
	d->first = NULL;
	pthread_cond_broadcast(&d->work);
	pthread_mutex_unlock(&d->lock);
	for (i = 0; i < DESKS; i++) {
		if (d->desks[i].started)
			pthread_join(d->desks[i].thread, NULL);
		d->desks[i].started = false;
	}
	for (; o; o = next) {
		next = o->next;
		share_give(&d->share, o->uid);
		order_end(o, -ECANCELED, &(struct buf){ 0 });
	}
}

void demand_release(struct demand *d)
{
	size_t i;

	for (i = 0; i < DESKS; i++) {
		fingerprint_free(d->desks[i].fp);
		buf_release(&d->desks[i].text);
	}
	pthread_cond_destroy(&d->work);
	pthread_mutex_destroy(&d->lock);
}
