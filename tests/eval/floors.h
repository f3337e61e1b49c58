/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_FLOORS_H
#define TESTS_EVAL_FLOORS_H

#include <stdbool.h>
#include <stddef.h>

/* The figures of a run by name, and the limits they must keep. */
struct figures {
	struct figure {
		char *name;
		double value;
	} * list;
	size_t count;
};

void figures_release(struct figures *f);
void figures_add(struct figures *f, double value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "name value" lines. */
void figures_print(const struct figures *f);

/*
 * A file of lines "corpus name >= value" or "<=", of which those of that
 * corpus count; # starts a comment.  A limit that is not kept, or has no
 * figure, is printed; false then.
 */
bool floors_hold(const char *path, const char *corpus, const struct figures *f);

#endif
