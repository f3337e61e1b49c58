/* SPDX-License-Identifier: Apache-2.0 */

/*
 * swap A B OUTSIDE...: makes two entries change places again and again, until
 * standard input ends, and watches what should be read by nobody meanwhile.
 * Prints how often files there were opened or read, and on standard error how
 * often the entries were swapped.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

static int input_ended(void)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	char byte;

	return poll(&input, 1, 0) == 1 && read(0, &byte, 1) <= 0;
}

static long count_events(int notify)
{
	static char events[65536];
	long count = 0;
	ssize_t len, at;

	while ((len = read(notify, events, sizeof(events))) > 0) {
		for (at = 0; at < len; count++) {
			const struct inotify_event *event =
				(const void *)(events + at);

			fprintf(stderr, "event %#x %s\n", event->mask,
				event->len ? event->name : "");
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	return count;
}

int main(int argc, char **argv)
{
	int notify = inotify_init1(IN_NONBLOCK);
	long swaps = 0;
	int i;

	for (i = 3; i < argc; i++)
		if (inotify_add_watch(notify, argv[i],
				      IN_OPEN | IN_ACCESS | IN_MODIFY |
					      IN_CREATE | IN_DELETE) < 0)
			return 1;
	while (!input_ended()) {
		if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2],
			      RENAME_EXCHANGE))
			return 2;
		swaps++;
	}
	fprintf(stderr, "%ld swaps\n", swaps);
	printf("%ld\n", count_events(notify));
	return 0;
}
