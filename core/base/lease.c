/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

int lease_take(int fd)
{
	if (fcntl(fd, F_SETSIG, SIGURG) || fcntl(fd, F_SETLEASE, F_RDLCK))
		return -errno;
	return 0;
}

bool lease_holds(int fd)
{
	return fcntl(fd, F_GETLEASE) == F_RDLCK;
}

void lease_drop(int fd)
{
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
}
