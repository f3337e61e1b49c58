/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/cli/groups/export_mount.h"
#include "core/cli/table.h"

enum { DEFAULT_THRESHOLD = 60 };

/* A file of the one tree. */
struct missing_file {
	char *path, *near; /* owned */
	int score;
	int64_t size, mtime_ns;
	bool is_there; /* the other tree has it, or it was not asked for */
};

struct missing_command {
	struct export_side one, other;
	struct filter filter;
	struct best best;
	bool exact;
	struct missing_job job;
	struct missing_file *files;
	size_t count;
	char *root; /* of the one tree; owned */
	struct table table;
	uint64_t missing, bytes;
};

static const struct column columns[] = {
	{ "score", "SCORE", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "relation", "RELATION", COLUMN_WORD, COLUMN_JSON },
	{ "files", "FILES", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "size", "SIZE", COLUMN_SIZE, COLUMN_SHOWN },
	{ "mtime", "DATE", COLUMN_DATE, COLUMN_SHOWN },
	{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
	{ "near", "~", COLUMN_NOTE, COLUMN_SHOWN },
	{ 0 },
};

/* ---- what was found ---- */

static int reopen(void *arg, struct export_reader *out)
{
	struct missing_command *c = arg;

	return export_side_open(&c->other, out);
}

static int add(struct missing_command *c, const struct missing *m,
	       const struct found_file *file)
{
	struct missing_file *all = array_with_room(c->files, c->count,
						   sizeof(*all)),
			    *f;

	if (!all)
		return -ENOMEM;
	c->files = all;
	f = &all[c->count++];
	*f = (struct missing_file){
		.path = strdup(file->path),
		.near = m->near ? strdup(m->near) : NULL,
		.score = m->score,
		.size = (int64_t)m->member->size,
		.mtime_ns = file->mtime_ns,
		.is_there = m->is_there || !filter_takes(&c->filter, file->path,
							 m->member->size),
	};
	return f->path && (f->near || !m->near) ? 0 : -ENOMEM;
}

static int keep(void *arg, const struct missing *m)
{
	size_t i;
	int err = 0;

	for (i = 0; i < m->member->file_count && !err; i++)
		err = add(arg, m, &m->member->files[i]);
	return err;
}

static int by_path(const void *a, const void *b)
{
	const struct missing_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* ---- output ---- */

/* The directory that is missing as a whole from the i-th file on: the number of
 * its files, and the length of its name with the slash; 1: there is none, or the
 * file is alone in it. */
static size_t find_whole(const struct missing_command *c, size_t i,
			 size_t *len_out)
{
	const char *path = c->files[i].path, *slash = path;
	size_t len, end;

	while ((slash = strchr(slash, '/'))) {
		len = (size_t)(++slash - path);
		if (i && !strncmp(c->files[i - 1].path, path, len))
			continue;
		for (end = i; end < c->count; end++)
			if (strncmp(c->files[end].path, path, len) != 0 ||
			    c->files[end].is_there || c->files[end].near)
				break;
		*len_out = len;
		if (end > i + 1 &&
		    (end == c->count ||
		     strncmp(c->files[end].path, path, len) != 0))
			return end - i;
	}
	return 1;
}

static int print_row(struct missing_command *c, const struct missing_file *f,
		     size_t files, int64_t size, const char *path)
{
	const struct cell cells[] = {
		f->near ? cell_number(f->score) : cell_none(),
		cell_word(f->near ? "version" : NULL),
		files ? cell_number((int64_t)files) : cell_none(),
		cell_number(size),
		files ? cell_none() : cell_time(f->mtime_ns),
		/* Paths of an export lead nowhere here. */
		cell_path(path,
			  c->one.copy || c->table.output.json ? c->root : NULL),
		cell_path(f->near, c->other.root),
	};

	return table_row(&c->table, cells);
}

static int print_totals(const struct missing_command *c)
{
	char size[TEXT_SIZE_ROOM];

	if (c->table.output.json)
		return table_totals(json_pack("{s:I, s:I}", "files",
					      (json_int_t)c->missing, "bytes",
					      (json_int_t)c->bytes),
				    !c->job.incomplete, "incomplete");
	fprintf(stderr, "%llu %s, %s, not in %s\n",
		(unsigned long long)c->missing,
		text_plural(c->missing, "file", "files"),
		text_format_size((double)c->bytes, TEXT_UNITS_BRIEF, size),
		c->other.path);
	return EXIT_OK;
}

/* A whole directory is a row of the text. */
static int print_all(struct missing_command *c)
{
	const bool whole = !c->table.output.json && !c->table.output.nul;
	size_t i, k, len = 0, count;
	int code = EXIT_OK;

	if (c->count)
		qsort(c->files, c->count, sizeof(*c->files), by_path);
	for (i = 0; i < c->count && !code; i += count) {
		struct missing_file *f = &c->files[i];
		int64_t size = 0;

		count = whole && !f->near && !f->is_there ?
				find_whole(c, i, &len) :
				1;
		if (f->is_there)
			continue;
		for (k = 0; k < count; k++)
			size += c->files[i + k].size;
		c->missing += count;
		c->bytes += (uint64_t)size;
		if (count > 1)
			f->path[len] = '\0';
		if (!c->best.limit || c->table.rows < c->best.limit)
			code = print_row(c, f, count > 1 ? count : 0, size,
					 f->path);
	}
	return code ? code : print_totals(c);
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
	else if (one.root && !(c->root = strdup(one.root)))
		code = export_complain(c->one.path, 0, -ENOMEM);
	export_close(&one);
	if (!code)
		code = print_all(c);
	if (code || !c->job.incomplete)
		return code;
	return cli_complain_incomplete(c->other.path);
}

static int parse(struct missing_command *c, int argc, char **argv)
{
	int code = options_parse(&command_missing, c, argc, argv);

	if (!code)
		code = output_check(&command_missing, &c->table.output);
	if (code)
		return code;
	c->one.path = argv[optind];
	c->other.path = argv[optind + 1];
	c->job.threshold = c->exact          ? 0 :
			   c->best.threshold ? c->best.threshold :
					       DEFAULT_THRESHOLD;
	return EXIT_OK;
}

static void command_release(struct missing_command *c)
{
	export_side_release(&c->one);
	export_side_release(&c->other);
	filter_release(&c->filter);
	while (c->count) {
		free(c->files[--c->count].path);
		free(c->files[c->count].near);
	}
	free(c->files);
	free(c->root);
	free((char *)c->table.base);
}

static int run(int argc, char **argv)
{
	struct missing_command c = {
		.job = { .reopen = reopen, .found = keep },
		.table = { .columns = columns },
	};
	int code = parse(&c, argc, argv);

	c.job.arg = &c;
	if (!code)
		c.table.base = path_base_of(c.one.path);
	if (!code)
		code = export_side_prepare(&c.one);
	if (!code)
		code = export_side_prepare(&c.other);
	if (!code)
		code = compare(&c);
	command_release(&c);
	return code;
}

static const struct option_row options[] = {
	{ "exact", 0, NULL, "near-duplicates are not looked for",
	  OPTION_FLAG(struct missing_command, exact) },
	BEST_OPTIONS(struct missing_command, best),
	FILTER_OPTIONS(struct missing_command, filter),
	OUTPUT_OPTIONS(struct missing_command, table.output),
	{ 0 },
};

const struct command command_missing = {
	.name = "missing",
	.operands = { 2, 2 },
	.lacking = "which two trees, of which the second may lack files?",
	.synopsis = "missing [OPTION]... TREE OTHER",
	.summary = "List the files of a tree that another tree does not have",
	.help = "TREE and OTHER are mounts, directories of mounts, or files of "
		"kin export.\n"
		"A file whose content OTHER has, under whatever name, is not "
		"listed; one that it\n"
		"has only as a near-duplicate is listed with the score and "
		"the path of that.  A\n"
		"directory of which OTHER has nothing is one line.\n",
	.options = options,
	.notes = "Exit status: 0 ok, whether something is missing or not; 1 "
		 "failed; 2 usage; 3 one\n"
		 "of the trees was not hashed completely.\n",
	.run = run,
};
