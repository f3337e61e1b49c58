/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_DIGEST_PROGRAM_H
#define TESTS_UNIT_DIGEST_PROGRAM_H

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/vectors.h"

/* Programs of others that make golden values while the test runs. */

#define PROGRAM_MISSING 127

/* Runs argv[0], standard output to the file; its exit status. */
static inline int program_run(const char *const argv[], const char *output)
{
	pid_t child = fork();
	int status, fd;

	assert_true(child >= 0);
	if (child == 0) {
		fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		(void)dup2(fd, STDOUT_FILENO);
		fd = open("/dev/null", O_WRONLY);
		(void)dup2(fd, STDERR_FILENO);
		(void)execvp(argv[0], (char *const *)argv);
		_exit(PROGRAM_MISSING);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
