/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/cli/progress.h"
#include "core/cli/record.h"
#include "core/cli/everywhere/everywhere.h"
#include "core/cli/status_list.h"

/* ---- status ---- */

static long long number(const json_t *object, const char *key)
{
	return (long long)json_integer_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "-";
}

static void print_line(const char *label, const char *value)
{
	printf("%-10s ", label);
	cli_print_escaped(value, ESCAPE_TERMINAL);
	putchar('\n');
}

static void print_activity(const struct progress *p)
{
	if (p->idle && p->failed)
		printf("%-10s idle, but %lld %s could not be hashed: "
		       "kin status --failed\n",
		       "state", p->failed,
		       text_plural((uint64_t)p->failed, "file", "files"));
	else if (p->idle && p->left)
		printf("%-10s idle, but %lld %s open for writing or changing "
		       "all the time\n",
		       "state", p->left,
		       text_plural((uint64_t)p->left, "file is", "files are"));
	else
		print_line("state", p->idle ?
					    "idle, all digests are up to date" :
				    p->reading  ? "reading the catalog" :
				    p->scanning ? "scanning" :
				    p->paused   ? "waiting" :
				    p->left     ? "hashing" :
					      "reading the texts of documents");
	if (p->paused)
		print_line("paused", p->paused);
	if (!p->counted)
		printf("%-10s %d %%\n", "progress", p->percent);
}

/* Of the files that are being read. */
static void print_files(const json_t *status)
{
	struct progress_files files;

	progress_read_files(status, &files);
	if (files.size <= 0)
		return;
	printf("%-10s ", "reading");
	progress_print_files(&files);
	putchar('\n');
}

static void print_names(const json_t *status)
{
	const json_t *names = json_object_get(status, "digests"), *name;
	size_t i;

	printf("%-10s", "digests");
	json_array_foreach(names, i, name) printf(
		" %s", json_is_string(name) ? json_string_value(name) : "-");
	putchar('\n');
}

static void print_counts(const json_t *status)
{
	printf("%-10s %lld: %lld fresh, %lld pending, %lld failed\n", "files",
	       number(status, "files"), number(status, "fresh"),
	       number(status, "pending"), number(status, "failed"));
	printf("%-10s ", "pending");
	progress_print_bytes((double)number(status, "pending_bytes"));
	printf("; %lld in the queue, %lld being hashed, %lld uncommitted, "
	       "%lld waited for\n",
	       number(status, "queue"), number(status, "hashing"),
	       number(status, "uncommitted"), number(status, "waiting"));
	printf("%-10s %lld different ones\n", "contents",
	       number(status, "contents"));
}

static void print_work(const json_t *status)
{
	const json_t *hashed = json_object_get(status, "hashed");
	const json_t *scan = json_object_get(status, "scan");

	printf("%-10s %lld %s, ", "hashed", number(hashed, "files"),
	       text_plural((uint64_t)number(hashed, "files"), "file", "files"));
	progress_print_bytes((double)number(hashed, "bytes"));
	printf(" since it was mounted %lld s ago\n", number(hashed, "since"));
	printf("%-10s %s, %lld files seen, %lld skipped, %lld finished\n",
	       "scan",
	       json_is_true(json_object_get(scan, "running")) ? "running" :
								"not running",
	       number(scan, "files_seen"), number(status, "skipped"),
	       number(scan, "scans"));
}

/* Changes that others make behind the mount. */
static void print_watch(const json_t *status)
{
	const json_t *watch = json_object_get(status, "watch");

	print_line("behind", json_is_true(json_object_get(watch, "on")) ?
				     "watched: changes are seen at once" :
				     "not watched: changes are seen at the "
				     "next request");
}

static void print_rate(const json_t *status)
{
	long long rate = number(status, "rate");

	if (rate)
		printf("%-10s %lld MB/s in the background\n", "at most",
		       rate / 1000000);
}

static void print_catalog(const json_t *status)
{
	const json_t *catalog = json_object_get(status, "catalog");

	if (json_object_get(catalog, "path")) {
		printf("%-10s ", "catalog");
		cli_print_escaped(text(catalog, "path"), ESCAPE_TERMINAL);
		if (json_is_true(json_object_get(catalog, "open"))) {
			fputs(", ", stdout);
			progress_print_bytes((double)number(catalog, "bytes"));
		}
		putchar('\n');
	}
	if (json_is_string(json_object_get(catalog, "error")))
		print_line("error", text(catalog, "error"));
}

static bool has(const json_t *status, const char *key)
{
	return json_object_get(status, key) != NULL;
}

