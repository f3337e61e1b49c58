/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_LOG_H
#define FS_LOG_H

#include <stdarg.h>

/*
 * Messages: "kinfs: ..." on standard error, or in the system's log after
 * log_to_syslog().  log_line() is for errors, log_warning() for problems in
 * spite of which the mount goes on.  Thread-safe.
 */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* priority: one of syslog(3). */
void log_line_v(int priority, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

void log_to_syslog(void);

#endif
