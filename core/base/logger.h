/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_LOGGER_H
#define CORE_BASE_LOGGER_H

/* Where the lines for the administrator go. */
struct logger {
	void *ctx;
	/* Any thread calls it.  NULL: lines are dropped. */
	void (*print)(void *ctx, const char *line);
};

/* One line without a newline; what is longer than 1023 bytes is cut. */
void logger_print(const struct logger *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
