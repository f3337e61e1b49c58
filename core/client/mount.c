/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/client/client.h"

void mount_release(struct mount *m)
{
	free(m->root);
	free(m->point);
	free(m->rel);
	free(m->listings);
	json_decref(m->status);
	*m = (struct mount){ 0 };
}

const char *path_below(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	if (!strcmp(prefix, "/"))
		return path + 1;
	if (strncmp(path, prefix, len) != 0)
		return NULL;
	if (!path[len])
		return path + len;
	return path[len] == '/' ? path + len + 1 : NULL;
}

/* ---- what it tells ---- */

/* With room for the largest value there is, one question is enough: asking for
 * the size first costs as much, and the value may grow in between. */
int mount_get_attribute(const char *path, const char *name, struct buf *out)
{
	ssize_t len;
	int err;

	buf_clear(out);
	err = buf_reserve(out, XATTR_SIZE_MAX + 1);
	if (err)
		return err;
	len = getxattr(path, name, out->data, XATTR_SIZE_MAX);
	if (len < 0)
		return -errno;
	out->len = (size_t)len;
	out->data[len] = '\0';
	return 0;
}

int mount_ask_attribute(const struct mount *m, const char *rel,
			const char *name, struct buf *out)
{
	char *path;
	int err;

	if (asprintf(&path, "%s/%s", m->point, rel) < 0)
		return -ENOMEM;
	err = mount_get_attribute(path, name, out);
	free(path);
	return err;
}

int mount_get_status(const char *root, json_t **out)
{
	struct buf text = { 0 };
	int err = mount_get_attribute(root, STATUS_ATTRIBUTE, &text);
	json_t *status = err ? NULL : json_loadb(text.data, text.len, 0, NULL);

	buf_release(&text);
	if (json_is_object(status)) {
		*out = status;
		return 0;
	}
	json_decref(status);
	return err ? err : -EBADMSG;
}

struct status_wait {
	char *root;
	json_t *status;
	int err;
	sem_t done;
};

static void status_wait_free(struct status_wait *w)
{
	free(w->root);
	sem_destroy(&w->done);
	free(w);
}

static void *status_wait_run(void *arg)
{
	struct status_wait *w = arg;

	w->err = mount_get_status(w->root, &w->status);
	sem_post(&w->done);
	return NULL;
}

int mount_get_status_within(const char *root, int seconds, json_t **out)
{
	struct status_wait *w = calloc(1, sizeof(*w));
	struct timespec end;
	pthread_t thread;
	int err;

	if (!w)
		return -ENOMEM;
	sem_init(&w->done, 0, 0);
	w->root = strdup(root);
	err = w->root ? -pthread_create(&thread, NULL, status_wait_run, w) :
			-ENOMEM;
	if (err) {
		status_wait_free(w);
		return err;
	}
	pthread_detach(thread);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	while (sem_clockwait(&w->done, CLOCK_MONOTONIC, &end))
		if (errno != EINTR)
			return -ETIMEDOUT; /* the thread has w */
	err = w->err;
	*out = w->status;
	status_wait_free(w);
	return err;
}

char *mount_get_place(const struct mount *m, const char *object,
		      const char *key)
{
	const json_t *from =
		object ? json_object_get(m->status, object) : m->status;
	const char *path = json_string_value(json_object_get(from, key));

	return m->is_trusted && path ? strdup(path) : NULL;
}

static int set_listings(struct mount *m)
{
	const char *name =
		json_string_value(json_object_get(m->status, "similar_name"));

	if (!name)
		return 0;
	if (strchr(name, '/') || !text_is_plain_path(name))
		return -EBADMSG;
	return asprintf(&m->listings, "%s/%s",
			strcmp(m->point, "/") != 0 ? m->point : "", name) < 0 ?
		       -ENOMEM :
		       0;
}

/* ---- a path ---- */

/* Another user could mount anything under this name. */
bool mount_is_trusted(const char *options)
{
	const char *id = strstr(options, "user_id=");
	char *end;
	unsigned long uid;

	if (!id)
		return false;
	uid = strtoul(id + strlen("user_id="), &end, 10);
	return strchr(",\n", *end) && (uid == 0 || uid == geteuid());
}

/* A line of mountinfo:
 * ID PARENT MAJOR:MINOR ROOT POINT ... - fuse.kinfs SOURCE OPTIONS */
struct mount_line {
	uint64_t id;
	unsigned major, minor;
	char *root, *point, *source; /* owned */
	bool is_trusted;
};

static void line_release(struct mount_line *l)
{
	free(l->root);
	free(l->point);
	free(l->source);
}

