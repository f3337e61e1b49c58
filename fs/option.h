/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPTION_H
#define FS_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "fs/options.h"

/* kinfs's own options after -o: "name=value" or "name". */

/* Whether arg is that option.  If name ends in '=', arg may have any value. */
bool option_is(const char *arg, const char *name);

/* 0: set; -1: the value is not valid, which was reported; 1: unknown. */
int option_set(struct options *o, const char *arg);

/* Reports that arg is unknown, and suggests the most similar option: one of
 * kinfs's own or one of names. */
void option_complain_unknown(const char *arg, const char *const *names,
			     size_t count);

/* Prints a line for each option to standard output; all false: only for the
 * common ones. */
void option_print_help(bool all);

/* Replaces *to, which is allocated or NULL, by a copy of text.  -ENOMEM. */
int option_replace(char **to, const char *text);

#endif
