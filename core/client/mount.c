/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/client/client.h"

void mount_release(struct mount *m)
{
	free(m->root);
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

static bool is_visible(const char *point, const struct statx *st)
{
	struct stat now;

	if (stat(point, &now))
		return errno == ENOTCONN; /* its daemon is gone */
	return now.st_dev == makedev(st->stx_dev_major, st->stx_dev_minor);
}

/* A line of mountinfo:
 * ID PARENT MAJOR:MINOR ROOT POINT ... - fuse.kinfs SOURCE OPTIONS */
static int consider(const char *line, const char *path, const struct statx *st,
		    struct mount *out)
{
	const char *type = strstr(line, " - fuse.kinfs "), *below;
	char *root = NULL, *point = NULL;
	unsigned major, minor;
	uint64_t id;
	int err = 0;

	if (type &&
	    sscanf(line, "%" SCNu64 " %*d %u:%u %ms %ms", &id, &major, &minor,
		   &root, &point) == 5 &&
	    major == st->stx_dev_major && minor == st->stx_dev_minor) {
		text_unescape_octal(root);
		text_unescape_octal(point);
		below = path_below(path, point);
		if (id == st->stx_mnt_id && below) {
			out->is_trusted = mount_is_trusted(strrchr(type, ' '));
			if (asprintf(&out->rel, "%s%s%s", root + 1,
				     root[1] && *below ? "/" : "", below) < 0)
				err = -ENOMEM;
		}
		if (!strcmp(root, "/") && is_visible(point, st) &&
		    (!out->root || id == st->stx_mnt_id)) {
			free(out->root);
			out->root = point;
			point = NULL;
		}
	}
	free(root);
	free(point);
	return err;
}

int mount_find(const char *path, struct mount *out)
{
	char *real = realpath(path, NULL), *line = NULL;
	struct mount found = { 0 };
	size_t capacity = 0;
	FILE *file = NULL;
	struct statx st;
	int err = real && !statx(AT_FDCWD, real, 0, STATX_MNT_ID, &st) ? 0 :
									 -errno;

	if (!err && !(file = fopen("/proc/self/mountinfo", "re")))
		err = -errno;
	while (!err && getline(&line, &capacity, file) > 0)
		err = consider(line, real, &st, &found);
	if (!err)
		err = !found.rel  ? -ENODEV :
		      !found.root ? -EXDEV :
				    mount_get_status(found.root, &found.status);
	if (!err)
		err = set_listings(&found);
	if (err)
		mount_release(&found);
	else
		*out = found;
	if (file)
		(void)fclose(file);
	free(line);
	free(real);
	return err;
}
