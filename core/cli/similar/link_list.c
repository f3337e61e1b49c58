/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/link_list.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/text.h"
#include "core/client/client.h"

/* Adds a copy of path. */
static int link_list_add(struct link_list *list, int score, const char *path)
{
	struct listed_link *all =
		array_with_room(list->all, list->count, sizeof(*all));

	if (!all)
		return -ENOMEM;
	list->all = all;
	all[list->count] = (struct listed_link){ strdup(path), score };
	return all[list->count].path ? (int)(list->count++, 0) : -ENOMEM;
}

void link_list_release(struct link_list *list)
{
	while (list->count)
		free(list->all[--list->count].path);
	free(list->all);
	*list = (struct link_list){ 0 };
}

/* An entry is "097_b" -> "../../docs/b": the path below the root is what follows
 * the "../"s of its target.  -ENAMETOOLONG: that is longer than a link can be. */
static int take_entry(struct link_list *list, int dirfd, const char *name)
{
	char target[PATH_MAX + 1];
	const char *rel = target;
	ssize_t len;

	if (strspn(name, "0123456789") != 3 || name[3] != '_')
		return 0;
	len = readlinkat(dirfd, name, target, sizeof(target) - 1);
	if (len < 0) /* it is gone */
		return errno == ENAMETOOLONG ? -errno : 0;
	target[len] = '\0';
	while (!strncmp(rel, "../", 3))
		rel += 3;
	if (*rel && !text_is_plain_path(rel))
		return -EBADMSG;
	return link_list_add(list, (int)strtol(name, NULL, 10), rel);
}

static int read_entries(struct link_list *list, const char *view,
			bool *unnamed_out)
{
	DIR *dir = opendir(view);
	struct dirent *entry;
	int err = 0;

	if (!dir)
		return -errno;
	for (errno = 0; !err && (entry = readdir(dir)); errno = 0) {
		err = take_entry(list, dirfd(dir), entry->d_name);
		*unnamed_out |= err == -ENAMETOOLONG;
		if (err == -ENAMETOOLONG)
			err = 0;
	}
	if (!err)
		err = -errno;
	closedir(dir);
	return err;
}

int link_list_read(const char *listings, const char *rel, const char *view,
		   struct link_list *out, char reason_out[LINK_LIST_REASON])
{
	struct buf path = { 0 }, state = { 0 };
	bool unnamed = false;
	int err = buf_append_format(&path, "%s/%s%s%s", listings, rel,
				    *rel ? "/" : "", view);

	*out = (struct link_list){ 0 };
	*reason_out = '\0';
	if (!err)
		err = read_entries(out, path.data, &unnamed);
	if (!err && !mount_get_attribute(path.data, STATE_ATTRIBUTE, &state) &&
	    strcmp(state.data, "complete") != 0)
		(void)snprintf(reason_out, LINK_LIST_REASON, "%s", state.data);
	else if (unnamed)
		(void)snprintf(reason_out, LINK_LIST_REASON,
			       "error:ENAMETOOLONG");
	buf_release(&path);
	buf_release(&state);
	return err;
}
