/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cli/groups/groups.h"

enum { DEFAULT_THRESHOLD = 60 };

struct missing_command {
	struct export_source one, other;
	struct filter filter;
	struct best best;
	bool exact;
	struct missing found;
	struct table table;
	uint64_t missing, bytes;
};

static const struct column columns[] = {
	{ "score", "SCORE", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "files", "FILES", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "size", "SIZE", COLUMN_SIZE, COLUMN_SHOWN },
	{ "mtime", "DATE", COLUMN_DATE, COLUMN_SHOWN },
	{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
	{ "near", "~", COLUMN_NOTE, COLUMN_SHOWN },
	{ 0 },
};

/* ---- output ---- */

static int by_path(const void *a, const void *b)
{
	const struct missing_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* The directory that is missing as a whole from the i-th file on: the number of
 * its files, and the length of its name with the slash; 1: there is none, or the
 * file is alone in it. */
static size_t find_whole(const struct missing_command *c, size_t i,
			 size_t *len_out)
{
	const struct missing_file *files = c->found.files;
	const char *path = files[i].path, *slash = path;
	const size_t count = c->found.count;
	size_t len, end;

	while ((slash = strchr(slash, '/'))) {
		len = (size_t)(++slash - path);
		if (i && !strncmp(files[i - 1].path, path, len))
			continue;
		for (end = i; end < count; end++)
			if (strncmp(files[end].path, path, len) != 0 ||
			    files[end].is_there || files[end].near)
				break;
		*len_out = len;
		if (end > i + 1 &&
		    (end == count || strncmp(files[end].path, path, len) != 0))
			return end - i;
	}
	return 1;
}

static int print_row(struct missing_command *c, const struct missing_file *f,
		     size_t files, int64_t size, const char *path)
{
	json_t *row = json_pack("{s:o*, s:s*, s:o*, s:I, s:o*}", "score",
				f->near ? json_integer(f->score) : NULL,
				"relation", f->near ? "version" : NULL, "files",
				files ? json_integer((json_int_t)files) : NULL,
				"size", (json_int_t)size, "mtime",
				files ? NULL : row_time(f->mtime_ns));
	/* Paths of an export lead nowhere here. */
	const char *root = c->one.mount.root || c->table.output.json ?
				   c->found.root :
				   NULL;

	if ((root && json_set_path(row, "root", root)) ||
	    json_set_path(row, "path", path) ||
	    (f->near && json_set_path(row, "near", f->near))) {
		json_decref(row);
		row = NULL;
	}
	c->table.note_root = c->other.mount.root;
	return table_row(&c->table, row);
}

static int print_totals(const struct missing_command *c)
{
	char size[TEXT_SIZE_ROOM];

	if (c->table.output.json)
		return table_totals(json_pack("{s:I, s:I}", "files",
					      (json_int_t)c->missing, "bytes",
					      (json_int_t)c->bytes),
				    !c->found.incomplete, "incomplete");
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
	struct missing_file *files = c->found.files, *f;
	size_t i, k, len = 0, count;
	int code = EXIT_OK;

	for (f = files; f < files + c->found.count; f++)
		f->is_there |= !filter_takes(&c->filter, f->path, f->size);
	if (c->found.count)
		qsort(files, c->found.count, sizeof(*files), by_path);
	for (i = 0; i < c->found.count && !code; i += count) {
		int64_t size = 0;

		f = &files[i];
		count = whole && !f->near && !f->is_there ?
				find_whole(c, i, &len) :
				1;
		if (f->is_there)
			continue;
		for (k = 0; k < count; k++)
			size += (int64_t)f[k].size;
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
	const int threshold = c->exact          ? 0 :
			      c->best.threshold ? c->best.threshold :
						  DEFAULT_THRESHOLD;
	struct missing *found = &c->found;
	int err = missing_find(found, &c->one, &c->other, threshold), code;

	code = err ? export_complain(found->failed, found->failed_line, err) :
		     print_all(c);
	return code || !found->incomplete ?
		       code :
		       cli_complain_incomplete(c->other.path);
}

static int parse(struct missing_command *c, int argc, char **argv)
{
	int code = options_parse(&command_missing, c, argc, argv);

	if (code)
		return code;
	c->one.path = argv[optind];
	c->table.relative = *c->one.path != '/';
	c->other.path = argv[optind + 1];
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct missing_command c = { .table.columns = columns };
	int code = parse(&c, argc, argv);

	if (!code)
		code = export_source_find(&c.one);
	if (!code)
		code = export_source_find(&c.other);
	if (!code)
		code = compare(&c);
	mount_release(&c.one.mount);
	mount_release(&c.other.mount);
	missing_release(&c.found);
	filter_release(&c.filter);
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
