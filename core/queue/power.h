/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_POWER_H
#define CORE_QUEUE_POWER_H

#include <pthread.h>
#include <stdbool.h>

#define POWER_DIRECTORY "/sys/class/power_supply"

/*
 * Whether the machine runs on its battery.  The kernel tells changes only to
 * processes with a netlink socket, which a mount gives up; so a thread looks
 * every few seconds and pauses the queue meanwhile.  There is no thread
 * unless it is started.
 */
struct power {
	struct queue *queue;   /* borrowed; constant, as the next one */
	const char *directory; /* borrowed; of the supplies */
	pthread_mutex_t lock;  /* stopped */
	pthread_cond_t work;
	bool stopped;
	pthread_t thread;
	bool started;
};

struct queue;

/* directory NULL: POWER_DIRECTORY. */
int power_init(struct power *p, struct queue *queue, const char *directory);
/* The queue is paused already, if it is to be, when this returns. */
int power_start(struct power *p);
void power_stop(struct power *p);
void power_release(struct power *p);

/*
 * By the supplies in the directory: no mains are online, and a battery or a
 * UPS is discharging.  Batteries of devices (mice, pens) say nothing.  False
 * where there is no supply, or none that can be read.
 */
bool power_is_battery(const char *directory);

#endif
