/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount_helper.h"

#include <string.h>

static bool is_mount_helper(const char *program)
{
	const char *slash = strrchr(program, '/');

	return strncmp(slash ? slash + 1 : program, "mount.",
		       strlen("mount.")) == 0;
}

/* Takes a group of option letters such as -nv; false: it is something else. */
static bool take_letters(const char *arg, bool *fake_out)
{
	if (arg[0] != '-' || !arg[1] ||
	    strspn(arg + 1, "sfnv") + 1 != strlen(arg))
		return false;
	*fake_out |= strchr(arg, 'f') != NULL;
	return true;
}

bool mount_helper_take(int *argc, char **argv, bool *fake_out)
{
	int kept = 1, i;

	*fake_out = false;
	if (*argc < 1 || !is_mount_helper(argv[0]))
		return false;
	for (i = 1; i < *argc; i++) {
		bool has_value = i + 1 < *argc;

		if (!strcmp(argv[i], "-o") && has_value) {
			argv[kept++] = argv[i++];
			argv[kept++] = argv[i];
		} else if ((!strcmp(argv[i], "-t") || !strcmp(argv[i], "-N")) &&
			   has_value) {
			i++;
		} else if (!take_letters(argv[i], fake_out)) {
			argv[kept++] = argv[i];
		}
	}
	argv[kept] = NULL;
	*argc = kept;
	return true;
}
