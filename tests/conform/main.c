/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/main.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conform/conform.h"

/*
 * conform DIRECTORY BEHIND [GROUP...]: runs the tests, those of the groups or
 * all but those that need a place of their own, in directories made in
 * DIRECTORY.  BEHIND is the same directory past the mount; for a plain
 * directory, DIRECTORY once more.
 *
 * Exits with 1 when the tests could not be run; what came of them is for
 * others to judge.
 */
#define TEST_SECONDS 120

char current_test[128];
char behind_directory[PATH_MAX];

static const char *top;
static const char *behind_top;

/* ---- the tests ---- */

enum { TESTS_MAX = 256 };

struct test {
	char group[24];
	char name[48];
	int line;
	void (*run)(void);
	bool needs_root;
};

static struct test tests[TESTS_MAX];
static size_t test_count;

static bool is_before(const struct test *a, const struct test *b)
{
	int order = strcmp(a->group, b->group);

	return order ? order < 0 : a->line < b->line;
}

/* Constructors run in any order: the tests are sorted. */
void test_add(const char *file, int line, const char *name, void (*run)(void),
	      bool needs_root)
{
	const char *base = strrchr(file, '/') + 1;
	struct test t = { .line = line, .run = run, .needs_root = needs_root };
	size_t i;

	if (test_count == TESTS_MAX || strlen(name) >= sizeof(t.name))
		abort();
	snprintf(t.group, sizeof(t.group), "%.*s", (int)strcspn(base, "."),
		 base);
	for (i = 0; name[i]; i++)
		t.name[i] = name[i] == '_' ? '-' : name[i];
	for (i = test_count++; i > 0 && is_before(&t, &tests[i - 1]); i--)
		tests[i] = tests[i - 1];
	tests[i] = t;
}

static int enter(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	wait_for_room(top);
	if (mkdir(path, 0755) != 0 && errno != EROFS && errno != EEXIST) {
		perror(path);
		return -1;
	}
	if (chdir(path) != 0) {
		perror(path);
		return -1;
	}
	snprintf(behind_directory, sizeof(behind_directory), "%s/%s",
		 behind_top, name);
	return 0;
}

static int run_process(const struct test *t)
{
	char name[sizeof(current_test)];

	snprintf(current_test, sizeof(current_test), "%s/%s", t->group,
		 t->name);
	snprintf(name, sizeof(name), "%s.%s", t->group, t->name);
	umask(022);
	if (enter(name) != 0)
		return EXIT_FAILURE;
	alarm(TEST_SECONDS);
	t->run();
	return EXIT_SUCCESS;
}

static int run_test(const struct test *t)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(run_process(t));
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		return -1;
	}
	if (WIFSIGNALED(status)) {
		fprintf(stderr, "%s/%s: killed by signal %d\n", t->group,
			t->name, WTERMSIG(status));
		return -1;
	}
	if (WEXITSTATUS(status) != 0) {
		fprintf(stderr, "%s/%s: failed\n", t->group, t->name);
		return -1;
	}
	return 0;
}

static bool is_wanted(const char *group, int count, char **names)
{
	if (!count)
		return strcmp(group, "readonly") != 0 &&
		       strcmp(group, "space") != 0;
	for (int i = 0; i < count; i++) {
		if (strcmp(names[i], group) == 0)
			return true;
	}
	return false;
}

static bool is_group(const char *name)
{
	for (size_t i = 0; i < test_count; i++) {
		if (strcmp(tests[i].group, name) == 0)
			return true;
	}
	fprintf(stderr, "conform: no group '%s'\n", name);
	return false;
}

int main(int argc, char **argv)
{
	int status = EXIT_SUCCESS;

	if (argc < 3) {
		fputs("usage: conform DIRECTORY BEHIND [GROUP...]\n", stderr);
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		if (!is_group(argv[i]))
			return 2;
	}
	top = argv[1];
	behind_top = argv[2];
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < test_count; i++) {
		const struct test *t = &tests[i];

		if (is_wanted(t->group, argc - 3, argv + 3) &&
		    (!t->needs_root || geteuid() == 0) && run_test(t) != 0)
			status = EXIT_FAILURE;
	}
	return status;
}
