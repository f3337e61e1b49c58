/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/catalog/catalog.h"
#include "core/cli/cli.h"
#include "core/cli/everywhere/everywhere.h"
#include "core/cli/progress.h"
#include "core/cli/table.h"

struct status_job {
	struct state_walk walk;
	struct mount mount;
	struct table table;
};

/* ---- one mount ---- */

/* A line; what a mount tells has no power over a terminal. */
static void say(const char *label, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const char *label, const char *format, ...)
{
	char *line = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		line = NULL;
	va_end(args);
	printf("%-10s ", label);
	utf8_print_safe(stdout, line ? line : "-");
	putchar('\n');
	free(line);
}

/* A file that is read for very long, as one that is nothing but a hole: it stops
 * no other, but kin wait. */
static void say_longest(const json_t *status)
{
	enum { LONG = 1 << 30 };
	json_t *longest = json_object_get(status, "longest");
	char *path = json_get_path(longest, "path");
	struct buf safe = { 0 };
	char size[TEXT_SIZE_ROOM], left[TEXT_SIZE_ROOM];

	if (path && told_number(longest, "left") >= LONG &&
	    !utf8_append_safe(&safe, path))
		say("longest",
		    "%s of %s left of %s; the option max_size of the mount "
		    "leaves such files out",
		    size_text((uint64_t)told_number(longest, "left"), left),
		    size_text((uint64_t)told_number(longest, "size"), size),
		    safe.data);
	buf_release(&safe);
	free(path);
}

static void say_activity(const json_t *status, const struct progress *p)
{
	struct buf files = { 0 }, left = { 0 };
	char size[TEXT_SIZE_ROOM];

	if (p->idle)
		progress_append_failed(p, &left);
	if (left.len)
		say("state", "idle, but %s", left.data);
	else if (p->idle && p->left)
		say("state",
		    "idle, but %lld %s open for writing or changing all the "
		    "time",
		    p->left, text_plural(p->left, "file is", "files are"));
	else if (p->idle && p->texts)
		say("state", "idle, but the text of %lld %s is not read",
		    p->texts,
		    text_plural(p->texts, "document or archive",
				"documents and archives"));
	else
		say("state", "%s",
		    p->idle     ? "idle, all digests are up to date" :
		    p->reading  ? "reading the catalog" :
		    p->scanning ? "scanning" :
		    p->paused   ? "waiting" :
		    p->left     ? "hashing" :
		    p->texts    ? "reading the texts of documents" :
				  "looking for changes");
	buf_release(&left);
	if (p->paused)
		say("paused", "%s", p->paused);
	if (!p->counted)
		say("progress", "%d %%", p->percent);
	progress_append_files(p, 0, &files);
	if (p->size > 0)
		say("reading", "%s", files.data);
	buf_release(&files);
	say_longest(status);
	if (!p->counted || p->reading)
		return;
	say("files", "%lld: %lld fresh, %lld pending, %lld failed", p->files,
	    told_number(status, "fresh"), p->left, p->failed);
	if (!p->idle || p->left)
		say("pending",
		    "%s; %lld in the queue, %lld being hashed, %lld uncommitted, "
		    "%lld waited for",
		    size_text((uint64_t)told_number(status, "pending_bytes"),
			      size),
		    told_number(status, "queue"),
		    told_number(status, "hashing"),
		    told_number(status, "uncommitted"),
		    told_number(status, "waiting"));
	say("contents", "%lld different ones", told_number(status, "contents"));
}

/* The daemon as /proc shows it; -1: not told, or not there. */
struct process {
	int64_t pid, memory, seconds; /* bytes; of processor time */
};

static void process_read(const json_t *status, struct process *out)
{
	const long long pid = told_number(status, "pid");
	unsigned long long user, system;
	char path[40];
	long pages;
	FILE *f;

	*out = (struct process){ -1, -1, -1 };
	(void)snprintf(path, sizeof(path), "/proc/%lld/stat", pid);
	f = pid ? fopen(path, "re") : NULL;
	/* Fields 14, 15 and 24; the name, in parentheses, is that of kinfs. */
	if (f && fscanf(f,
			"%*d (kinfs) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
			"%*u %llu %llu %*d %*d %*d %*d %*d %*d %*u %*u %ld",
			&user, &system, &pages) == 3)
		*out = (struct process){
			.pid = pid,
			.memory = (int64_t)pages * sysconf(_SC_PAGESIZE),
			.seconds =
				(int64_t)(user + system) / sysconf(_SC_CLK_TCK),
		};
	if (f)
		(void)fclose(f);
}

