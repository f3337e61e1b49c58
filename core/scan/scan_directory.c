/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/scan/scan_impl.h"
#include "core/source/file.h"

struct scan_step {
	char *path;
	struct file_key key; /* of the directory that was at the path */
};

struct scan_walk {
	struct scanner *s;
	bool shallow;       /* directories below the first are not read */
	bool reports_names; /* post the names of a directory that changes */
	unsigned tries;     /* of the first directory */
	bool lost;          /* the name of a directory could not be posted */
	struct scan_step *steps; /* a stack of directories to be read */
	size_t count;
};

static int walk_push(struct scan_walk *w, const char *path,
		     const struct file_key *key)
{
	struct scan_step *steps =
		array_with_room(w->steps, w->count, sizeof(*steps));
	char *copy = strdup(path);

	if (steps)
		w->steps = steps;
	if (!steps || !copy) {
		free(copy);
		return -ENOMEM;
	}
	steps[w->count++] = (struct scan_step){ copy, *key };
	return 0;
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

/* st: NULL for an entry that cannot be looked at, with the error. */
static int add_entry(struct scan_walk *w, struct source_listing *l, int dir_fd,
		     const char *path, const struct stat *st, int error)
{
	struct scanner *s = w->s;
	const char *slash = strrchr(path, '/');
	struct source_entry entry = {
		.error = error,
		.directory = st && S_ISDIR(st->st_mode),
		.name = strdup(slash ? slash + 1 : path),
	};

	if (!entry.name)
		return -ENOMEM;
	if (st) {
		source_get_entry_key(s->context.source, dir_fd, entry.name, st,
				     &entry.key);
		entry.known_by_name =
			source_get_numbers(s->context.source, dir_fd,
					   entry.name, st) == NUMBERS_MADE_UP;
		source_get_identity(st, &entry.identity);
	}
	if (source_listing_add(l, &entry)) {
		free(entry.name);
		return -ENOMEM;
	}
	atomic_fetch_add(&s->files, !entry.directory);
	if (!entry.directory || w->shallow)
		return 0;
	return walk_push(w, path, &entry.key);
}

static int read_entry(struct scan_walk *w, struct source_listing *l, int dir_fd,
		      const char *directory, const char *name)
{
	struct scanner *s = w->s;
	const struct source *source = s->context.source;
	struct stat st;
	char *path;
	int err = 0, error;

	gate_pass(&s->gate);
	if (strlen(name) > NAME_MAX) /* some filesystems have such names */
		error = ENAMETOOLONG;
	else
		error = fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) ?
				errno :
				0;
	if (error == ENOENT) /* gone meanwhile */
		return 0;
	if (!error && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	path = path_join(directory, name);
	if (!path)
		return -ENOMEM;
	if (error ? source_is_excluded(source, path) :
		    source_skip_rule(source, path, &st) != NULL)
		atomic_fetch_add(&s->skipped, 1);
	else
		err = add_entry(w, l, dir_fd, path, error ? NULL : &st, error);
	free(path);
	return err;
}

static void report_names(struct scan_walk *w, int dir_fd,
			 const struct source_listing *l)
{
	size_t i;

	for (i = 0; i < l->count && !scan_is_stopping(w->s); i++) {
		const struct source_entry *entry = &l->entries[i];
		struct file_key key = l->directory;
		int fd;

		if (entry->error)
			continue;
		fd = scan_report_name(w->s, dir_fd, entry->name, &key);
		w->lost = w->lost || (fd == -ESTALE && entry->directory);
		if (fd >= 0)
			close(fd);
	}
}

/* The directory has moved from its path, is gone, or a mount point hides it. */
static void request_moved(struct scan_walk *w, const struct file_key *key)
{
	const struct scan_request r = {
		.key = *key, .deep = !w->shallow, .tries = w->tries, .fd = -1
	};

	if (w->tries < EARLY_TRIES)
		scan_add_request(w->s, &r);
	else
		scan_request_tree(w->s);
}

/* Reads the entries up to the first error of the directory itself. */
static int read_listing(struct scan_walk *w, int dir_fd, const char *path,
			const struct file_key *key, struct source_listing *l)
{
	const struct engine_parts *c = &w->s->context;
	struct stat st;
	const char *name;
	DIR *names;
	int err, apart;

	if (fstat(dir_fd, &st))
		return -errno;
	source_get_key(c->source, dir_fd, &st, &l->directory);
	if (!file_key_equal(&l->directory, key))
		request_moved(w, key);
	l->version = events_names_version(c->events, &l->directory);
	err = file_names_begin(dir_fd, &names);
	if (err)
		return err;
	while (!err && (err = file_names_next(names, &name)) == 1)
		err = read_entry(w, l, dir_fd, path, name);
	closedir(names);
	apart = source_listing_tell_apart(l, !err, timespec_to_ns(&st.st_mtim));
	return err ? err : apart;
}

/* Logs what could not be looked at, or has it tried again. */
static void note_unread(struct scan_walk *w, const char *path,
			const struct source_listing *l)
{
	const struct engine_parts *c = &w->s->context;
	int lack = err_is_lack(l->error) ? l->error : 0;
	size_t i, count = 0, first = 0;

	for (i = l->count; i-- > 0;)
		if (err_is_lack(l->entries[i].error)) {
			lack = l->entries[i].error;
		} else if (l->entries[i].error) {
			first = i;
			count++;
		}
	if (lack)
		scan_note_lack(w->s, path, lack);
	if (l->error && !err_is_lack(l->error))
		logger_print(c->log, "%s/%s: %s; not scanned completely",
			     c->source->path, path, err_text(l->error));
	if (count)
		logger_print(c->log,
			     "%s/%s: %zu of the entries could not be looked "
			     "at; %s: %s",
			     c->source->path, path, count,
			     l->entries[first].name,
			     err_text(l->entries[first].error));
}

static int post_listing(struct scan_walk *w, int dir_fd, const char *path,
			struct source_listing *l)
{
	struct event *ev = event_new(EVENT_LISTING, NULL);
	int err;

	source_listing_sort(l);
	note_unread(w, path, l);
	if (ev)
		ev->listing = l;
	else
		source_listing_free(l);
	err = events_post(w->s->context.events, ev);
	if (err == -ESTALE) {
		if (w->reports_names)
			report_names(w, dir_fd, l);
		source_listing_free(l);
	}
	return err;
}

/* -ESTALE: names in it changed meanwhile. */
static int list_directory(struct scan_walk *w, const char *path,
			  const struct file_key *key)
{
	const struct engine_parts *c = &w->s->context;
	int fd = file_open_beneath(c->source->fd, path, O_RDONLY | O_DIRECTORY);
	struct source_listing *l;
	int err;

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP) {
		request_moved(w, key);
		return 0;
	}
	l = calloc(1, sizeof(*l));
	if (l) {
		l->directory = *key;
		l->shallow = w->shallow;
		l->version = events_names_version(c->events, key);
		l->error = -(fd < 0 ? fd : read_listing(w, fd, path, key, l));
		err = post_listing(w, fd, path, l);
	} else {
		err = events_post(c->events, NULL);
	}
	if (fd >= 0)
		close(fd);
	return err;
}

/* An error of the directory does not end the walk. */
static void scan_directory(struct scan_walk *w, const char *path,
			   const struct file_key *key, unsigned tries)
{
	w->lost = false;
	if (list_directory(w, path, key) == -ESTALE)
		scan_add_request(w->s, &(struct scan_request){ .key = *key,
							       .deep = w->lost,
							       .tries = tries,
							       .fd = -1 });
}

void scan_walk(struct scanner *s, const char *path, const struct file_key *key,
	       unsigned tries, bool deep)
{
	struct scan_walk w = {
		.s = s,
		.shallow = !deep,
		.reports_names = deep || tries == 1,
		.tries = tries,
	};

	scan_directory(&w, path, key, tries);
	while (w.count && !scan_is_stopping(s) &&
	       events_wait_room(s->context.events)) {
		struct scan_step step = w.steps[--w.count];

		scan_check_seen(s);
		scan_directory(&w, step.path, &step.key, 0);
		free(step.path);
	}
	while (w.count)
		free(w.steps[--w.count].path);
	free(w.steps);
}
