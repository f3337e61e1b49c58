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
#include "core/cli/groups/groups_ask.h"
#include "core/cli/progress.h"

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
 * -ENODEV: they say different things. */
static int find_root(const struct dedup_groups *reader, struct group *g,
		     const char *root)
{
	if (root && reader->root && strcmp(root, reader->root) != 0)
		return -ENODEV;
	root = root ? root : reader->root;
	g->root = root ? strdup(root) : NULL;
	return root && !g->root ? -ENOMEM : 0;
}

static int take_group(const struct dedup_groups *reader,
		      const struct groups *from, struct group *g)
{
	size_t i;
	int err = find_root(reader, g, from->root);

	for (i = 0; !err && i < from->group.count; i++)
		err = add_member(reader, g, &from->group.members[i]);
	return err || !g->count ? err :
				  reader->take(reader->arg, g->sets, g->count);
}

/* A message about a file of groups that cannot be used, and why. */
static void explain(const struct dedup_groups *reader, const char *path,
		    int err, const struct groups *from, const struct group *g)
{
	const size_t line = from->file.number;

	if (err == -ENODEV)
		cli_complain(path,
			     "line %zu: the groups were made of %s, not of %s; "
			     "nothing was changed",
			     line, from->root, reader->root);
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

/* A negative errno, or the end. */
static int take_groups(const struct dedup_groups *reader, struct groups *from,
		       struct group *g)
{
	int event;

	while ((event = progress_groups_next(from, "searching for copies",
					     false)) > 0) {
		group_release(g);
		event = take_group(reader, from, g);
		if (event)
			break;
	}
	progress_clear();
	return event;
}

static int read_file(const struct dedup_groups *reader, const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	struct group g = { 0 };
	struct groups from;
	int err;

	if (!file) {
		cli_complain_errno(path, -errno);
		return EXIT_FAILED;
	}
	groups_read(&from, file);
	err = take_groups(reader, &from, &g);
	if (err)
		explain(reader, path, err, &from, &g);
	group_release(&g);
	groups_close(&from);
	if (file != stdin)
		fclose(file);
	return err ? EXIT_FAILED : EXIT_OK;
}

static int ask_mount(const struct dedup_groups *reader,
		     struct groups_asking *asking, struct groups *from)
{
	int code = groups_asking_begin(asking, from), err;
	struct group g = { 0 };

	if (code)
		return code;
	err = take_groups(reader, from, &g);
	group_release(&g);
	if (err == -ENODEV)
		cli_complain(from->root,
			     "not the mount %s; nothing was changed",
			     reader->root);
	else if (err)
		return groups_asking_failed(asking, err);
	/* Files that are not hashed yet are no error here. */
	else if (from->totals.incomplete)
		cli_complain(from->root, "not all files are hashed: there may "
					 "be more copies");
	return err ? EXIT_FAILED : EXIT_OK;
}

int dedup_groups_read(const struct dedup_groups *reader, char *path)
{
	struct groups_asking asking = { .wish = { .exact = reader->exact,
						  .vcs = reader->vcs } };
	char *operands[] = { path, NULL };
	struct groups from = { 0 };
	int code;

	if (!is_directory(path))
		return read_file(reader, path);
	code = groups_asking_operands(&asking, &command_dedup, operands);
	if (!code)
		code = ask_mount(reader, &asking, &from);
	groups_close(&from);
	groups_asking_release(&asking);
	return code;
}