static void say_process(const json_t *status)
{
	struct process p;
	char size[TEXT_SIZE_ROOM];

	process_read(status, &p);
	if (p.pid > 0)
		say("process", "%lld, %s of memory, %lld s of processor time",
		    (long long)p.pid, size_text((uint64_t)p.memory, size),
		    (long long)p.seconds);
}

static void say_work(const json_t *status)
{
	const json_t *hashed = json_object_get(status, "hashed");
	const json_t *scan = json_object_get(status, "scan");
	const json_t *watch = json_object_get(status, "watch");
	char size[TEXT_SIZE_ROOM];

	if (hashed) {
		say("hashed", "%lld %s, %s since it was mounted %lld s ago",
		    told_number(hashed, "files"),
		    text_plural(told_number(hashed, "files"), "file", "files"),
		    size_text((uint64_t)told_number(hashed, "bytes"), size),
		    told_number(hashed, "since"));
		say("scan", "%s, %lld files seen, %lld skipped, %lld finished",
		    told_flag(scan, "running") ? "running" : "not running",
		    told_number(scan, "files_seen"),
		    told_number(status, "skipped"), told_number(scan, "scans"));
	}
	/* Changes that others make behind the mount. */
	if (watch)
		say("behind", "%s",
		    told_flag(watch, "on") ?
			    "watched: changes are seen at once" :
			    "not watched: changes are seen at the next "
			    "request");
	if (told_number(status, "rate"))
		say("at most", "%lld MB/s in the background",
		    told_number(status, "rate") / 1000000);
}

static void say_rest(const json_t *status)
{
	const json_t *catalog = json_object_get(status, "catalog"), *name;
	const json_t *share = json_object_get(status, "share");
	const json_t *texts = json_object_get(status, "texts");
	const char *error = json_string_value(json_object_get(share, "error"));
	char size[TEXT_SIZE_ROOM] = "";
	struct buf names = { 0 };
	size_t i;

	if (told_flag(catalog, "open"))
		(void)size_text((uint64_t)told_number(catalog, "bytes"), size);
	if (json_object_get(catalog, "path"))
		say("catalog", "%s%s%s", told_text(catalog, "path"),
		    *size ? ", " : "", size);
	if (json_is_string(json_object_get(catalog, "error")))
		say("error", "%s", told_text(catalog, "error"));
	json_array_foreach(json_object_get(status, "digests"), i, name)
		(void)buf_append_format(
			&names, "%s%s", i ? " " : "",
			json_is_string(name) ? json_string_value(name) : "-");
	if (names.len)
		say("digests", "%s", names.data);
	if (!strcmp(told_text(texts, "state"), "not installed"))
		say("texts", "documents are alike by their bytes alone: "
			     "kin-extract is not installed");
	else if (json_object_get(texts, "made"))
		say("texts",
		    "%s; %lld documents and archives, %lld pending, %lld failed",
		    told_text(texts, "state"), told_number(texts, "made"),
		    told_number(texts, "pending"),
		    told_number(texts, "failed"));
	buf_release(&names);
	if (json_object_get(status, "threshold"))
		say("listings", "%s, threshold %lld",
		    told_text(status, "similar_name"),
		    told_number(status, "threshold"));
	if (share && !(error && *error))
		error = told_flag(share, "current") ?
				"everything is published" :
				"publishing";
	if (share)
		say("share", "%s: %s, %lld files published",
		    told_text(share, "host"), error,
		    told_number(share, "published"));
}

