/* SPDX-License-Identifier: Apache-2.0 */
#include "core/scan/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/err.h"
#include "core/engine/engine_impl.h"
#include "core/source/file.h"
#include "core/source/source.h"

enum {
	SETTLE_MIN_MS = 50, /* an unsettled directory is read again after */
	SETTLE_MAX_MS = 30000,
	SETTLE_TRIES = 4, /* then it is not waited for */
};

struct walk_step {
	char *path;
	struct file_key key; /* of the directory that was there */
};

/* Directories still to be walked, deepest last. */
struct walk {
	struct engine *e;
	bool shallow; /* what is below is not walked */
	bool learns;  /* the names of a directory that changes are told */
	bool lost;    /* a directory's name could not be told */
	struct walk_step *steps;
	size_t count;
};

struct unsettled {
	struct unsettled *next;
	struct file_key key;
	unsigned tries;
	bool deep; /* with what is below */
	int64_t due_ms;
	char path[];
};

static int walk_push(struct walk *w, char *path, const struct file_key *key)
{
	struct walk_step *steps =
		array_with_room(w->steps, w->count, sizeof(*steps));

	if (!steps)
		return -ENOMEM;
	w->steps = steps;
	steps[w->count++] = (struct walk_step){ path, *key };
	return 0;
}

static void walk_release(struct walk *w)
{
	while (w->count)
		free(w->steps[--w->count].path);
	free(w->steps);
}

/* ---- one directory ---- */

static char *path_join(const char *dir, const char *name)
{
	struct buf b = { 0 };

	if (buf_append_format(&b, "%s%s%s", dir, *dir ? "/" : "", name)) {
		buf_release(&b);
		return NULL;
	}
	return buf_take(&b);
}

static bool is_wanted(const struct engine *e, const char *path,
		      const struct stat *st)
{
	const struct source_rules *o = &e->source.rules;
	uint64_t size = (uint64_t)st->st_size;

	if (!o->cross && st->st_dev != e->source.device)
		return false;
	if (S_ISREG(st->st_mode) &&
	    (size < o->min_size || (o->max_size && size > o->max_size)))
		return false;
	return !source_is_excluded(&e->source, path);
}

