/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/logger.h"

#include <stdarg.h>
#include <stdio.h>

void logger_print(const struct logger *l, const char *format, ...)
{
	char line[1024];
	va_list args;

	if (!l->print)
		return;
	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	l->print(l->ctx, line);
}
