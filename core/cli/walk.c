/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/cli/cli.h"

int cli_walk(char *path, int options, cli_walk_compare_fn *compare,
	     cli_walk_fn *each, void *arg)
{
	char *paths[] = { path, NULL };
	FTS *fts =
		fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | options, compare);
	FTSENT *entry;
	int err = 0;

	if (!fts)
		return -errno;
	for (errno = 0; !err && (entry = fts_read(fts)); errno = 0)
		err = each(arg, fts, entry);
	if (!err)
		err = -errno;
	(void)fts_close(fts);
	return err;
}
