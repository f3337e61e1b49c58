/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/power.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/queue/queue.h"

enum { POLL_MS = 5000 };

/* ---- power supplies ---- */

enum supply { SUPPLY_NOTHING, SUPPLY_ONLINE, SUPPLY_DRAINED };

/* The first line of an attribute; "" when it cannot be read. */
static void read_line(int supply_fd, const char *name, char out[32])
{
	int fd = openat(supply_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, out, 31) : 0;

	if (fd >= 0)
		close(fd);
	out[len > 0 ? len : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

static bool is_line(int supply_fd, const char *name, const char *value)
{
	char line[32];

	read_line(supply_fd, name, line);
	return strcmp(line, value) == 0;
}

static enum supply read_supply(int fd)
{
	char type[32];

	read_line(fd, "type", type);
	if (!*type || is_line(fd, "scope", "Device"))
		return SUPPLY_NOTHING;
	if (strcmp(type, "Battery") != 0 && strcmp(type, "UPS") != 0)
		return is_line(fd, "online", "1") ? SUPPLY_ONLINE :
						    SUPPLY_NOTHING;
	return is_line(fd, "status", "Discharging") ? SUPPLY_DRAINED :
						      SUPPLY_NOTHING;
}

bool power_is_battery(const char *directory)
{
	DIR *dir = opendir(directory);
	bool online = false, drained = false;
	struct dirent *d;

	while (dir && !online && (d = readdir(dir))) {
		enum supply supply;
		int fd;

		if (d->d_name[0] == '.')
			continue;
		fd = openat(dirfd(dir), d->d_name,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		supply = read_supply(fd);
		close(fd);
		online = supply == SUPPLY_ONLINE;
		drained = drained || supply == SUPPLY_DRAINED;
	}
	if (dir)
		closedir(dir);
	return drained && !online;
}

/* ---- the thread ---- */

static void poll_supplies(const struct power *p)
{
	queue_pause(p->queue, QUEUE_PAUSE_BATTERY,
		    power_is_battery(p->directory));
}

static void *power_run(void *arg)
{
	struct power *p = arg;

	thread_set_name("kinfs-power");
	thread_enter_background();
	pthread_mutex_lock(&p->lock);
	while (!p->stopped) {
		int64_t until_ms = clock_now_ms() + POLL_MS;

		while (!p->stopped && clock_now_ms() < until_ms)
			cond_wait_until(&p->work, &p->lock, until_ms);
		pthread_mutex_unlock(&p->lock);
		poll_supplies(p);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int power_init(struct power *p, struct queue *queue, const char *directory)
{
	int err = -pthread_mutex_init(&p->lock, NULL);

	p->queue = queue;
	p->directory = directory ? directory : POWER_DIRECTORY;
	return err ? err : cond_init_monotonic(&p->work);
}

int power_start(struct power *p)
{
	int err;

	poll_supplies(p);
	err = -pthread_create(&p->thread, NULL, power_run, p);
	p->started = !err;
	return err;
}

void power_stop(struct power *p)
{
	pthread_mutex_lock(&p->lock);
	p->stopped = true;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	if (p->started)
		pthread_join(p->thread, NULL);
	p->started = false;
}

void power_release(struct power *p)
{
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
}