static void print_share(const json_t *share)
{
	const char *error = json_string_value(json_object_get(share, "error"));

	printf("%-10s ", "share");
	if (has(share, "host")) {
		cli_print_escaped(text(share, "host"), ESCAPE_TERMINAL);
		fputs(": ", stdout);
	}
	if (error && *error)
		cli_print_escaped(error, ESCAPE_TERMINAL);
	else if (json_is_true(json_object_get(share, "current")))
		printf("everything is published, %lld files",
		       number(share, "published"));
	else
		printf("publishing, %lld files so far",
		       number(share, "published"));
	putchar('\n');
}

/* Of documents. */
static void print_texts(const json_t *texts)
{
	const char *state = text(texts, "state");

	if (!strcmp(state, "not installed"))
		print_line("texts", "documents are alike by their bytes alone: "
				    "kin-extract is not installed");
	else if (strcmp(state, "on") != 0 || !has(texts, "made"))
		print_line("texts", state);
	else
		printf("%-10s of %lld documents and archives, %lld pending\n",
		       "texts", number(texts, "made"),
		       number(texts, "pending"));
}

/* Not every caller is told everything: what is missing is left out. */
static void print_status(const json_t *status)
{
	struct progress p;

	progress_read(status, &p);
	if (has(status, "source"))
		print_line("source", text(status, "source"));
	print_line("version", text(status, "version"));
	print_activity(&p);
	print_files(status);
	if (p.counted && !p.reading)
		print_counts(status);
	if (has(status, "hashed"))
		print_work(status);
	if (has(status, "watch"))
		print_watch(status);
	print_rate(status);
	if (has(status, "catalog"))
		print_catalog(status);
	if (has(status, "digests"))
		print_names(status);
	if (has(status, "texts"))
		print_texts(json_object_get(status, "texts"));
	if (has(status, "threshold"))
		printf("%-10s %s, threshold %lld\n", "listings",
		       text(status, "similar_name"),
		       number(status, "threshold"));
	if (has(status, "share"))
		print_share(json_object_get(status, "share"));
}

static int show_status(const struct mount *mount, bool as_json)
{
	json_t *status, *share;
	int err = mount_get_status(mount->root, &status);

	if (err) {
		cli_complain_errno(mount->root, err);
		return EXIT_FAILED;
	}
	share = everywhere_status(mount);
	if (share)
		(void)json_object_set_new(status, "share", share);
	if (as_json)
		return cli_print_json(status);
	print_status(status);
	json_decref(status);
	return EXIT_OK;
}

/* ---- all mounts ---- */

static const struct column columns[] = {
	{ "state", "STATE", COLUMN_WORD, COLUMN_SHOWN },
	{ "files", "FILES", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "pending", "PENDING", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "failed", "FAILED", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "path", "MOUNT", COLUMN_PATH, COLUMN_SHOWN },
	{ "source", "of", COLUMN_NOTE, COLUMN_SHOWN },
	{ 0 },
};

static struct cell count_of(const json_t *status, const char *key)
{
	const json_t *value = json_object_get(status, key);

	return json_is_integer(value) ? cell_number(json_integer_value(value)) :
					cell_none();
}

/* Another user's daemon may let a question wait for ever. */
static bool is_own(const struct mntent *m)
{
	const char *owner = hasmntopt(m, "user_id");
	unsigned long uid =
		owner ? strtoul(owner + strlen("user_id="), NULL, 10) : 0;

	return !uid || uid == getuid();
}

static const char *state_of(const struct mntent *m, json_t **status_out)
{
	struct progress p;

	if (!is_own(m))
		return "not-asked";
	if (mount_get_status(m->mnt_dir, status_out))
		return "dead";
	progress_read(*status_out, &p);
	return p.paused   ? "paused" :
	       p.idle     ? "idle" :
	       p.scanning ? "scanning" :
			    "hashing";
}

static int show_mount(struct table *table, const struct mntent *m)
{
	json_t *status = NULL;
	const char *state = state_of(m, &status);
	const json_t *source = json_object_get(status, "source");
	const struct cell cells[] = {
		cell_word(state),
		count_of(status, "files"),
		count_of(status, "pending"),
		count_of(status, "failed"),
		cell_path(m->mnt_dir, NULL),
		cell_path(json_string_value(source), NULL),
	};
	int code = table_row(table, cells);

	json_decref(status);
	return code;
}

static int show_mounts(const struct output *output)
{
	struct table table = { .columns = columns, .output = *output };
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *m;
	struct record r;
	int64_t count = 0;
	int code = EXIT_OK;

	while (mounts && !code && (m = getmntent(mounts)))
		if (!strcmp(m->mnt_type, "fuse.kinfs")) {
			code = show_mount(&table, m);
			count++;
		}
	if (mounts)
		(void)endmntent(mounts);
	if (!code && !count && !output->json)
		cli_complain(NULL, "nothing is mounted; kinfs SOURCE "
				   "MOUNTPOINT mounts a tree");
	if (code || !output->json)
		return code;
	record_totals(&r);
	record_number(&r, "mounts", count);
	record_complete(&r, true, NULL);
	return record_print(&r);
}

