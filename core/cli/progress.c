/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/act/groups/groups.h"
#include "core/base/text.h"
#include "core/cli/cli.h"

/* ---- of the daemon ---- */

void progress_read(const json_t *status, struct progress *out)
{
	const json_t *catalog = json_object_get(status, "catalog");
	const json_t *reading = json_object_get(status, "progress");
	const json_t *texts = json_object_get(status, "texts");
	const char *state = json_string_value(json_object_get(texts, "state"));
	const bool reads_texts = state && strcmp(state, "off") != 0;
	struct progress p = {
		.idle = told_flag(status, "idle"),
		.scanning =
			told_flag(json_object_get(status, "scan"), "running"),
		.counted = json_object_get(status, "files") != NULL,
		.files = told_number(status, "files"),
		.left = told_number(status, "pending"),
		.failed = told_number(status, "failed"),
		.unread = told_number(status, "unread"),
		.unsteady = told_number(status, "unsteady"),
		.texts = reads_texts ? told_number(texts, "pending") : 0,
		.failed_texts = reads_texts ? told_number(texts, "failed") : 0,
		.has_extract = state && strcmp(state, "not installed"),
		.percent = told_number(status, "percent") < 100 ?
				   (int)told_number(status, "percent") :
				   100,
		.error = json_string_value(json_object_get(catalog, "error")),
		.paused = json_string_value(json_object_get(status, "paused")),
		.stalled = told_flag(status, "stalled"),
		.done = (double)told_number(reading, "done"),
		.size = (double)told_number(reading, "size"),
		.speed = (double)told_number(reading, "speed"),
	};

	p.reading = !p.error && json_is_false(json_object_get(catalog, "open"));
	if (p.paused && !strcmp(p.paused, "asked"))
		p.paused = "by kin pause, until kin resume";
	p.left_bytes = (double)told_number(status, "pending_bytes") - p.done;
	if (p.left_bytes < p.size - p.done)
		p.left_bytes = p.size - p.done;
	p.seconds = p.speed > 0 && !p.scanning ? p.left_bytes / p.speed : -1;
	*out = p;
}

void progress_append_files(const struct progress *p, double least_size,
			   struct buf *out)
{
	static const struct {
		double least, seconds;
		const char *name;
	} units[] = {
		{ 360000, 86400, "days" },
		{ 6000, 3600, "h" },
		{ 100, 60, "min" },
		{ 0, 1, "s" },
	};
	char done[TEXT_SIZE_ROOM], size[TEXT_SIZE_ROOM], speed[TEXT_SIZE_ROOM];
	const size_t begin = out->len;
	size_t i = 0;

	if (p->size > 0 && p->size >= least_size)
		(void)buf_append_format(
			out, "%s of %s",
			text_format_size(p->done, TEXT_UNITS_BRIEF, done),
			text_format_size(p->size, TEXT_UNITS_BRIEF, size));
	if (out->len > begin && p->speed > 0)
		(void)buf_append_format(
			out, ", %s/s",
			text_format_size(p->speed, TEXT_UNITS_BRIEF, speed));
	if (p->seconds < 0)
		return;
	while (p->seconds < units[i].least)
		i++;
	(void)buf_append_format(out, "%s%.0f %s left",
				out->len > begin ? ", " : "",
				p->seconds / units[i].seconds, units[i].name);
}

void progress_append_failed(const struct progress *p, struct buf *out)
{
	if (p->failed)
		(void)buf_append_format(
			out, "%lld %s could not be hashed", p->failed,
			text_plural((uint64_t)p->failed, "file", "files"));
	if (p->unread)
		(void)buf_append_format(out, "%s%lld %s could not be looked at",
					p->failed ? " and " : "", p->unread,
					text_plural((uint64_t)p->unread,
						    "file or directory",
						    "files or directories"));
	cli_append_failed_texts((uint64_t)p->failed_texts, out);
	if (out->len)
		(void)buf_append_text(out, ": kin status --failed");
}

void progress_append_texts(const struct progress *p, struct buf *out)
{
	(void)buf_append_format(
		out, "the text of %lld %s is not read: %s", p->texts,
		text_plural((uint64_t)p->texts, "document or archive",
			    "documents and archives"),
		p->has_extract ? "kin-extract cannot be started, or the files "
				 "are open for writing" :
				 "kin-extract is not installed (with -o "
				 "text=no it is not missed)");
}

/* ---- of a command ---- */

static int shown = -1;

void progress_clear(void)
{
	if (shown >= 0)
		fputs("\r\033[K", stderr);
	shown = -1;
}

/* A pager, or another reader of a pipe, has the terminal for itself. */
static bool has_terminal(void)
{
	struct stat st;

	return isatty(STDERR_FILENO) && !fstat(STDOUT_FILENO, &st) &&
	       !S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode);
}

void progress_show(const char *what, double share)
{
	enum { WIDTH = 30 };
	static char last[160];
	static int terminal = -1;
	int percent = (int)(100 * share), full = percent * WIDTH / 100;

	if (terminal < 0)
		terminal = has_terminal();
	if (!terminal ||
	    (percent == shown && !strncmp(what, last, sizeof(last) - 1)))
		return;
	shown = percent;
	(void)snprintf(last, sizeof(last), "%s", what);
	fprintf(stderr, "\r[%.*s%*s] %3d %%  %s\033[K", full,
		"##############################", WIDTH - full, "", percent,
		last);
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
