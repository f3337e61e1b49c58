/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_GROUPS_GROUPS_PIPE_H
#define CORE_CLI_GROUPS_GROUPS_PIPE_H

#include <stdio.h>
#include <sys/types.h>

/*
 * The output of kin groups --json for another command: it runs the same program
 * in a process of its own, which shows its progress and complains by itself.
 */

/* arguments: those behind --json, up to NULL.  NULL and errno on failure. */
FILE *groups_pipe_open(const char *const *arguments, pid_t *child_out);

/* The exit code, after the stream was read or closed. */
int groups_pipe_wait(pid_t child);

#endif
