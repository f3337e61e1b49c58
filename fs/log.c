/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/log.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "core/base/notify.h"

#define LINE_BYTES 2048

static atomic_bool to_syslog;

void log_to_syslog(void)
{
	openlog("kinfs", LOG_PID, LOG_DAEMON);
	atomic_store(&to_syslog, true);
}

/* Replaces control characters: users choose file names, which must neither end
 * the line nor control a terminal. */
static void replace_controls(char *line)
{
	size_t len = strlen(line);

	if (len && line[len - 1] == '\n') /* libfuse ends its lines */
		line[len - 1] = '\0';
	for (; *line; line++)
		if ((unsigned char)*line < ' ' || *line == 127)
			*line = '?';
}

void log_line_v(int priority, const char *format, va_list args)
{
	char line[LINE_BYTES];

	vsnprintf(line, sizeof(line), format, args);
	replace_controls(line);
	if (atomic_load(&to_syslog))
		syslog(priority, "%s", line);
	else
		fprintf(stderr, "%skinfs: %s\n", notify_prefix(priority), line);
}

void log_line(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line_v(LOG_ERR, format, args);
	va_end(args);
}

void log_warning(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line_v(LOG_WARNING, format, args);
	va_end(args);
}
