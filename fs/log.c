/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/fs.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "core/base/logger.h"
#include "core/base/utf8.h"

#define LINE_BYTES 2048

static atomic_bool to_syslog;

void log_to_syslog(void)
{
	openlog("kinfs", LOG_PID, LOG_DAEMON);
	atomic_store(&to_syslog, true);
}

/* Users choose file names, which must neither end the line nor control a
 * terminal. */
void log_line_v(int priority, const char *format, va_list args)
{
	char line[LINE_BYTES];
	struct buf safe = { 0 };
	const char *text;
	size_t len;

	vsnprintf(line, sizeof(line), format, args);
	len = strlen(line);
	if (len && line[len - 1] == '\n') /* libfuse ends its lines */
		line[len - 1] = '\0';
	(void)utf8_append_safe(&safe, line);
	text = safe.data ? safe.data : "";
	if (atomic_load(&to_syslog))
		syslog(priority, "%s", text);
	else
		fprintf(stderr, "%skinfs: %s\n", notify_prefix(priority), text);
	buf_release(&safe);
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
