/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static int append_state_home(struct buf *out)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (geteuid() == 0)
		return buf_append_text(out, "/var/lib");
	if (state && state[0] == '/')
		return buf_append_text(out, state);
	if (home && home[0] == '/')
		return buf_append_format(out, "%s/.local/state", home);
	return -ENOENT;
}

int catalog_state_directory(struct buf *out)
{
	int err = append_state_home(out);

	return err ? err : buf_append_text(out, "/kinfs");
}

/* The last part of the source's path, for people, and a hash of the path. */
int catalog_default_directory(const char *source, struct buf *out)
{
	const char *name = strrchr(source, '/');
	XXH64_hash_t hash = XXH3_64bits(source, strlen(source));
	int err = catalog_state_directory(out);

	if (err)
		return err;
	name = name && name[1] ? name + 1 : "root";
	return buf_append_format(out, "/%.100s-%016llx", name,
				 (unsigned long long)hash);
}

int catalog_last_written(const char *directory, int64_t *seconds_out)
{
	struct buf path = { 0 };
	struct stat st;
	int err =
		buf_append_format(&path, "%s/%s", directory, CATALOG_DATA_FILE);

	if (!err && stat(path.data, &st))
		err = -errno;
	if (!err)
		*seconds_out = st.st_mtime;
	buf_release(&path);
	return err;
}
