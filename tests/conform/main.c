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
 * all but those that need a place of their own, in directories made in DIRECTORY.  BEHIND is the same
 * directory past the mount; for a plain directory, DIRECTORY once more.
 *
 * Exits with 1 when the tests could not be run; what came of them is for
 * others to judge.
 */
#define TEST_SECONDS 120

char current_test[128];
char behind_directory[PATH_MAX];

extern const struct suite group_readonly;
extern const struct suite group_space;

static const char *top;
static const char *behind_top;

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

static int run_process(const struct suite *g, const struct test *t)
{
	char name[sizeof(current_test)];

	snprintf(current_test, sizeof(current_test), "%s/%s", g->name, t->name);
	snprintf(name, sizeof(name), "%s.%s", g->name, t->name);
	umask(022);
	if (enter(name) != 0)
		return EXIT_FAILURE;
	alarm(TEST_SECONDS);
	t->run();
	return EXIT_SUCCESS;
}

static int run_test(const struct suite *g, const struct test *t)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(run_process(g, t));
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		return -1;
	}
	if (WIFSIGNALED(status)) {
		fprintf(stderr, "%s/%s: killed by signal %d\n", g->name,
			t->name, WTERMSIG(status));
		return -1;
	}
	if (WEXITSTATUS(status) != 0) {
		fprintf(stderr, "%s/%s: failed\n", g->name, t->name);
		return -1;
	}
	return 0;
}

static int run_group(const struct suite *g)
{
	int status = 0;

	for (const struct test *t = g->tests; t->name; t++) {
		if (t->needs & NEEDS_ROOT && geteuid() != 0)
			continue;
		if (run_test(g, t) != 0)
			status = -1;
	}
	return status;
}

static bool is_wanted(const struct suite *g, int count, char **names)
{
	if (!count)
		return g != &group_readonly && g != &group_space;
	for (int i = 0; i < count; i++) {
		if (strcmp(names[i], g->name) == 0)
			return true;
	}
	return false;
}

static bool is_group(const char *name)
{
	for (size_t i = 0; groups[i]; i++) {
		if (strcmp(groups[i]->name, name) == 0)
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
	for (size_t i = 0; groups[i]; i++) {
		if (is_wanted(groups[i], argc - 3, argv + 3) &&
		    run_group(groups[i]) != 0)
			status = EXIT_FAILURE;
	}
	return status;
}
