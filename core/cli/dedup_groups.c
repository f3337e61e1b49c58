/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/dedup_groups.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/err.h"
#include "core/base/hex.h"
#include "core/cli/cli.h"

/* A group, as it is read. */
struct group {
	struct dedup_set *sets; /* owned, and what they point to */
	size_t count;
	char *root;    /* owned: that its paths are relative to, or NULL */
	char *outside; /* owned: a path that leads outside */
};

static void group_release(struct group *g)
{
	size_t i;

	while (g->count) {
		struct dedup_set *set = &g->sets[--g->count];

		for (i = 0; i < set->count; i++)
			free((char *)set->paths[i]);
		free((char **)set->paths);
		free((char *)set->xxh128);
	}
	free(g->sets);
	free(g->root);
	free(g->outside);
	*g = (struct group){ 0 };
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

/* Neither "." nor ".." nor nothing between slashes: a path that means what it
 * says. */
static bool is_plain(const char *path)
{
	size_t len;

	for (;; path += len + 1) {
		len = strcspn(path, "/");
		if (!len || (len <= 2 && !strncmp(path, "..", len)))
			return false;
		if (!path[len])
			return true;
	}
}

/* -EXDEV: it leads outside. */
static int make_absolute(const char *root, const char *path, char **out)
{
	char *directory, *absolute = NULL;

	if (!is_plain(*path == '/' ? path + 1 : path) ||
	    (root && *path == '/' && !dedup_is_below(path, root)))
		return -EXDEV;
	if (*path == '/') {
		*out = strdup(path);
		return *out ? 0 : -ENOMEM;
	}
	directory = root ? strdup(root) : getcwd(NULL, 0);
	if (directory &&
	    asprintf(&absolute, "%s/%s",
		     strcmp(directory, "/") ? directory : "", path) < 0)
		absolute = NULL;
	free(directory);
	*out = absolute;
	return absolute ? 0 : -ENOMEM;
}

static int add_file(struct group *g, struct dedup_set *set, const json_t *file)
{
	const char **paths =
		array_with_room((void *)set->paths, set->count, sizeof(*paths));
	char *path = paths ? path_of(file, "path", "path_hex") : NULL,
	     *absolute = NULL;
	int err = path ? make_absolute(g->root, path, &absolute) : -EINVAL;

	if (!paths)
		return -ENOMEM;
	set->paths = paths;
	if (err == -EXDEV) {
		free(g->outside);
		g->outside = path;
		return err;
	}
	free(path);
	if (!err)
		paths[set->count++] = absolute;
	return err;
}

static int add_content(const json_t *member, struct dedup_set *set)
{
	const json_t *size = json_object_get(member, "size");
	const char *hash = json_string_value(json_object_get(member, "xxh128"));
	uint8_t bytes[16];

	if (json_is_integer(size) && json_integer_value(size) >= 0) {
		set->has_size = true;
		set->size = (uint64_t)json_integer_value(size);
	}
	if (!hash)
		return 0;
	if (strlen(hash) != 32 || hex_decode(hash, 32, bytes, 16))
		return -EINVAL;
	set->xxh128 = strdup(hash);
	return set->xxh128 ? 0 : -ENOMEM;
}

static int add_member(struct group *g, const json_t *member)
{
	struct dedup_set *sets = array_with_room(g->sets, g->count,
						 sizeof(*sets)),
			 *set;
	const json_t *files = json_object_get(member, "files");
	size_t i;
	int err;

	if (!sets)
		return -ENOMEM;
	g->sets = sets;
	set = &sets[g->count++];
	*set = (struct dedup_set){ 0 };
	err = json_is_array(files) ? add_content(member, set) : -EINVAL;
	for (i = 0; !err && i < json_array_size(files); i++)
		err = add_file(g, set, json_array_get(files, i));
	return err;
}

/* The root that the group's paths are relative to, if it or the user says so.
 * -ENODEV: they say different things. */
static int find_root(const struct dedup_groups *reader, struct group *g,
		     const json_t *object)
{
	g->root = path_of(object, "root", "root_hex");
	if (!g->root && reader->root) {
		g->root = strdup(reader->root);
		return g->root ? 0 : -ENOMEM;
	}
	if (g->root && reader->root && strcmp(g->root, reader->root) != 0)
		return -ENODEV;
	return g->root && *g->root != '/' ? -EINVAL : 0;
}

static int take_line(const struct dedup_groups *reader, const char *line,
		     size_t len, struct group *g)
{
	json_t *object = json_loadb(line, len, 0, NULL);
	const json_t *members = json_object_get(object, "members");
	size_t i;
	int err = json_is_array(members) ? 0 : -EINVAL;

	/* The last line of kin groups --json has the totals. */
	if (err && json_is_object(json_object_get(object, "totals")))
		err = 0;
	if (!err)
		err = find_root(reader, g, object);
	for (i = 0; !err && i < json_array_size(members); i++)
		err = add_member(g, json_array_get(members, i));
	if (!err && g->count)
		err = reader->take(reader->arg, g->sets, g->count);
	json_decref(object);
	return err;
}

static void explain(const struct dedup_groups *reader, const char *path,
		    size_t line, int err, const struct group *g)
{
	if (err == -ENODEV)
		complain(path,
			 "line %zu: the groups were made of %s, not of %s; "
			 "nothing was changed",
			 line, g->root, reader->root);
	else if (err == -EXDEV && g->root)
		complain(g->outside,
			 "line %zu of %s: the path leads outside of %s; "
			 "nothing was changed",
			 line, path, g->root);
	else if (err == -EXDEV)
		complain(g->outside,
			 "line %zu of %s: not a plain path; nothing was "
			 "changed",
			 line, path);
	else if (err == -EINVAL)
		complain(path,
			 "line %zu is not a group as kin groups --json prints "
			 "it; nothing was changed",
			 line);
	else
		complain_errno(path, err);
}

/* What kin groups says of a mount, as if it were read from a pipe. */
static FILE *ask_mount(const struct dedup_groups *reader, const char *mount,
		       pid_t *child_out)
{
	const char *argv[] = { "kin", "groups", "--json", "--exact",
			       "--",  mount,    NULL };
	int ends[2];
	pid_t child;

	if (!reader->exact) {
		argv[3] = "--";
		argv[4] = mount;
		argv[5] = NULL;
	}
	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	child = fork();
	if (!child) {
		(void)dup2(ends[1], STDOUT_FILENO);
		execv("/proc/self/exe", (char *const *)argv);
		_exit(EXIT_FAILED);
	}
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return NULL;
	}
	*child_out = child;
	return fdopen(ends[0], "re");
}

