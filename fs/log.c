/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/log.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#define LINE_BYTES 2048

static atomic_bool to_syslog;

void log_to_syslog(void)
{
	openlog("kinfs", LOG_PID, LOG_DAEMON);
	atomic_store(&to_syslog, true);
}

void log_line_v(const char *format, va_list args)
{
	char line[LINE_BYTES];

	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0'; /* libfuse ends its lines */
	if (atomic_load(&to_syslog))
		syslog(LOG_WARNING, "%s", line);
	else
		fprintf(stderr, "kinfs: %s\n", line);
}

void log_line(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line_v(format, args);
	va_end(args);
}
