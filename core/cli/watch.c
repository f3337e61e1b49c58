/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/cli/groups/groups.h"
#include "core/cli/table.h"
#include "core/client/question.h"

/*
 * kin watch: what becomes of the contents of a mount, as it is committed.
 */
struct watch_job {
	bool alike;
	const char *since;
	struct mount mount;
	struct name_list within;
};

/* ---- when to end ---- */

/*
 * The main thread waits for the next change, which may never come.  This one
 * ends the program when nobody reads the output any more, or when the mount was
 * detached: it is gone only when the program has closed its file.
 */
static void *end_when_done(void *arg)
{
	const char *point = arg;
	struct pollfd watched[] = {
		{ .fd = STDOUT_FILENO },
		{ .fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC),
		  .events = POLLPRI },
	};
	struct stat st, now;

	if (stat(point, &st))
		return NULL;
	while (poll(watched, 2, -1) >= 0)
		if ((watched[0].revents & (POLLERR | POLLHUP)) ||
		    stat(point, &now) || now.st_dev != st.st_dev)
			_exit(EXIT_OK);
	return NULL;
}

/* ---- changes ---- */

/* Makes a path below the root a full one, if it is told. */
static int set_full_path(const struct watch_job *job, json_t *line,
			 const char *key)
{
	char *rel = json_get_path(line, key), *full = NULL;
	char hex[16];
	int err = !rel || text_is_plain_path(rel) ? 0 : -EBADMSG;

	(void)snprintf(hex, sizeof(hex), "%s_hex", key);
	(void)json_object_del(line, hex);
	if (!err && rel)
		full = path_shown(job->mount.root, rel, false);
	if (!err && rel)
		err = full ? json_set_path(line, key, full) : -ENOMEM;
	free(full);
	free(rel);
	return err;
}

/* The best near-duplicates of what the file is now; it may be gone again. */
static int set_alike(const struct watch_job *job, json_t *line, const char *rel)
{
	enum { ALIKE_MOST = 5 };
	const struct question question = { .path = rel,
					   .rules.relation = INDEX_ALIKE,
					   .ignore = true,
					   .limit = ALIKE_MOST };
	json_t *rows = json_array(), *row;
	struct answer a;
	char *full;
	int err = question_ask(&a, &job->mount, &question);

	while (!err && json_array_size(rows) < ALIKE_MOST &&
	       answer_next(&a) > 0) {
		full = path_shown(job->mount.root, a.path, false);
		row = full ? json_pack("{s:i}", "score", a.verdict.score) :
			     NULL;
		if (json_array_append_new(rows,
					  json_with_path(row, "path", full)))
			err = -ENOMEM;
		free(full);
	}
	answer_close(&a);
	return json_object_set_new(line, "alike", rows) ? -ENOMEM : err;
}

static int show_change(struct watch_job *job, json_t *line)
{
	const char *event = json_string_value(json_object_get(line, "event"));
	char *rel = json_get_path(line, "path");
	int err = event && rel ? set_full_path(job, line, "path") : -EBADMSG;

	if (!err)
		err = set_full_path(job, line, "from");
	if (!err && job->alike && strcmp(event, "removed") &&
	    !json_object_get(line, "directory"))
		err = set_alike(job, line, rel);
	free(rel);
	if (!err && cli_print_json(json_incref(line)))
		err = -EIO;
	if (!err && fflush(stdout))
		err = -errno;
	return err;
}

static int run(const struct command *self, char **paths)
{
	struct watch_job *job = self->job;
	struct lines c;
	const char *root, *why;
	pthread_t thread;
	int more = 1, err = name_list_find(&job->within, &job->mount, paths);

	if (!err)
		err = mount_listings_or_complain(&job->mount);
	if (err)
		return err;
	root = job->mount.root;
	err = client_ask(
		&c, job->mount.listings,
		json_pack("{s:s, s:o, s:s*}", "relation", "changes", "within",
			  json_paths(job->within.names, job->within.count),
			  "since", job->since));
	if (!err)
		err = -pthread_create(&thread, NULL, end_when_done,
				      job->mount.point);
	if (!err)
		pthread_detach(thread);
	while (!err && (more = client_next(&c)) > 0) {
		if (json_object_get(c.line, "watching"))
			fprintf(stderr, "watching %s, cursor %s\n", root,
				json_string_value(
					json_object_get(c.line, "cursor")));
		else
			err = show_change(job, c.line);
	}
	lines_close(&c);
	err = err ? err : more;
	why = err == -ENOBUFS ? "too many changes were not read; what changed "
				"since is not known" :
	      err == -ESTALE  ? "what changed since that cursor is not known" :
	      err == -EAGAIN  ? "you have too many watches" :
	      err == -EINVAL  ? "its kinfs is too old to be watched" :
				NULL;
	if (why)
		cli_complain(root, "%s", why);
	if (err == -ENOBUFS || err == -ESTALE)
		return EXIT_INCOMPLETE;
	return why ? EXIT_FAILED : err;
}

static const struct option_row options[] = {
	{ "alike", 0, NULL,
	  "with the best near-duplicates of what is new or changed",
	  OPTION_FLAG(struct watch_job, alike) },
	{ "since", 0, "CURSOR", "go on behind the line that had this cursor",
	  OPTION_TEXT(struct watch_job, since) },
	{ 0 },
};

const struct command command_watch = {
	.name = "watch",
	.operands = { 1, INT_MAX },
	.lacking = "which mount?",
	.synopsis = "watch [--alike] [--since CURSOR] MOUNT [PATH...]",
	.summary = "Tell which contents change, as it happens",
	.help = "A JSON object a line: path, event (new, changed, moved, removed), and for a\n"
		"changed file kept, the percentage of its earlier content that is left.  A list\n"
		"of paths to which the lines are applied in order is the tree.  With PATHs only\n"
		"what is below these.  Ends with the mount.\n",
	.options = options,
	.notes =
		"Exit status: 0 the mount has ended; 1 failed; 2 usage; 3 changes were lost,\n"
		"or those since CURSOR are not known.\n",
	.job = &(struct watch_job){ 0 },
	.run = run,
};
