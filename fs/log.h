/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_LOG_H
#define FS_LOG_H

#include <stdarg.h>

/* Lines for the administrator: "kinfs: ..." on standard error, or in the
 * system's log once log_to_syslog() was called.  Thread-safe. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_line_v(const char *format, va_list args)
	__attribute__((format(printf, 1, 0)));

void log_to_syslog(void);

#endif
