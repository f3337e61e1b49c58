/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_POWER_H
#define CORE_QUEUE_POWER_H

#include <pthread.h>
#include <stdbool.h>

#define POWER_DIRECTORY "/sys/class/power_supply"

/*
 * Whether the machine runs on its battery.  The kernel tells changes only to
 * those who have a netlink socket, which a mount gives up; so a thread looks
 * every few seconds and pauses the queue meanwhile.  There is no thread where
 * nobody asked for that.
 */
struct power {
	pthread_mutex_t lock; /* stopped */
	pthread_cond_t work;
	bool stopped;
	pthread_t thread;
	bool started;
};

struct engine;

int power_init(struct power *p);
/* Has looked once when it returns. */
int power_start(struct engine *e);
void power_stop(struct engine *e);
void power_release(struct power *p);

/*
 * By the supplies in the directory: no mains are online, and a battery or a
 * UPS is discharging.  Batteries of devices (mice, pens) say nothing.  False
 * where there is no supply, or none that can be read.
 */
bool power_is_battery(const char *directory);

#endif