/* It says itself why it failed; EXIT_INCOMPLETE means that files are not hashed
 * yet. */
static int wait_for(pid_t child, const char *mount)
{
	int status;

	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return EXIT_FAILED;
	if (WEXITSTATUS(status) == EXIT_INCOMPLETE)
		complain(mount, "not all files are hashed: there may be more "
				"copies");
	return WEXITSTATUS(status) && WEXITSTATUS(status) != EXIT_INCOMPLETE ?
		       EXIT_FAILED :
		       EXIT_OK;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && !stat(path, &st) &&
	       S_ISDIR(st.st_mode);
}

static FILE *open_groups(const struct dedup_groups *reader, const char *path,
			 pid_t *child_out)
{
	*child_out = 0;
	if (is_directory(path))
		return ask_mount(reader, path, child_out);
	return strcmp(path, "-") ? fopen(path, "re") : stdin;
}

int dedup_groups_read(const struct dedup_groups *reader, const char *path)
{
	pid_t child;
	FILE *file = open_groups(reader, path, &child);
	struct group g = { 0 };
	char *line = NULL;
	size_t room = 0, number = 0;
	ssize_t len;
	int err = 0, code;

	if (!file) {
		complain_errno(path, -errno);
		return EXIT_FAILED;
	}
	while (!err && (len = getline(&line, &room, file)) > 0) {
		group_release(&g);
		number++;
		err = take_line(reader, line, (size_t)len, &g);
	}
	if (!err && ferror(file))
		err = -EIO;
	if (err)
		explain(reader, path, number, err, &g);
	group_release(&g);
	free(line);
	if (file != stdin)
		fclose(file);
	code = child ? wait_for(child, path) : EXIT_OK;
	return err ? EXIT_FAILED : code;
}
