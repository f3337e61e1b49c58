/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/act/groups/groups.h"

static double number(const json_t *object, const char *key)
{
	return (double)json_integer_value(json_object_get(object, key));
}

void progress_read_files(const json_t *status, struct progress_files *out)
{
	const json_t *progress = json_object_get(status, "progress");

	out->done = number(progress, "done");
	out->size = number(progress, "size");
	out->speed = number(progress, "speed");
	out->left = number(status, "pending_bytes") - out->done;
	if (out->left < out->size - out->done)
		out->left = out->size - out->done;
	out->seconds = out->speed > 0 ? out->left / out->speed : -1;
}

void progress_print_bytes(double bytes)
{
	char text[TEXT_SIZE_ROOM];

	fputs(text_format_size(bytes, TEXT_UNITS_BRIEF, text), stdout);
}

static void print_time(double seconds)
{
	if (seconds < 100)
		printf("%.0f s", seconds);
	else if (seconds < 100 * 60)
		printf("%.0f min", seconds / 60);
	else if (seconds < 100 * 3600)
		printf("%.0f h", seconds / 3600);
	else
		printf("%.0f days", seconds / (24 * 3600));
}

void progress_print_left(const struct progress_files *f)
{
	if (f->seconds < 0)
		return;
	fputs(", ", stdout);
	print_time(f->seconds);
	fputs(" left", stdout);
}

void progress_print_files(const struct progress_files *f)
{
	progress_print_bytes(f->done);
	fputs(" of ", stdout);
	progress_print_bytes(f->size);
	if (f->speed > 0) {
		fputs(", ", stdout);
		progress_print_bytes(f->speed);
		fputs("/s", stdout);
	}
	progress_print_left(f);
}

/* ---- of a command ---- */

enum { BAR_WIDTH = 30 };

static int shown = -1;

void progress_clear(void)
{
	if (shown >= 0)
		fputs("\r\033[K", stderr);
	shown = -1;
}

void progress_show(const char *what, double share)
{
	static int terminal = -1;
	int percent = (int)(100 * share), i;

	if (terminal < 0)
		terminal = isatty(STDERR_FILENO);
	if (percent == shown || !terminal)
		return;
	shown = percent;
	fputs("\r[", stderr);
	for (i = 0; i < BAR_WIDTH; i++)
		putc(i < percent * BAR_WIDTH / 100 ? '#' : ' ', stderr);
	fprintf(stderr, "] %3d %%  %s\033[K", percent, what);
}

int progress_groups_next(struct groups *g, const char *what, bool quiet)
{
	int event;

	do {
		event = groups_next(g);
		if (event > 0 && !(quiet && g->is_listing))
			progress_show(g->is_listing ? "listing groups" : what,
				      g->done);
	} while (event == GROUPS_PROGRESS);
	if (event <= 0 || quiet)
		progress_clear();
	return event;
}
