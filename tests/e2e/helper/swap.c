/* SPDX-License-Identifier: Apache-2.0 */

/*
 * swap A B PID OUTSIDE...: makes two entries change places again and again,
 * LEAST times and until standard input ends, and watches what should not be
 * read meanwhile.  Prints how often the process PID opened or read something
 * there, and on standard error what that was and how often the entries were
 * swapped.  Others may walk by.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <unistd.h>

enum { LEAST = 1000 };

static int input_ended(void)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	char byte;

	return poll(&input, 1, 0) == 1 && read(0, &byte, 1) <= 0;
}

static long count_events(int notify, int pid)
{
	static struct fanotify_event_metadata events[4096];
	long count = 0;
	ssize_t len;

	while ((len = read(notify, events, sizeof(events))) > 0) {
		const struct fanotify_event_metadata *event = events;

		for (; FAN_EVENT_OK(event, len);
		     event = FAN_EVENT_NEXT(event, len)) {
			close(event->fd);
			if (event->pid != pid)
				continue;
			fprintf(stderr, "event %#llx\n",
				(unsigned long long)event->mask);
			count++;
		}
	}
	return count;
}

int main(int argc, char **argv)
{
	const uint64_t mask = FAN_OPEN | FAN_ACCESS | FAN_MODIFY |
			      FAN_EVENT_ON_CHILD | FAN_ONDIR;
	int notify = fanotify_init(
		FAN_CLASS_NOTIF | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE, O_RDONLY);
	long swaps = 0;
	int i;

	for (i = 4; i < argc; i++)
		if (fanotify_mark(notify, FAN_MARK_ADD, mask, AT_FDCWD,
				  argv[i])) {
			perror("fanotify");
			return 1;
		}
	while (swaps < LEAST || !input_ended()) {
		if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2],
			      RENAME_EXCHANGE))
			return 2;
		swaps++;
	}
	printf("%ld\n", count_events(notify, (int)strtol(argv[3], NULL, 10)));
	fprintf(stderr, "%ld swaps\n", swaps);
	return 0;
}
