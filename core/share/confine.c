/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/share/share.h"

/* Reading stays allowed: libpq reads services, passwords and certificates, and
 * the C library what names of hosts mean. */
#define WRITING                                                           \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |     \
	 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |     \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |     \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |   \
	 LANDLOCK_ACCESS_FS_MAKE_SYM)
#define IN_CATALOG                                                        \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |      \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK)

static int allow(int rules, const char *directory)
{
	struct landlock_path_beneath_attr where = { .allowed_access =
							    IN_CATALOG };
	int err = 0;

	where.parent_fd = open(directory, O_PATH | O_CLOEXEC);
	if (where.parent_fd < 0)
		return -errno;
	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH,
		    &where, 0))
		err = -errno;
	(void)close(where.parent_fd);
	return err;
}

int share_confine(const struct share_options *o)
{
	const struct landlock_ruleset_attr attr = { .handled_access_fs =
							    WRITING };
	int rules, err = 0;
	size_t i;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr),
			     0);
	if (rules < 0)
		return -errno;
	for (i = 0; i < o->catalog_count && !err; i++)
		err = allow(rules, o->catalogs[i]);
	if (!err && syscall(SYS_landlock_restrict_self, rules, 0))
		err = -errno;
	(void)close(rules);
	return err;
}
