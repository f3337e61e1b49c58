/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/cli/groups/export_mount.h"
#include "core/cli/record.h"

enum { DEFAULT_THRESHOLD = 60 };

struct missing_command {
	struct export_side one, other;
	bool json, nul;
	struct missing_job job;
};

/* ---- output ---- */

static int reopen(void *arg, struct export_reader *out)
{
	struct missing_command *c = arg;

	return export_side_open(&c->other, out);
}

static int print_object(const struct missing *m, const struct found_file *file)
{
	struct record r;

	record_begin(&r);
	record_path(&r, "path", file->path);
	record_number(&r, "size", (int64_t)m->size);
	record_number(&r, "score", m->score);
	if (m->near)
		record_path(&r, "near", m->near);
	return record_print(&r) ? -EIO : 0;
}

static void print_text(const struct missing *m, const struct found_file *file)
{
	if (m->near)
		printf("near %3d  ", m->score);
	else
		printf("missing   ");
	cli_print_escaped(file->path, ESCAPE_TERMINAL);
	if (m->near) {
		printf("  ~  ");
		cli_print_escaped(m->near, ESCAPE_TERMINAL);
	}
	putchar('\n');
}

static int print(void *arg, const struct missing *m)
{
	const struct missing_command *c = arg;
	size_t i;
	int err = 0;

	for (i = 0; i < m->file_count && !err; i++)
		if (c->json)
			err = print_object(m, &m->files[i]);
		else if (c->nul)
			printf("%s%c", m->files[i].path, 0);
		else
			print_text(m, &m->files[i]);
	return err;
}

static void print_totals(const struct missing_command *c)
{
	const struct missing_job *j = &c->job;

	if (!c->json && !c->nul)
		fprintf(stderr,
			"%llu %s with %llu %s of %llu bytes %s not "
			"in %s\n",
			(unsigned long long)j->files,
			text_plural(j->files, "file", "files"),
			(unsigned long long)j->contents,
			text_plural(j->contents, "content", "contents"),
			(unsigned long long)j->bytes,
			text_plural(j->files, "is", "are"), c->other.path);
}

/* ---- all of it ---- */

static int compare(struct missing_command *c)
{
	struct export_reader one;
	int err = export_side_open(&c->one, &one), code = EXIT_OK;
	bool in_other = false;

	if (!err) {
		err = missing_find(&c->job, &one);
		in_other = c->job.failed_in_other;
	}
	if (err && in_other)
		code = export_complain(c->other.path, c->job.other_line, err);
	else if (err)
		code = export_complain(c->one.path, one.lines.number, err);
	export_close(&one);
	if (code)
		return code;
	print_totals(c);
	if (!c->job.incomplete)
		return EXIT_OK;
	cli_complain_incomplete(c->other.path);
	return EXIT_INCOMPLETE;
}

static int take_exact(void *command, const char *argument)
{
	struct missing_command *c = command;

	(void)argument;
	c->job.rules.threshold = 0;
	return EXIT_OK;
}

static int parse(struct missing_command *c, int argc, char **argv)
{
	int code = options_parse(&command_missing, c, argc, argv);

	if (!code && c->json && c->nul)
		code = cli_usage_error(&command_missing,
				       "--json and -0 exclude one another");
	if (!code && argc - optind != 2)
		code = cli_usage_error(
			&command_missing,
			"which two trees, of which the second may "
			"lack files?");
	if (!code) {
		c->one.path = argv[optind];
		c->other.path = argv[optind + 1];
	}
	return code;
}

static int run(int argc, char **argv)
{
	struct missing_command c = {
		.job = { .rules = { .threshold = DEFAULT_THRESHOLD },
			 .reopen = reopen,
			 .found = print },
	};
	int code = parse(&c, argc, argv);

	c.job.arg = &c;
	if (!code)
		code = export_side_prepare(&c.one);
	if (!code)
		code = export_side_prepare(&c.other);
	if (!code)
		code = compare(&c);
	export_side_release(&c.one);
	export_side_release(&c.other);
	return code;
}

static const struct option_row options[] = {
	{ "exact", 0, NULL, "near-duplicates are not looked for",
	  OPTION_TAKE(take_exact) },
	{ "threshold", 0, "N",
	  "least score of a near-duplicate, 1 to 100 (default: 60)",
	  OPTION_THRESHOLD(struct missing_command, job.rules.threshold) },
	{ "json", 0, NULL, "an object a line: path, size, score, near",
	  OPTION_FLAG(struct missing_command, json) },
	{ "null", '0', NULL, "paths alone, each ended by NUL",
	  OPTION_FLAG(struct missing_command, nul) },
	{ 0 },
};

const struct command command_missing = {
	.name = "missing",
	.synopsis = "missing [--exact|--threshold N] [--json|-0] TREE OTHER",
	.summary = "List the files of a tree that another tree does not have",
	.help = "TREE and OTHER are mounts, or files written by kin export.  A "
		"file whose content\n"
		"OTHER has, under whatever name, is not listed; one that it "
		"has only as a\n"
		"near-duplicate is listed with the score and the path of "
		"that.\n",
	.options = options,
	.notes = "Exit status: 0 ok, whether something is missing or not; 1 "
		 "failed; 2 usage; 3 one\n"
		 "of the trees was not hashed completely.\n",
	.run = run,
};
