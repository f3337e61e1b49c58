/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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
