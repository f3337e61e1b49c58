/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stress/stress.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* splitmix64 */
uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static const char *const directories[DIRECTORIES] = {
	"one", "one/two", "one/two/three", "four", "five",
};

void slot_name(size_t group, size_t slot, char *name_out)
{
	snprintf(name_out, NAME_SIZE, "%s/g%zu-%zu",
		 directories[(group + slot) % DIRECTORIES], group, slot);
}

void slot_path(const struct side *side, const char *name, char *path_out)
{
	snprintf(path_out, PATH_SIZE, "%s/%s", side->root, name);
}

int make_directories(const char *root)
{
	char path[PATH_SIZE];

	for (size_t i = 0; i < DIRECTORIES; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, directories[i]);
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}
