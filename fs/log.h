/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_LOG_H
#define FS_LOG_H

#include <stdarg.h>

/*
 * Lines for the administrator: "kinfs: ..." on standard error, or in the
 * system's log once log_to_syslog() was called.  The journal and the system's
 * log are told a priority: log_line() is for errors, log_warning() for what
 * the mount goes on in spite of.  Thread-safe.
 */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* priority: one of syslog(3). */
void log_line_v(int priority, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

void log_to_syslog(void);

#endif
