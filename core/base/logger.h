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

/* Tells the service manager, by the protocol of sd_notify(3): "READY=1",
 * "STATUS=...", "STOPPING=1".  Nothing without NOTIFY_SOCKET. */
void notify_service(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* The prefix of a line on standard error: "<4>" for LOG_WARNING and so on
 * when that is the journal, which reads priorities there, see sd-daemon(3);
 * "" otherwise. */
const char *notify_prefix(int priority);

#endif
