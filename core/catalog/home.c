/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

/* The name of the source, for people, and a hash of its path. */
int catalog_home(const char *source, struct buf *out)
{
	const char *name = strrchr(source, '/');
	XXH64_hash_t hash = XXH3_64bits(source, strlen(source));
	int err = append_state_home(out);

	if (err)
		return err;
	name = name && name[1] ? name + 1 : "root";
	return buf_append_format(out, "/kinfs/%.100s-%016llx", name,
				 (unsigned long long)hash);
}
