/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPTION_H
#define FS_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "fs/options.h"

/* What may come after -o: "name=value" or "name". */

/* name ends in '=' when it has a value, which may be any then. */
bool option_is(const char *arg, const char *name);

/* 0: done, -1: the value is bad, and that was said, 1: it is none of ours. */
int option_set(struct options *o, const char *arg);

/* Says that arg is none, and what was probably meant: one of ours, or of
 * names. */
void option_complain_unknown(const char *arg, const char *const *names,
			     size_t count);

/* Prints a line for each of our options to standard output, or only for those
 * that most mounts need. */
void option_print_help(bool all);

/* *to is allocated or NULL; -ENOMEM. */
int option_replace(char **to, const char *text);

#endif