static int listing_add(struct listing *l, const struct listing_entry *entry)
{
	struct listing_entry *entries =
		array_with_room(l->entries, l->count, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	l->entries = entries;
	l->entries[l->count++] = *entry;
	return 0;
}

struct reading {
	struct walk *w;
	const char *path; /* of the directory */
	struct listing *listing;
};

static int scan_entry(void *arg, int dir_fd, const char *name)
{
	const struct reading *r = arg;
	struct engine *e = r->w->e;
	struct listing_entry entry = { 0 };
	struct stat st;
	char *path;
	bool walked;
	int err = 0;

	(void)throttle_wait(e, NULL, &e->scan.since_ns);
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno; /* gone meanwhile */
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	path = path_join(r->path, name);
	if (!path)
		return -ENOMEM;
	if (!is_wanted(e, path, &st)) {
		atomic_fetch_add(&e->scan.skipped, S_ISREG(st.st_mode));
		free(path);
		return 0;
	}
	source_get_entry_key(&e->source, dir_fd, name, &st, &entry.key);
	source_get_identity(&st, &entry.identity);
	entry.directory = S_ISDIR(st.st_mode);
	entry.name = strdup(name);
	if (!entry.name || listing_add(r->listing, &entry)) {
		free(entry.name);
		free(path);
		return -ENOMEM;
	}
	walked = entry.directory && !r->w->shallow;
	if (walked)
		err = walk_push(r->w, path, &entry.key);
	if (!walked || err)
		free(path);
	atomic_fetch_add(&e->scan.files_seen, !entry.directory);
	return err;
}

static int compare_names(const void *a, const void *b)
{
	const struct listing_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Takes l, but for -ESTALE. */
static int post_listing(struct engine *e, struct listing *l)
{
	struct event *ev = calloc(1, sizeof(*ev));

	if (!ev) {
		listing_free(l);
		return -ENOMEM;
	}
	if (l->count)
		qsort(l->entries, l->count, sizeof(*l->entries), compare_names);
	ev->kind = EVENT_LISTING;
	ev->listing = l;
	return commit_post(e, ev);
}

static void learn_names(struct walk *w, int dir_fd, const struct listing *l)
{
	struct engine *e = w->e;
	size_t i;

	for (i = 0; i < l->count && !atomic_load(&e->stopping); i++) {
		const struct listing_entry *entry = &l->entries[i];
		struct file_key key = l->directory;
		int fd = names_learn_at(e, dir_fd, entry->name, &key);

		w->lost = w->lost || (fd == -ESTALE && entry->directory);
		if (fd >= 0)
			close(fd);
	}
}

/* What was expected there is somewhere else by now, or gone. */
static void look_elsewhere(struct walk *w, const struct file_key *key)
{
	scan_owe(w->e, key, !w->shallow);
}

static int list_open_directory(struct walk *w, int dir_fd, const char *path,
			       const struct file_key *key)
{
	struct listing *l = calloc(1, sizeof(*l));
	struct reading r = { w, path, l };
	struct stat st;
	int err = l ? 0 : -ENOMEM;

	if (!err && fstat(dir_fd, &st))
		err = -errno;
	if (!err) {
		source_get_key(&w->e->source, dir_fd, &st, &l->directory);
		if (!file_key_equal(&l->directory, key))
			look_elsewhere(w, key);
		l->shallow = w->shallow;
		l->version = commit_names_version(&w->e->commit, &l->directory);
		err = file_each_in(dir_fd, scan_entry, &r);
	}
	if (err) {
		listing_free(l);
		return err;
	}
	err = post_listing(w->e, l);
	if (err == -ESTALE) {
		if (w->learns)
			learn_names(w, dir_fd, l);
		listing_free(l);
	}
	return err;
}

static int list_directory(struct walk *w, const char *path,
			  const struct file_key *key)
{
	int fd = file_open_beneath(w->e->source.fd, path,
				   O_RDONLY | O_DIRECTORY);
	int err;

	if (fd == -ENOENT || fd == -ENOTDIR)
		look_elsewhere(w, key);
	if (fd < 0)
		return fd;
	err = list_open_directory(w, fd, path, key);
	close(fd);
	return err;
}

/* ---- directories that change ---- */

/* tries is how often it was read. */
int scan_add_unsettled(struct scan *s, const char *path,
		       const struct file_key *key, unsigned tries, bool deep)
{
	size_t size = strlen(path) + 1;
	struct unsettled *u = malloc(sizeof(*u) + size), **at;
	int64_t delay_ms = tries < 9 ? SETTLE_MIN_MS << tries : SETTLE_MAX_MS;

	if (!u)
		return -ENOMEM;
	u->key = *key;
	u->tries = tries;
	u->deep = deep;
	u->due_ms = clock_now_ms() + delay_ms;
	memcpy(u->path, path, size);
	for (at = &s->unsettled; *at && (*at)->due_ms <= u->due_ms;)
		at = &(*at)->next;
	u->next = *at;
	*at = u;
	atomic_fetch_add(&s->settling, tries < SETTLE_TRIES);
	return 0;
}

static struct unsettled *unsettled_take(struct scan *s)
{
	struct unsettled *u = s->unsettled;

	s->unsettled = u->next;
	return u;
}

static void unsettled_free(struct scan *s, struct unsettled *u)
{
	atomic_fetch_sub(&s->settling, u->tries < SETTLE_TRIES);
	free(u);
}

/* A directory that cannot be read is passed over; what the catalog knew of it
 * stays.  What found no room comes with the next scan, which is asked for. */
static int scan_directory(struct walk *w, const char *path,
			  const struct file_key *key, unsigned tries)
{
	int err;

	w->lost = false;
	err = list_directory(w, path, key);
	if (err == -ESTALE)
		err = scan_add_unsettled(&w->e->scan, path, key, tries,
					 w->lost);
	if (err == -ENOMEM)
		return err;
	if (err && err != -ENOENT && err != -ENOTDIR && err != -ECANCELED &&
	    err != -ENOBUFS)
		logger_print(&w->e->log, "%s/%s: %s; not scanned",
			     w->e->source.path, path, err_text(err));
	return 0;
}

/* ---- the thread ---- */

static int walk_down(struct walk *w)
{
	struct engine *e = w->e;
	int err = 0;

	while (!err && w->count && !atomic_load(&e->stopping) &&
	       commit_wait_room(e)) {
		struct walk_step step = w->steps[--w->count];

		err = scan_directory(w, step.path, &step.key, 0);
		free(step.path);
		scan_look_at_seen(e);
	}
	return err;
}

static int scan_tree(struct engine *e)
{
	struct walk w = { .e = e, .learns = true };
	char *root = strdup("");
	int err = root ? walk_push(&w, root, &e->source.root) : -ENOMEM;

	if (err)
		free(root);
	atomic_store(&e->scan.files_seen, 0);
	atomic_store(&e->scan.skipped, 0);
	if (!err)
		err = walk_down(&w);
	walk_release(&w);
	return err;
}

static void scan_once(struct engine *e)
{
	struct scan *s = &e->scan;
	int err;

	while (s->unsettled)
		unsettled_free(s, unsettled_take(s));
	err = scan_tree(e);
	if (err)
		logger_print(&e->log, "scan: %s", err_text(err));
	(void)catalog_rest(e->catalog);
	commit_hurry(e);
	atomic_fetch_add(&s->scans, 1);
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->running, false);
	pthread_mutex_unlock(&s->lock);
}

/* Those that are due are read again. */
static void look_at_unsettled(struct engine *e)
{
	struct scan *s = &e->scan;
	int64_t now = clock_now_ms();

	while (s->unsettled && s->unsettled->due_ms <= now &&
	       !atomic_load(&e->stopping)) {
		struct unsettled *u = unsettled_take(s);
		struct walk w = {
			.e = e,
			.shallow = !u->deep,
			.learns = u->deep || !u->tries,
		};
		int err = scan_directory(&w, u->path, &u->key, u->tries + 1);

		if (!err)
			err = walk_down(&w);
		walk_release(&w);
		if (err)
			logger_print(&e->log, "scan: %s", err_text(err));
		unsettled_free(s, u);
	}
}

static bool is_due(const struct scan *s)
{
	return s->unsettled && s->unsettled->due_ms <= clock_now_ms();
}

static void *scan_run(void *arg)
{
	struct engine *e = arg;
	struct scan *s = &e->scan;

	thread_set_name("kinfs-scan");
	thread_enter_background();
	pthread_mutex_lock(&s->lock);
	while (!s->stopped) {
		if (s->wanted) {
			s->wanted = false;
			atomic_store(&s->running, true);
			pthread_mutex_unlock(&s->lock);
			scan_once(e);
			pthread_mutex_lock(&s->lock);
		} else if (s->seen_count) {
			pthread_mutex_unlock(&s->lock);
			scan_look_at_seen(e);
			pthread_mutex_lock(&s->lock);
		} else if (s->owed_count && !s->deferred) {
			pthread_mutex_unlock(&s->lock);
			scan_pay(e);
			pthread_mutex_lock(&s->lock);
		} else if (is_due(s)) {
			pthread_mutex_unlock(&s->lock);
			look_at_unsettled(e);
			pthread_mutex_lock(&s->lock);
		} else {
			s->looking = false;
			cond_wait_until(&s->work, &s->lock,
					s->unsettled ? s->unsettled->due_ms :
						       INT64_MAX);
		}
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

void scan_want(struct engine *e)
{
	struct scan *s = &e->scan;

	pthread_mutex_lock(&s->lock);
	s->wanted = true;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
}

bool scan_is_running(struct scan *s)
{
	bool running;

	pthread_mutex_lock(&s->lock);
	running = s->wanted || atomic_load(&s->running);
	pthread_mutex_unlock(&s->lock);
	return running;
}

bool scan_is_idle(struct scan *s)
{
	bool idle;

	pthread_mutex_lock(&s->lock);
	idle = !s->wanted && !atomic_load(&s->running) && !s->seen_count &&
	       !s->looking && !s->owed_count && !s->paying &&
	       !atomic_load(&s->settling);
	pthread_mutex_unlock(&s->lock);
	return idle;
}

int scan_init(struct scan *s)
{
	int err = -pthread_mutex_init(&s->lock, NULL);

	return err ? err : cond_init_monotonic(&s->work);
}

int scan_start(struct engine *e)
{
	struct scan *s = &e->scan;
	int err = -pthread_create(&s->thread, NULL, scan_run, e);

	s->started = !err;
	return err;
}

void scan_stop(struct engine *e)
{
	struct scan *s = &e->scan;

	pthread_mutex_lock(&s->lock);
	s->stopped = true;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	if (s->started)
		pthread_join(s->thread, NULL);
	s->started = false;
}

void scan_release(struct scan *s)
{
	while (s->unsettled)
		unsettled_free(s, unsettled_take(s));
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
}
