/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/logger.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

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

void notify_service(const char *format, ...)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	char text[1024];
	va_list args;
	int fd;

	if (len < 2 || len >= sizeof(address.sun_path))
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	memcpy(address.sun_path, path, len);
	/* "@..." is an abstract name. */
	if (*path == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL,
		     (struct sockaddr *)&address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	(void)close(fd);
}

/* JOURNAL_STREAM is "device:inode" of what the service manager connected. */
static bool is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char own[64];
	struct stat st;

	if (!stream || fstat(fd, &st) != 0)
		return false;
	(void)snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)st.st_dev,
		       (uintmax_t)st.st_ino);
	return strcmp(stream, own) == 0;
}

const char *notify_prefix(int priority)
{
	static const char prefixes[][4] = { "<0>", "<1>", "<2>", "<3>",
					    "<4>", "<5>", "<6>", "<7>" };

	return is_journal(STDERR_FILENO) ? prefixes[LOG_PRI(priority)] : "";
}
