/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/groups/dedup_groups.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/cli/groups/groups_pipe.h"
#include "core/groups/groups.h"

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

/* -EXDEV: it leads outside. */
static int make_absolute(const char *root, const char *path, char **out)
{
	char *directory, *absolute = NULL;

	if (!text_is_plain_path(*path == '/' ? path + 1 : path) ||
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

static int add_file(struct group *g, struct dedup_set *set, const char *path)
{
	const char **paths =
		array_with_room((void *)set->paths, set->count, sizeof(*paths));
	char *absolute;
	int err;

	if (!paths)
		return -ENOMEM;
	set->paths = paths;
	err = make_absolute(g->root, path, &absolute);
	if (!err)
		paths[set->count++] = absolute;
	if (err == -EXDEV) {
		free(g->outside);
		g->outside = strdup(path);
	}
	return err;
}

static int add_member(const struct dedup_groups *reader, struct group *g,
		      const struct found_member *m)
{
	struct dedup_set *sets = array_with_room(g->sets, g->count,
						 sizeof(*sets)),
			 *set;
	size_t i, k;
	int err = 0;

	if (!sets)
		return -ENOMEM;
	g->sets = sets;
	set = &sets[g->count++];
	*set = (struct dedup_set){ .has_size = m->has_size, .size = m->size };
	if (*m->xxh128 && !(set->xxh128 = strdup(m->xxh128)))
		return -ENOMEM;
	for (i = 0; !err && i < m->file_count; i++) {
		const struct found_file *f = &m->files[i];

		if (!reader->vcs && keep_is_internal(f->path))
			continue;
		err = add_file(g, set, f->path);
		for (k = 0; !err && k < f->link_count; k++)
			err = add_file(g, set, f->links[k]);
	}
	return err;
}

/* The root that the group's paths are relative to, if it or the user says so.
 * Takes that of the line.  -ENODEV: they say different things. */
static int find_root(const struct dedup_groups *reader, struct group *g,
		     struct groups_line *line)
{
	g->root = line->root;
	line->root = NULL;
	if (!g->root && reader->root) {
		g->root = strdup(reader->root);
		return g->root ? 0 : -ENOMEM;
	}
	return g->root && reader->root && strcmp(g->root, reader->root) != 0 ?
		       -ENODEV :
		       0;
}

static int take_line(const struct dedup_groups *reader, const char *text,
		     size_t len, struct group *g)
{
	struct groups_line line = { 0 };
	size_t i;
	int err = groups_line_parse(text, len, &line);

	if (!err)
		err = find_root(reader, g, &line);
	for (i = 0; !err && i < line.group.count; i++)
		err = add_member(reader, g, &line.group.members[i]);
	if (!err && g->count)
		err = reader->take(reader->arg, g->sets, g->count);
	groups_line_release(&line);
	return err;
}

static void explain(const struct dedup_groups *reader, const char *path,
		    size_t line, int err, const struct group *g)
{
	if (err == -ENODEV)
		cli_complain(path,
			     "line %zu: the groups were made of %s, not of %s; "
			     "nothing was changed",
			     line, g->root, reader->root);
	else if (err == -EXDEV && g->root)
		cli_complain(g->outside,
			     "line %zu of %s: the path leads outside of %s; "
			     "nothing was changed",
			     line, path, g->root);
	else if (err == -EXDEV)
		cli_complain(g->outside,
			     "line %zu of %s: not a plain path; nothing was "
			     "changed",
			     line, path);
	else if (err == -EINVAL)
		cli_complain(
			path,
			"line %zu is not a group as kin groups --json prints "
			"it; nothing was changed",
			line);
	else
		cli_complain_errno(path, err);
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
	const char *options[5] = { 0 };
	size_t count = 0;

	*child_out = 0;
	if (is_directory(path)) {
		if (reader->exact)
			options[count++] = "--exact";
		if (reader->vcs)
			options[count++] = "--vcs";
		options[count++] = "--";
		options[count] = path;
		return groups_pipe_open(options, child_out);
	}
	return strcmp(path, "-") ? fopen(path, "re") : stdin;
}

/* Files that are not hashed yet are no error here. */
static int wait_for(pid_t child, const char *mount)
{
	int code = groups_pipe_wait(child);

	if (code == EXIT_INCOMPLETE)
		cli_complain(mount,
			     "not all files are hashed: there may be more "
			     "copies");
	return code && code != EXIT_INCOMPLETE ? EXIT_FAILED : EXIT_OK;
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
		cli_complain_errno(path, -errno);
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
