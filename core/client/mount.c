/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/client/client.h"

#define MOUNTINFO "/proc/self/mountinfo"
#define TYPE "fuse.kinfs"

/* A line of mountinfo; the texts lie in the line. */
struct mount_line {
	unsigned major, minor;
	char *root;    /* what of the file system is mounted there */
	char *point;   /* where */
	char *options; /* of the file system */
};

void mount_release(struct mount *m)
{
	free(m->root);
	free(m->rel);
	free(m->listings);
	json_decref(m->status);
	*m = (struct mount){ 0 };
}

static bool is_octal(const char *p)
{
	return p[0] >= '0' && p[0] <= '3' && p[1] >= '0' && p[1] <= '7' &&
	       p[2] >= '0' && p[2] <= '7';
}

/* The kernel writes blanks, tabs, newlines and backslashes as \ooo. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (*text == '\\' && is_octal(text + 1)) {
			*to++ = (char)((text[1] - '0') << 6 |
				       (text[2] - '0') << 3 | (text[3] - '0'));
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

/* False when it is not a line of a kinfs mount. */
static bool mount_line_parse(char *line, struct mount_line *out)
{
	char *type = strstr(line, " - "), *save = NULL, *numbers, *rest = NULL;

	if (!type || strncmp(type + 3, TYPE " ", sizeof(TYPE)) != 0)
		return false;
	if (!strtok_r(line, " ", &save) || !strtok_r(NULL, " ", &save))
		return false;
	numbers = strtok_r(NULL, " ", &save);
	out->root = strtok_r(NULL, " ", &save);
	out->point = strtok_r(NULL, " ", &save);
	if (!out->point ||
	    sscanf(numbers, "%u:%u", &out->major, &out->minor) != 2)
		return false;
	(void)strtok_r(type + sizeof(" - " TYPE), " ", &rest);
	out->options = strtok_r(NULL, " \n", &rest);
	if (!out->options)
		return false;
	unescape(out->root);
	unescape(out->point);
	return true;
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

/* Another user could mount anything under this name. */
static bool is_trusted(const char *options)
{
	const char *id = strstr(options, "user_id=");
	char *end;
	unsigned long uid;

	if (!id)
		return false;
	uid = strtoul(id + strlen("user_id="), &end, 10);
	return (*end == ',' || !*end) && (uid == 0 || uid == geteuid());
}

/* What is searched for, and the best found so far. */
struct search {
	const char *path; /* absolute, without links */
	dev_t device;
	bool is_trusted; /* the file system */
	char *root;      /* where the whole file system is mounted */
	char *rel;       /* path in it */
	size_t longest;  /* of the mount points that path lies in */
};

static char *join(const char *root, const char *below)
{
	struct buf b = { 0 };

	root += strspn(root, "/");
	if (buf_append_text(&b, root) ||
	    (*root && *below && buf_append_text(&b, "/")) ||
	    buf_append_text(&b, below))
		buf_release(&b);
	return buf_take(&b);
}

static bool is_visible(const char *point, dev_t device)
{
	struct stat st;

	return !stat(point, &st) && st.st_dev == device;
}

/* Of several mounts at one place the last is the one that is seen. */
static int consider(struct search *s, const struct mount_line *line)
{
	const char *below;

	if (makedev(line->major, line->minor) != s->device)
		return 0;
	s->is_trusted = is_trusted(line->options);
	below = path_below(s->path, line->point);
	if (below && strlen(line->point) >= s->longest) {
		s->longest = strlen(line->point);
		free(s->rel);
		s->rel = join(line->root, below);
		if (!s->rel)
			return -ENOMEM;
	}
	if (strcmp(line->root, "/") != 0 || !is_visible(line->point, s->device))
		return 0;
	if (s->root && !below)
		return 0;
	free(s->root);
	s->root = strdup(line->point);
	return s->root ? 0 : -ENOMEM;
}

static int search_result(struct search *s, struct mount *out)
{
	if (!s->rel)
		return -ENODEV;
	if (!s->root)
		return -EXDEV;
	*out = (struct mount){ .root = s->root,
			       .rel = s->rel,
			       .is_trusted = s->is_trusted };
	s->root = s->rel = NULL;
	return 0;
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

int mount_get_status(const char *root, json_t **out)
{
	struct buf text = { 0 };
	json_t *status = NULL;
	int err = mount_get_attribute(root, STATUS_ATTRIBUTE, &text);

	if (!err) {
		status = json_loadb(text.data, text.len, 0, NULL);
		if (!json_is_object(status)) {
			json_decref(status);
			err = -EBADMSG;
		}
	}
	buf_release(&text);
	if (!err)
		*out = status;
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
			strcmp(m->root, "/") != 0 ? m->root : "", name) < 0 ?
		       -ENOMEM :
		       0;
}

/* ---- a path ---- */

int mount_find(const char *path, struct mount *out)
{
	char *real = realpath(path, NULL), *line = NULL;
	struct search s = { .path = real };
	struct mount_line parsed;
	size_t capacity = 0;
	struct stat st;
	FILE *file = NULL;
	int err = real && !stat(real, &st) ? 0 : -errno;

	if (!err && !(file = fopen(MOUNTINFO, "re")))
		err = -errno;
	if (!err)
		s.device = st.st_dev;
	while (!err && getline(&line, &capacity, file) > 0)
		if (mount_line_parse(line, &parsed))
			err = consider(&s, &parsed);
	if (!err)
		err = search_result(&s, out);
	if (!err) {
		err = mount_get_status(out->root, &out->status);
		if (!err)
			err = set_listings(out);
		if (err)
			mount_release(out);
	}
	if (file)
		(void)fclose(file);
	free(line);
	free(s.root);
	free(s.rel);
	free(real);
	return err;
}