static int parse_status(struct status_list *list, int argc, char **argv)
{
	int code = options_parse(&command_status, list, argc, argv);

	if (!code && (argc - optind > 1 ||
		      (argc == optind && (list->failed || list->skipped))))
		return cli_usage_error(&command_status, "which mount?");
	return code ? code : output_check(&command_status, &list->output);
}

static int run_status(int argc, char **argv)
{
	struct status_list list = { 0 };
	struct mount mount = { 0 };
	char *base = NULL;
	int code = parse_status(&list, argc, argv);

	if (!code && optind == argc)
		return show_mounts(&list.output);
	if (!code)
		base = path_base_of(argv[optind]);
	if (!code)
		code = mount_find_or_complain(argv[optind], &mount);
	if (!code && (list.failed || list.skipped))
		code = status_list_print(&list, &mount, base);
	else if (!code)
		code = show_status(&mount, list.output.json);
	mount_release(&mount);
	free(base);
	return code;
}

static const struct option_row options[] = {
	{ "failed", 0, NULL,
	  "list the files at and below PATH that could not be hashed, and "
	  "why: error:EIO  PATH",
	  OPTION_FLAG(struct status_list, failed) },
	{ "skipped", 0, NULL,
	  "list those that are not to be hashed: skipped:exclude  PATH; a "
	  "directory stands for all in it",
	  OPTION_FLAG(struct status_list, skipped) },
	{ "json", 0, NULL,
	  "the daemon's own answer, the value of user.kinfs.status; or the "
	  "list, an object a line, the last one with totals",
	  OPTION_FLAG(struct status_list, output.json) },
	{ "null", '0', NULL, "of the list the paths alone, each ended by NUL",
	  OPTION_FLAG(struct status_list, output.nul) },
	{ 0 },
};

const struct command command_status = {
	.name = "status",
	.synopsis = "status [--json] [MOUNT]\n"
		    "       kin status [--failed] [--skipped] [--json|-0] PATH",
	.summary =
		"Show what a kinfs mount is doing, or which mounts there are",
	.help = "MOUNT is the mount point or any path below it; without it all are listed.\n",
	.options = options,
	.notes = "Exit status: 0 ok; 1 failed; 2 usage; 3 the list may grow, "
		 "because files are\n"
		 "still to be hashed.\n",
	.run = run_status,
};

/* ---- words to the daemon ---- */

static int mount_argument(const struct command *command, int argc, char **argv)
{
	int code = options_parse(command, NULL, argc, argv);

	if (!code && argc - optind != 1)
		return cli_usage_error(command, "which mount?");
	return code;
}

static int say(const struct command *command, int argc, char **argv)
{
	const char *word = command->name;
	struct mount mount = { 0 };
	int code = mount_argument(command, argc, argv);

	if (!code)
		code = mount_find_or_complain(argv[optind], &mount);
	if (!code &&
	    setxattr(mount.root, CONTROL_ATTRIBUTE, word, strlen(word), 0)) {
		if (errno == EINVAL)
			cli_complain(mount.root,
				     "its kinfs is too old for that");
		else
			cli_complain_errno(mount.root, -errno);
		code = EXIT_FAILED;
	}
	mount_release(&mount);
	return code;
}

static int run_rescan(int argc, char **argv)
{
	return say(&command_rescan, argc, argv);
}

const struct command command_rescan = {
	.name = "rescan",
	.synopsis = "rescan MOUNT",
	.summary = "Let a kinfs mount look for changes made behind its back",
	.help = "Starts a scan and returns at once; kin wait waits for its end.  MOUNT is the\n"
		"mount point or any path below it.\n",
	.run = run_rescan,
};

static int run_pause(int argc, char **argv)
{
	return say(&command_pause, argc, argv);
}

const struct command command_pause = {
	.name = "pause",
	.synopsis = "pause MOUNT",
	.summary = "Let a kinfs mount hash only files that are waited for",
	.help = "Until kin resume, or until it is mounted anew.  What is to be hashed is still\n"
		"found out, and hashed later.  MOUNT is the mount point or any path below it.\n",
	.run = run_pause,
};

static int run_resume(int argc, char **argv)
{
	return say(&command_resume, argc, argv);
}

const struct command command_resume = {
	.name = "resume",
	.synopsis = "resume MOUNT",
	.summary = "End what kin pause began",
	.help = "MOUNT is the mount point or any path below it.\n",
	.run = run_resume,
};