/* Not every caller is told everything: what is missing is left out. */
static int show_status(const struct mount *mount, bool as_json)
{
	json_t *status = mount->status, *share = everywhere_status(mount);
	struct progress p;

	if (share)
		(void)json_object_set_new(status, "share", share);
	if (as_json)
		return cli_print_json(json_incref(status));
	progress_read(status, &p);
	if (json_object_get(status, "source"))
		say("source", "%s", told_text(status, "source"));
	say("version", "%s", told_text(status, "version"));
	say_activity(status, &p);
	say_work(status);
	say_process(status);
	say_rest(status);
	return EXIT_OK;
}

/* ---- the files of a mount ---- */

static const struct column file_columns[] = {
	{ "reason", "REASON", COLUMN_WORD, COLUMN_SHOWN },
	{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
	{ 0 },
};

/* 1: a file that the caller may not read is told of to the owner alone. */
static int take_failure(struct state_walk *s, int err)
{
	/* Only the owner is told such a number. */
	const bool is_owner = json_object_get(s->mount->status, "failed");

	if (err == -ENOENT || (err == -EACCES && !is_owner))
		return 0;
	(void)snprintf(s->state, sizeof(s->state), "error:%s", err_name(err));
	return s->failed;
}

/* A file whose text failed.  That no program reads its format is no failure. */
static bool take_text(struct state_walk *s)
{
	char text[sizeof(s->state)];
	ssize_t len = getxattr(s->path, TEXT_ATTRIBUTE, text, sizeof(text) - 1);

	text[len < 0 ? 0 : len] = '\0';
	if (strcmp(text, "failed:damaged") && strcmp(text, "failed:limit"))
		return false;
	(void)snprintf(s->state, sizeof(s->state), "text%s", strchr(text, ':'));
	return true;
}

/* Every word for a state is short; many files are asked for it.  A directory
 * has one only when all that is in it is skipped, or it could not be listed. */
static int take_entry(struct state_walk *s, const struct tree_entry *entry)
{
	const char *listings = s->mount->listings;
	ssize_t len;

	s->path = entry->path;
	/* A directory that could not be listed was told before by its state. */
	if (entry->error)
		return entry->is_directory && *s->state ?
			       0 :
			       take_failure(s, entry->error);
	*s->state = '\0';
	if (!entry->is_directory && !entry->is_file)
		return 0;
	/* With similar=show the root lists it. */
	if (entry->is_directory && listings && !strcmp(s->path, listings)) {
		tree_walk_skip(s->tree);
		return 0;
	}
	len = getxattr(s->path, STATE_ATTRIBUTE, s->state,
		       sizeof(s->state) - 1);
	if (len < 0)
		return entry->is_directory ? 0 : take_failure(s, -errno);
	s->state[len] = '\0';
	s->pending += !strcmp(s->state, "pending") || !strcmp(s->state, "busy");
	if (entry->is_directory && !strncmp(s->state, "skipped:", 8))
		tree_walk_skip(s->tree);
	if (s->has_texts && !strcmp(s->state, "fresh") && take_text(s))
		return true;
	return (s->failed && !strncmp(s->state, "error:", 6)) ||
	       (s->skipped && !strncmp(s->state, "skipped:", 8));
}

void state_walk_begin(struct state_walk *s, const struct mount *mount,
		      const char *rel)
{
	char *top = path_shown(mount->point, rel, false);

	s->mount = mount;
	s->has_texts =
		s->failed &&
		told_number(json_object_get(mount->status, "texts"), "failed");
	s->tree = top ? tree_walk_begin(top, TREE_ONE_DEVICE) : NULL;
	free(top);
}

bool state_walk_next(struct state_walk *s)
{
	const struct tree_entry *entry;

	while (s->tree && (entry = tree_walk_next(s->tree)))
		if (take_entry(s, entry))
			return true;
	return false;
}

static int show_files(struct status_job *job)
{
	const char *root = job->mount.root;
	struct state_walk *s = &job->walk;
	json_t *row;
	int code = 0;

	job->table.columns = file_columns;
	state_walk_begin(s, &job->mount, job->mount.rel);
	while (!code && state_walk_next(s)) {
		row = json_with_path(json_pack("{s:s}", "reason", s->state),
				     "root", root);
		code = table_row(
			&job->table,
			json_with_path(row, "path",
				       path_below(s->path, job->mount.point)));
	}
	code = tree_walk_end(s->tree, code);
	if (code)
		return code;
	if (job->table.output.json)
		code |= table_totals(json_pack("{s:I}", "files",
					       (json_int_t)job->table.rows),
				     !s->pending && !code, NULL);
	if (!s->pending)
		return code;
	cli_complain(root, "%zu %s not hashed yet; kin wait waits for %s",
		     s->pending,
		     text_plural(s->pending, "file is", "files are"),
		     text_plural(s->pending, "it", "them"));
	return code ? code : EXIT_INCOMPLETE;
}

/* ---- all mounts ---- */

static const struct column columns[] = {
	{ "state", "STATE", COLUMN_WORD, COLUMN_SHOWN },
	{ "files", "FILES", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "pending", "PENDING", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "failed", "FAILED", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "pid", "PID", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "memory", "MEMORY", COLUMN_SIZE, COLUMN_SHOWN },
	{ "processor", "SECONDS", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "path", "MOUNT", COLUMN_PATH, COLUMN_SHOWN },
	{ "source", "of", COLUMN_NOTE, COLUMN_SHOWN },
	{ 0 },
};

enum { ANSWER_S = 2 };

static const char *state_of(const struct mntent *m, json_t **status,
			    struct progress *p)
{
	int err;

	/* Another user's daemon can say anything. */
	if (!mount_is_trusted(m->mnt_opts))
		return "not-asked";
	err = mount_get_status_within(m->mnt_dir, ANSWER_S, status);
	if (err)
		return err == -ETIMEDOUT               ? "no-answer" :
		       err == -EACCES || err == -EPERM ? "not-accessible" :
							 "dead";
	progress_read(*status, p);
	return p->paused   ? "paused" :
	       p->idle     ? "idle" :
	       p->scanning ? "scanning" :
			     "hashing";
}

static int show_mount(struct table *table, const struct mntent *m)
{
	json_t *status = NULL, *row;
	struct progress p = { .counted = false };
	const char *state = state_of(m, &status, &p);
	struct process process;

	process_read(status, &process);
	row = json_pack("{s:s, s:o*, s:o*, s:o*, s:O*, s:o*, s:o*, s:o*}",
			"state", state, "pid", row_number(process.pid),
			"memory", row_number(process.memory), "processor",
			row_number(process.seconds), "source",
			json_object_get(status, "source"), "files",
			row_number(p.counted ? p.files : -1), "pending",
			row_number(p.counted ? p.left : -1), "failed",
			row_number(p.counted ? p.failed : -1));
	json_decref(status);
	return table_row(table, json_with_path(row, "path", m->mnt_dir));
}

static const struct column kept_columns[] = {
	{ "state", "STATE", COLUMN_WORD, COLUMN_SHOWN },
	{ "size", "CATALOG", COLUMN_SIZE, COLUMN_SHOWN },
	{ "mtime", "ASKED", COLUMN_DATE, COLUMN_SHOWN },
	{ "path", "DIRECTORY", COLUMN_PATH, COLUMN_SHOWN },
	{ 0 },
};

/* The directories that kin mounted for a question: their catalogs are kept. */
static int show_kept(struct table *table)
{
	struct table kept = { .columns = kept_columns,
			      .output = table->output,
			      .rows = table->rows };
	struct catalog_asked a;
	int code = catalog_asked_begin(&a);

	while (!code && catalog_asked_next(&a)) {
		if (table->rows && !kept.has_titles && !table->output.json)
			putchar('\n');
		code = table_row(
			&kept,
			json_with_path(json_pack("{s:s, s:I, s:I}", "state",
						 "kept", "size",
						 (json_int_t)a.bytes, "mtime",
						 (json_int_t)a.when),
				       "path", a.source));
	}
	catalog_asked_end(&a);
	if (!code && !kept.rows)
		cli_complain(NULL, "nothing is mounted; kinfs SOURCE "
				   "MOUNTPOINT mounts a tree");
	return code;
}

static int show_mounts(struct table *table)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *m;
	int code = EXIT_OK;

	while (mounts && !code && (m = getmntent(mounts)))
		if (!strcmp(m->mnt_type, "fuse.kinfs"))
			code = show_mount(table, m);
	if (mounts)
		(void)endmntent(mounts);
	if (!code)
		code = show_kept(table);
	if (code || !table->output.json)
		return code;
	return table_totals(
		json_pack("{s:I}", "mounts", (json_int_t)table->rows), true,
		NULL);
}