/* Whether it is that of a kinfs; released in any case. */
static bool line_parse(const char *text, struct mount_line *l)
{
	const char *type = strstr(text, " - fuse.kinfs ");

	*l = (struct mount_line){ 0 };
	if (!type ||
	    sscanf(text, "%" SCNu64 " %*d %u:%u %ms %ms", &l->id, &l->major,
		   &l->minor, &l->root, &l->point) != 5 ||
	    sscanf(type, " - fuse.kinfs %ms", &l->source) != 1)
		return false;
	text_unescape_octal(l->root);
	text_unescape_octal(l->point);
	text_unescape_octal(l->source);
	l->is_trusted = mount_is_trusted(strrchr(type, ' '));
	return true;
}

static bool is_visible(const struct mount_line *l)
{
	struct stat now;

	if (stat(l->point, &now))
		return errno == ENOTCONN; /* its daemon is gone */
	return now.st_dev == makedev(l->major, l->minor);
}

static void take_string(char **to, char **from)
{
	free(*to);
	*to = *from;
	*from = NULL;
}

static int consider(struct mount_line *l, const char *path,
		    const struct statx *st, struct mount *out)
{
	const char *below = path_below(path, l->point);

	if (l->major != st->stx_dev_major || l->minor != st->stx_dev_minor)
		return 0;
	if (l->id == st->stx_mnt_id && below) {
		out->is_trusted = l->is_trusted;
		if (asprintf(&out->rel, "%s%s%s", l->root + 1,
			     l->root[1] && *below ? "/" : "", below) < 0)
			return -ENOMEM;
	}
	if (!strcmp(l->root, "/") && is_visible(l) &&
	    (!out->point || l->id == st->stx_mnt_id))
		take_string(&out->point, &l->point);
	return 0;
}

/* Whether a daemon knows the files at and below the path of its SOURCE: it may
 * have left that out, as another file system, or by its options. */
static bool has_path(const struct mount *m)
{
	struct buf state = { 0 };
	int err = mount_ask_attribute(m, m->rel, STATE_ATTRIBUTE, &state);
	bool has = err ? err == -ENODATA :
			 strncmp(state.data, "skipped:", strlen("skipped:"));

	buf_release(&state);
	return has;
}

/* Of several with the path in SOURCE, that with the longest path of SOURCE. */
static int consider_source(struct mount_line *l, const char *path,
			   struct mount *out)
{
	const char *below = path_below(path, l->source);
	struct mount m = { .is_trusted = true };
	char *source;
	bool is_it;

	if (!below || !l->is_trusted || strcmp(l->root, "/") != 0 ||
	    (out->root && strlen(l->source) <= strlen(out->root)) ||
	    !is_visible(l) || mount_get_status(l->point, &m.status))
		return 0;
	source = mount_get_place(&m, NULL, "source");
	m.rel = strdup(below);
	take_string(&m.point, &l->point);
	is_it = m.rel && source && !strcmp(source, l->source) && has_path(&m);
	take_string(&m.root, &source);
	if (!is_it) {
		mount_release(&m);
		return 0;
	}
	mount_release(out);
	*out = m;
	return 0;
}

/* Looks at all mounts: st: for the one that path is in, else for its SOURCE. */
static int consider_all(const char *path, const struct statx *st,
			struct mount *out)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	int err = file ? 0 : -errno;
	struct mount_line line;
	char *text = NULL;
	size_t capacity = 0;

	while (!err && getline(&text, &capacity, file) > 0) {
		if (line_parse(text, &line))
			err = st ? consider(&line, path, st, out) :
				   consider_source(&line, path, out);
		line_release(&line);
	}
	if (file)
		(void)fclose(file);
	free(text);
	return err;
}

static int find(const char *path, const struct statx *st, struct mount *out)
{
	int err = consider_all(path, st, out);

	if (!err && out->rel) {
		out->root = out->point ? strdup(out->point) : NULL;
		return !out->point ? -EXDEV :
		       !out->root  ? -ENOMEM :
				     mount_get_status(out->point, &out->status);
	}
	mount_release(out);
	if (!err)
		err = consider_all(path, NULL, out);
	return !err && !out->rel ? -ENODEV : err;
}

int mount_find(const char *path, struct mount *out)
{
	char *real = realpath(path, NULL);
	struct mount found = { 0 };
	struct statx st;
	int err = real && !statx(AT_FDCWD, real, 0, STATX_MNT_ID, &st) ? 0 :
									 -errno;

	if (!err)
		err = find(real, &st, &found);
	if (!err)
		err = set_listings(&found);
	if (err)
		mount_release(&found);
	else
		*out = found;
	free(real);
	return err;
}
