/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "core/catalog/catalog.h"
#include "core/cli/cli.h"

/* A directory that is gone, or whose disk is not here, is known by its path
 * alone. */
static int run(const struct command *self, char **paths)
{
	char *real = realpath(*paths, NULL);
	const char *source = real ? real : *paths;
	struct buf catalog = { 0 };
	struct mount mount = { 0 };
	int err = *source == '/' ? 0 : -ENOENT;

	(void)self;
	if (!err)
		err = catalog_default_directory(source, &catalog);
	if (!err)
		err = catalog_remove(catalog.data);
	if (err == -EBUSY && !mount_find(source, &mount))
		err = cli_complain(source,
				   "mounted on %s: its catalog is in use; "
				   "unmount that first",
				   mount.point);
	else if (err == -EBUSY)
		err = cli_complain(source, "its catalog is in use by another "
					   "kin or kinfs");
	else if (err == -ENOENT && real)
		err = cli_complain(source, "has no catalog; kin status lists "
					   "those that kin keeps");
	mount_release(&mount);
	buf_release(&catalog);
	free(real);
	return err;
}

const struct command command_forget = {
	.name = "forget",
	.operands = { 1, 1 },
	.lacking = "the catalog of which directory?",
	.synopsis = "forget DIRECTORY",
	.summary = "Remove what is known of a directory, its catalog",
	.help = "The next question about DIRECTORY, or the next mount of it, hashes all files\n"
		"again.  Ignored pairs and journals of kin dedup stay.\n",
	.run = run,
};