/* ---- the command ---- */

static int run(const struct command *self, char **paths)
{
	struct status_job *job = self->job;
	const bool lists = job->walk.failed || job->walk.skipped;
	int err;

	if (lists && !*paths)
		return cli_usage_error(self, "which mount?");
	if (!*paths)
		return show_mounts(&job->table);
	job->table.relative = **paths != '/';
	err = mount_find(*paths, &job->mount);
	if (err)
		return err;
	return lists ? show_files(job) :
		       show_status(&job->mount, job->table.output.json);
}

static const struct option_row options[] = {
	{ "failed", 0, NULL,
	  "list the files at and below PATH that could not be hashed, or whose "
	  "text could not be read, and why: error:EIO  PATH",
	  OPTION_FLAG(struct status_job, walk.failed) },
	{ "skipped", 0, NULL,
	  "list those that are not to be hashed: skipped:exclude  PATH; a "
	  "directory stands for all in it",
	  OPTION_FLAG(struct status_job, walk.skipped) },
	{ "json", 0, NULL,
	  "the daemon's own answer, the value of user.kinfs.status; or the "
	  "list, an object a line, the last one with totals",
	  OPTION_FLAG(struct status_job, table.output.json),
	  .excludes = "null" },
	{ "null", '0', NULL, "of the list the paths alone, each ended by NUL",
	  OPTION_FLAG(struct status_job, table.output.nul) },
	{ 0 },
};

