/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/groups/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"

/* Adds the path below the root of the mount, which is found by the first one. */
static int find_path(struct name_list *l, struct mount *mount, const char *path)
{
	char *rel;
	int code = mount_path_or_complain(path, mount, &rel);

	return code ? code : array_add_string(&l->names, &l->count, rel);
}

int name_list_find(struct name_list *l, struct mount *mount, char **operands)
{
	int code = EXIT_OK;

	for (; *operands && !code; operands++)
		code = find_path(l, mount, *operands);
	if (code || *l->names[0])
		return code;
	free((char *)l->names[0]);
	l->count--;
	memmove(l->names, l->names + 1, l->count * sizeof(*l->names));
	return EXIT_OK;
}

/* ---- options ---- */

/* Options name directories before it is known in which mount they are. */
static int add_name(struct name_list *l, const char *name)
{
	return array_add_string(&l->names, &l->count, strdup(name));
}

/* Puts the paths below the root of the mount in the place of such names. */
static int find_named(struct name_list *l, struct mount *mount)
{
	int code = EXIT_OK;
	char *rel;
	size_t i;

	for (i = 0; i < l->count && !code; i++) {
		code = mount_path_or_complain(l->names[i], mount, &rel);
		if (code)
			break;
		free((char *)l->names[i]);
		l->names[i] = rel;
	}
	return code;
}

int groups_asking_across(void *asking, const char *directory)
{
	return add_name(&((struct groups_asking *)asking)->wish.across,
			directory);
}

int groups_asking_keep(void *asking, const char *text)
{
	struct groups_asking *a = asking;

	if (keep_order_parse(text, &a->wish.order))
		return EXIT_OK;
	return add_name(&a->wish.keep, text);
}

int groups_asking_operands(struct groups_asking *a,
			   const struct command *command, char **operands)
{
	int code;

	if (!*operands)
		return cli_usage_error(command, "of which mount?");
	if (a->wish.across.count == 1)
		return cli_usage_error(
			command, "--across needs two directories or more");
	code = once_mount(*operands, a->wish.exact);
	if (!code)
		code = name_list_find(&a->wish.within, &a->mount, operands);
	if (!code)
		code = find_named(&a->wish.across, &a->mount);
	return code ? code : find_named(&a->wish.keep, &a->mount);
}

/* ---- asking ---- */

int groups_asking_begin(struct groups_asking *a)
{
	FILE *in;

	if (a->file) {
		in = strcmp(a->file, "-") ? fopen(a->file, "re") : stdin;
		if (!in)
			return -errno;
		groups_read(&a->groups, in);
		return EXIT_OK;
	}
	a->wish.threshold = a->best.threshold;
	return mount_listings_or_complain(&a->mount) ?
		       EXIT_FAILED :
		       groups_ask(&a->groups, &a->wish, &a->mount);
}

int groups_asking_explain(const struct groups_asking *a, int code)
{
	if (code == -EINVAL && a->file)
		return cli_complain(
			a->file,
			"line %zu is not a group as kin groups --json prints "
			"it; nothing was changed",
			a->groups.lines.number);
	if (code == -EINVAL)
		return cli_complain(
			a->mount.root,
			"its kinfs is too old to search for groups");
	return code < 0 ? cli_complain_errno(a->file ? a->file : a->mount.root,
					     code) :
			  code;
}
