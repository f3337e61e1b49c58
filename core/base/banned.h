/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_BANNED_H
#define CORE_BASE_BANNED_H

/*
 * Functions that do not compile here.  The Makefile includes this file ahead
 * of every source; no file includes it by itself.
 *
 * A poisoned name is an error wherever it appears later, system headers
 * included, so the headers that declare these names come first.
 */
#include <linux/fuse.h> /* a field is called ctime */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* No bound on what they write, or a bound that does not terminate: use
 * snprintf(), memcpy() with a known length, or struct buf. */
#undef sprintf
#undef vsprintf
#pragma GCC poison gets strcpy stpcpy strcat strncpy strncat sprintf vsprintf

/* No way to tell an error from a value: use strtol() and its kind. */
#pragma GCC poison atoi atol atoll atof

/* State shared by all threads of the process: use the _r forms, err_text()
 * for strerror(), getrandom() or a seeded generator for rand(). */
#pragma GCC poison strtok srand asctime ctime gmtime localtime strerror
/* OpenSSL names parameters so; only a call is an error. */
#define rand() rand_is_banned

/* A name that another process may take first: use mkstemp(), mkdtemp(). */
#pragma GCC poison tmpnam tempnam mktemp

/* A shell, with whatever the environment put into it. */
#pragma GCC poison popen

#endif
