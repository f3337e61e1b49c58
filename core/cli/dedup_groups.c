/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/dedup_groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/err.h"
#include "core/base/hex.h"
#include "core/cli/cli.h"

struct path_list {
	char **paths;
	size_t count;
};

static void path_list_release(struct path_list *l)
{
	while (l->count)
		free(l->paths[--l->count]);
	free(l->paths);
	l->paths = NULL;
}

/* "path", or "root" of a group; "path_hex" has the bytes of one that is not
 * UTF-8. */
static char *path_of(const json_t *object, const char *key, const char *hex_key)
{
	const char *hex = json_string_value(json_object_get(object, hex_key));
	const char *text = json_string_value(json_object_get(object, key));
	size_t len = hex ? strlen(hex) / 2 : 0;
	char *path;

	if (!hex)
		return text ? strdup(text) : NULL;
	path = calloc(1, len + 1);
	if (path && hex_decode(hex, strlen(hex), (uint8_t *)path, len)) {
		free(path);
		return NULL;
	}
	return path;
}

/* A path of a group is relative to the root of its mount, or without one to the
 * current directory.  Takes the path. */
static char *make_absolute(char *path, const json_t *group)
{
	char *directory, *absolute = NULL;

	if (!path || *path == '/')
		return path;
	directory = path_of(group, "root", "root_hex");
	if (!directory)
		directory = getcwd(NULL, 0);
	if (directory && asprintf(&absolute, "%s/%s", directory, path) < 0)
		absolute = NULL;
	free(directory);
	free(path);
	return absolute;
}

static int add_file(struct path_list *l, const json_t *group,
		    const json_t *file)
{
	char **paths = array_with_room(l->paths, l->count, sizeof(*paths));
	char *path = make_absolute(path_of(file, "path", "path_hex"), group);

	if (paths)
		l->paths = paths;
	if (!paths || !path) {
		free(path);
		return paths ? -EINVAL : -ENOMEM;
	}
	paths[l->count++] = path;
	return 0;
}

static int take_member(const json_t *group, const json_t *member,
		       int (*take)(void *arg, const char *const *paths,
				   size_t count),
		       void *arg)
{
	const json_t *files = json_object_get(member, "files"), *file;
	struct path_list l = { 0 };
	size_t i;
	int err = json_is_array(files) ? 0 : -EINVAL;

	for (i = 0; !err && i < json_array_size(files); i++) {
		file = json_array_get(files, i);
		err = add_file(&l, group, file);
	}
	if (!err && l.count > 1)
		err = take(arg, (const char *const *)l.paths, l.count);
	path_list_release(&l);
	return err;
}

static int take_line(const char *line, size_t len,
		     int (*take)(void *arg, const char *const *paths,
				 size_t count),
		     void *arg)
{
	json_t *group = json_loadb(line, len, 0, NULL);
	const json_t *members = json_object_get(group, "members");
	size_t i;
	int err = json_is_array(members) ? 0 : -EINVAL;

	/* The last line of kin groups --json has the totals. */
	if (err && json_object_get(group, "totals"))
		err = 0;
	for (i = 0; !err && i < json_array_size(members); i++)
		err = take_member(group, json_array_get(members, i), take, arg);
	json_decref(group);
	return err;
}

int dedup_groups_read(const char *path,
		      int (*take)(void *arg, const char *const *paths,
				  size_t count),
		      void *arg)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	char *line = NULL;
	size_t room = 0, number = 0;
	ssize_t len;
	int err = 0;

	if (!file) {
		complain_errno(path, -errno);
		return EXIT_FAILED;
	}
	while (!err && (len = getline(&line, &room, file)) > 0) {
		number++;
		err = take_line(line, (size_t)len, take, arg);
	}
	if (!err && ferror(file))
		err = -EIO;
	free(line);
	if (file != stdin)
		fclose(file);
	if (err == -EINVAL)
		complain(path,
			 "line %zu is not a group as kin groups --json prints "
			 "it; nothing was changed",
			 number);
	else if (err)
		complain_errno(path, err);
	return err ? EXIT_FAILED : EXIT_OK;
}
