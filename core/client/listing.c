/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/client/client.h"

/* An entry is "097_b" -> "../../docs/b": the path below the root is what follows
 * the "../"s of its target.  -ENAMETOOLONG: that is longer than a link can be. */
static int take_entry(json_t *rows, int dirfd, const char *name)
{
	char target[PATH_MAX + 1];
	const char *rel = target;
	json_t *row;
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
	row = json_pack("{s:i}", "score", (int)strtol(name, NULL, 10));
	row = json_with_path(row, "path", rel);
	return json_array_append_new(rows, row) ? -ENOMEM : 0;
}

int client_list(const struct mount *m, const char *rel, const char *view,
		json_t *rows, char reason_out[CLIENT_REASON])
{
	struct buf path = { 0 }, state = { 0 };
	const struct dirent *entry;
	DIR *dir = NULL;
	int err = buf_append_format(&path, "%s/%s%s%s", m->listings, rel,
				    *rel ? "/" : "", view);

	*reason_out = '\0';
	if (!err && !(dir = opendir(path.data)))
		err = -errno;
	for (errno = 0; !err && (entry = readdir(dir)); errno = 0) {
		err = take_entry(rows, dirfd(dir), entry->d_name);
		if (err == -ENAMETOOLONG) {
			(void)snprintf(reason_out, CLIENT_REASON,
				       "error:ENAMETOOLONG");
			err = 0;
		}
	}
	if (!err)
		err = -errno;
	if (dir)
		closedir(dir);
	if (!err && !mount_get_attribute(path.data, STATE_ATTRIBUTE, &state) &&
	    strcmp(state.data, "complete") != 0)
		(void)snprintf(reason_out, CLIENT_REASON, "%s", state.data);
	buf_release(&path);
	buf_release(&state);
	return err;
}
