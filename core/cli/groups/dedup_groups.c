/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/groups/dedup_job.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/cli/groups/groups_ask.h"
#include "core/cli/progress.h"
#include "core/cli/table.h"

/* Makes a path of a group absolute, in place.  -EXDEV: it leads outside of root,
 * or is not plain. */
static int make_absolute(const char *root, char **path_io)
{
	const char *path = *path_io;
	char *directory, *absolute = NULL;

	if (!text_is_plain_path(*path == '/' ? path + 1 : path) ||
	    (root && *path == '/' && !dedup_is_below(path, root)))
		return -EXDEV;
	if (*path == '/')
		return 0;
	directory = root ? strdup(root) : getcwd(NULL, 0);
	if (directory &&
	    asprintf(&absolute, "%s/%s",
		     strcmp(directory, "/") ? directory : "", path) < 0)
		absolute = NULL;
	free(directory);
	if (!absolute)
		return -ENOMEM;
	free(*path_io);
	*path_io = absolute;
	return 0;
}

/* The names of the group's files, a set for each member.  *outside: a path that
 * is refused. */
static int make_sets(const struct dedup_job *job, const char *root,
		     struct found_group *group, struct dedup_set *sets,
		     const char **names, const char **outside)
{
	size_t i, k, l;
	int err;

	for (i = 0; i < group->count; i++) {
		struct found_member *m = &group->members[i];

		sets[i] = (struct dedup_set){
			.paths = names,
			.has_size = m->has_size,
			.size = m->size,
			.xxh128 = *m->xxh128 ? m->xxh128 : NULL,
		};
		for (k = 0; k < m->file_count; k++) {
			struct found_file *f = &m->files[k];

			if ((!job->vcs && keep_is_internal(f->path)) ||
			    !filter_takes(&job->filter, f->path, UINT64_MAX))
				continue;
			for (l = 0; l <= f->link_count; l++) {
				char **name = l ? &f->links[l - 1] : &f->path;

				*outside = *name;
				err = make_absolute(root, name);
				if (err)
					return err;
				*names++ = *name;
				sets[i].count++;
			}
		}
	}
	return 0;
}

/* -ENODEV: the group is of another mount than the user says. */
static int take_group(struct dedup_job *job, struct groups *from,
		      const char **outside)
{
	struct found_group *group = &from->group;
	struct dedup_set *sets = calloc(group->count + 1, sizeof(*sets));
	const char **names;
	size_t count = 1, i, k;
	int err = sets ? 0 : -ENOMEM;

	for (i = 0; i < group->count; i++)
		for (k = 0; k < group->members[i].file_count; k++)
			count += 1 + group->members[i].files[k].link_count;
	names = calloc(count, sizeof(*names));
	if (!names)
		err = -ENOMEM;
	if (from->root && job->root && strcmp(from->root, job->root) != 0)
		err = -ENODEV;
	if (!err)
		err = make_sets(job, from->root ? from->root : job->root, group,
				sets, names, outside);
	if (!err)
		err = dedup_plan_group(job, sets, group->count);
	free(names);
	free(sets);
	return err;
}

/* A message about a file of groups that cannot be used, and why. */
static void explain(const struct dedup_job *job, const char *path, int err,
		    const struct groups *from, const char *outside)
{
	const char *root = from->root ? from->root : job->root;
	const size_t line = from->file.number;

	if (err == -ENODEV)
		cli_complain(path,
			     "line %zu: the groups were made of %s, not of %s; "
			     "nothing was changed",
			     line, from->root, job->root);
	else if (err == -EXDEV && root)
		cli_complain(outside,
			     "line %zu of %s: the path leads outside of %s; "
			     "nothing was changed",
			     line, path, root);
	else if (err == -EXDEV)
		cli_complain(outside,
			     "line %zu of %s: not a plain path; nothing was "
			     "changed",
			     line, path);
	else
		(void)groups_file_failed(path, from, err,
					 "nothing was changed");
}

/* A negative errno, or the end. */
static int take_groups(struct dedup_job *job, struct groups *from,
		       const char **outside)
{
	int event;

	while ((event = progress_groups_next(from, "searching for copies",
					     false)) > 0) {
		event = take_group(job, from, outside);
		if (event)
			break;
	}
	progress_clear();
	return event;
}

static int read_file(struct dedup_job *job, const char *path)
{
	const char *outside = NULL;
	struct groups from;
	FILE *file;
	int err = groups_file_open(path, &from, &file);

	if (!err)
		err = take_groups(job, &from, &outside);
	if (err)
		explain(job, path, err, &from, outside);
	groups_file_close(&from, file);
	return err ? EXIT_FAILED : EXIT_OK;
}

int dedup_groups_read(struct dedup_job *job, char *path)
{
	struct groups_asking asking = { .wish = { .exact = !job->blocks,
						  .vcs = job->vcs },
					.best.threshold = job->threshold };
	char *operands[] = { path, NULL };
	struct groups from = { 0 };
	const char *outside = NULL;
	struct stat st;
	int code, err = 0;

	if (!strcmp(path, "-") || stat(path, &st) || !S_ISDIR(st.st_mode))
		return read_file(job, path);
	job->table.base = path_base_of(path);
	code = groups_asking_operands(&asking, &command_dedup, operands);
	if (!code)
		code = groups_asking_begin(&asking, &from);
	if (!code)
		err = take_groups(job, &from, &outside);
	if (err == -ENODEV) {
		code = cli_complain(from.root,
				    "not the mount %s; nothing was changed",
				    job->root);
	} else if (err) {
		code = groups_asking_failed(&asking, err);
	} else if (!code && from.totals.incomplete) {
		/* Files that are not hashed yet are no error here. */
		cli_complain(from.root, "not all files are hashed: there may "
					"be more copies");
	}
	groups_close(&from);
	groups_asking_release(&asking);
	return code;
}
