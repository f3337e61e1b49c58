/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/loop/wake.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#define WAKE_SIGNAL SIGUSR1

static void on_signal(int number)
{
	(void)number;
}

int wake_open(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	return sigaction(WAKE_SIGNAL, &action, NULL) == 0 ? 0 : -errno;
}

void wake_allow(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, WAKE_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void wake_thread(pthread_t thread)
{
	pthread_kill(thread, WAKE_SIGNAL);
}

void wake_pause(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	nanosleep(&pause, NULL);
}
