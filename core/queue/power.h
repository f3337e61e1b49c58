/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_POWER_H
#define CORE_QUEUE_POWER_H

#include <pthread.h>
#include <stdbool.h>

#define POWER_DIRECTORY "/sys/class/power_supply"

/*
 * Pauses the queue while the machine runs on its battery.  A thread polls the
 * power supplies every few seconds: the kernel reports changes only by netlink,
 * and the mount's sandbox allows no netlink sockets.
 */
struct power {
	struct queue *queue;   /* borrowed; constant */
	const char *directory; /* of the power supplies; borrowed; constant */
	pthread_mutex_t lock;  /* stopped */
	pthread_cond_t work;
	bool stopped;
	pthread_t thread;
	bool started;
};

struct queue;

/* directory NULL: POWER_DIRECTORY. */
int power_init(struct power *p, struct queue *queue, const char *directory);
/* Looks once, and starts the thread. */
int power_start(struct power *p);
void power_stop(struct power *p);
void power_release(struct power *p);

/*
 * Whether a battery or a UPS is discharging and no mains supply is online.
 * Batteries of devices (mice, pens) do not count.  False when no supply can be
 * read.
 */
bool power_is_battery(const char *directory);

#endif