const struct command command_status = {
	.name = "status",
	.operands = { 0, 1 },
	.lacking = "which mount?",
	.synopsis = "status [--json] [MOUNT]\n"
		    "       kin status [--failed] [--skipped] [--json|-0] PATH",
	.summary =
		"Show what a kinfs mount is doing, or which mounts there are",
	.help = "MOUNT is the mount point or any path below it; without it all are listed.\n",
	.options = options,
	.notes = "Exit status: 0 ok; 1 failed; 2 usage; 3 the list may grow, "
		 "because files are\n"
		 "still to be hashed.\n",
	.job = &(struct status_job){ .table.columns = columns },
	.run = run,
};

/* ---- words to the daemon ---- */

static int send_word(const struct command *self, char **paths)
{
	static struct mount mount;
	const char *word = self->name;
	int err = mount_find(*paths, &mount);

	if (!err &&
	    setxattr(mount.point, CONTROL_ATTRIBUTE, word, strlen(word), 0))
		err = -errno;
	return err == -EINVAL && mount.root ?
		       cli_complain(mount.root,
				    "its kinfs is too old for that") :
		       err;
}

const struct command command_rescan = {
	.name = "rescan",
	.operands = { 1, 1 },
	.lacking = "which mount?",
	.synopsis = "rescan MOUNT",
	.summary = "Let a kinfs mount look for changes made behind its back",
	.help = "Starts a scan and returns at once; kin wait waits for its end.  MOUNT is the\n"
		"mount point or any path below it.\n",
	.run = send_word,
};

const struct command command_pause = {
	.name = "pause",
	.operands = { 1, 1 },
	.lacking = "which mount?",
	.synopsis = "pause MOUNT",
	.summary = "Let a kinfs mount hash only files that are waited for",
	.help = "Until kin resume, or until it is mounted anew.  What is to be hashed is still\n"
		"found out, and hashed later.  MOUNT is the mount point or any path below it.\n",
	.run = send_word,
};

const struct command command_resume = {
	.name = "resume",
	.operands = { 1, 1 },
	.lacking = "which mount?",
	.synopsis = "resume MOUNT",
	.summary = "End what kin pause began",
	.help = "MOUNT is the mount point or any path below it.\n",
	.run = send_word,
};
