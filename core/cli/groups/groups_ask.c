/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/groups/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"

void name_list_release(struct name_list *l)
{
	while (l->count)
		free((char *)l->names[--l->count]);
	free(l->names);
}

int name_list_add(struct name_list *l, char *name)
{
	const char **names =
		name ? array_with_room(l->names, l->count, sizeof(*names)) :
		       NULL;

	if (!names) {
		free(name);
		return cli_complain_errno(NULL, -ENOMEM);
	}
	l->names = names;
	names[l->count++] = name;
	return EXIT_OK;
}

/* ---- options ---- */

int groups_asking_across(void *asking, const char *directory)
{
	struct groups_asking *a = asking;

	return name_list_add(&a->across, strdup(directory));
}

int groups_asking_keep(void *asking, const char *text)
{
	struct groups_asking *a = asking;

	if (keep_order_parse(text, &a->wish.order))
		return EXIT_OK;
	return name_list_add(&a->keep, strdup(text));
}

int groups_asking_operands(struct groups_asking *a,
			   const struct command *command, char **operands)
{
	int code = EXIT_OK;

	for (; *operands && !code; operands++)
		code = name_list_add(&a->within, strdup(*operands));
	if (!code && !a->within.count)
		return cli_usage_error(command, "of which mount?");
	if (!code && a->across.count == 1)
		return cli_usage_error(
			command, "--across needs two directories or more");
	return code;
}

/* ---- paths ---- */

/* Replaces the names by their paths below the root of the mount. */
static int find_paths(const char *root, struct name_list *l)
{
	char *rel = NULL;
	size_t i;
	int code = EXIT_OK;

	for (i = 0; i < l->count && !code; i++) {
		code = mount_path_or_complain(l->names[i], root, &rel);
		if (code)
			break;
		free((char *)l->names[i]);
		l->names[i] = rel;
	}
	return code;
}

int name_list_find(struct name_list *l, struct mount *out)
{
	int code = mount_find_or_complain(l->names[0], out);

	if (!code)
		code = find_paths(out->root, l);
	if (code || *l->names[0])
		return code;
	free((char *)l->names[0]);
	l->count--;
	memmove(l->names, l->names + 1, l->count * sizeof(*l->names));
	return EXIT_OK;
}

static int ask_mount(struct groups_asking *a)
{
	int code = name_list_find(&a->within, &a->mount), err;

	if (!code)
		code = find_paths(a->mount.root, &a->across);
	if (!code)
		code = find_paths(a->mount.root, &a->keep);
	if (!code && !mount_listings_or_complain(&a->mount))
		code = EXIT_FAILED;
	if (code)
		return code;
	a->wish.threshold = a->best.threshold;
	a->wish.within = a->within.names;
	a->wish.within_count = a->within.count;
	a->wish.across = a->across.names;
	a->wish.across_count = a->across.count;
	a->wish.keep = a->keep.names;
	a->wish.keep_count = a->keep.count;
	err = groups_ask(&a->groups, &a->wish, a->mount.root,
			 a->mount.listings);
	return err ? groups_asking_failed(a, err, "") : EXIT_OK;
}

int groups_asking_begin(struct groups_asking *a)
{
	if (!a->file)
		return ask_mount(a);
	a->in = strcmp(a->file, "-") ? fopen(a->file, "re") : stdin;
	if (!a->in)
		return cli_complain_errno(a->file, -errno);
	groups_read(&a->groups, a->in);
	return EXIT_OK;
}

int groups_asking_failed(const struct groups_asking *a, int err,
			 const char *then)
{
	if (err == -EINVAL && a->file)
		return cli_complain(
			a->file,
			"line %zu is not a group as kin groups --json prints "
			"it; %s",
			a->groups.file.number, then);
	if (err == -EINVAL)
		return cli_complain(
			a->mount.root,
			"its kinfs is too old to search for groups");
	return cli_complain_errno(a->file ? a->file : a->mount.root, err);
}

void groups_asking_release(struct groups_asking *a)
{
	groups_close(&a->groups);
	if (a->in && a->in != stdin)
		(void)fclose(a->in);
	filter_release(&a->wish.filter);
	name_list_release(&a->within);
	name_list_release(&a->across);
	name_list_release(&a->keep);
	mount_release(&a->mount);
}
