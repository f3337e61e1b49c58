/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <libgen.h>

#include "tests/fuzz/fuzz.h"

/* Runs a harness over its part of the corpus, tests/fuzz/corpus/<harness>, a
 * test for every file. */

#define MAX_FILES 4000

static void replay(void **state)
{
	struct bytes input = bytes_read(*state);
	uint8_t *copy = malloc(input.len ? input.len : 1);

	/* Without the byte to spare. */
	assert_non_null(copy);
	memcpy(copy, input.data, input.len);
	free(input.data);
	(void)LLVMFuzzerTestOneInput(copy, input.len);
	free(copy);
}

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[MAX_FILES];
	struct dirent **entries = NULL;
	char dir[200], *path;
	int i, count, failed;

	(void)argc;
	(void)snprintf(dir, sizeof(dir), "tests/fuzz/corpus/%s",
		       basename(argv[0]));
	count = scandir(dir, &entries, is_file, alphasort);
	if (count <= 0 || count > MAX_FILES) {
		(void)fprintf(stderr, "%s: no corpus\n", dir);
		return 1;
	}
	for (i = 0; i < count; i++) {
		if (asprintf(&path, "%s/%s", dir, entries[i]->d_name) < 0)
			return 1;
		tests[i] = (struct CMUnitTest){ .name = path,
						.test_func = replay,
						.initial_state = path };
		free(entries[i]);
	}
	free(entries);
	failed = _cmocka_run_group_tests(dir, tests, (size_t)count, NULL, NULL);
	for (i = 0; i < count; i++)
		free((void *)tests[i].name);
	return failed;
}
