/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cli/groups/groups.h"

/* BATCH: contents that are compared at a time, see below. */
enum { DEFAULT_THRESHOLD = 60, BATCH = 50000 };

/* A content of the one tree. */
struct missing_content {
	struct found_member member; /* owned */
	bool is_there;              /* the other has it, under whatever name */
	/* Owned; the best near-duplicate there, or with a score of 100 a copy
	 * that is internal, as all copies there are; or NULL. */
	char *near;
	int score;
};

struct missing_file {
	const struct missing_content *of; /* NULL: it is there, or left out */
	const struct found_file *file;
};

/*
 * The contents of the one tree are compared with those of the other one in one
 * pass, as both come in one order.  The digests of contents without an equal one
 * are collected, BATCH at most; then the other tree is read again and each of its
 * contents is searched for among them.  So memory is bounded by the batch and by
 * the paths of one, and the other tree is read once for each batch and once more.
 */
struct missing_command {
	struct export_reader one, other;
	struct filter filter;
	struct best best;
	bool exact;
	struct missing_content *contents;
	size_t count;
	struct near_index near;     /* of the batch */
	struct missing_file *files; /* by path */
	size_t file_count;
	struct table table;
	uint64_t missing;
	int64_t bytes;
};

/* ---- what is no copy to rely on ---- */

static bool is_internal(const struct export_reader *r, const char *path)
{
	return name_list_is_internal(&r->wish.within, path);
}

/* The first file with the content at hand, but for one that is internal the
 * first that is not. */
static const char *best_path(const struct export_reader *r)
{
	const struct found_member *m = export_member(r);
	size_t i = 0;

	while (i < m->file_count && is_internal(r, m->files[i].names[0]))
		i++;
	return m->files[i < m->file_count ? i : 0].names[0];
}

/* ---- near-duplicates ---- */

/* Searches for the content at hand of the other tree in the batch. */
static int search_content(struct missing_command *c,
			  const struct export_reader *r)
{
	const char *path = best_path(r);
	struct near_index *near = &c->near;
	size_t i;
	int err = near_search(near, &r->digests, c->best.threshold);

	for (i = 0; i < near->match_count && !err; i++) {
		const struct index_match *m = &near->matches[i];
		struct missing_content *of = &c->contents[m->content];
		const int order = m->verdict.score - of->score;

		/* Of two that are as like, the first path is taken. */
		if (order < 0 ||
		    (!order && of->near && strcmp(of->near, path) <= 0))
			continue;
		free(of->near);
		of->near = strdup(path);
		of->score = m->verdict.score;
		err = of->near ? 0 : -ENOMEM;
	}
	return err;
}

/* Finds near-duplicates of all in the batch, and empties it. */
static int finish_batch(struct missing_command *c)
{
	struct export_reader other;
	int code;

	if (!c->near.count)
		return 0;
	export_open(&other, c->other.path);
	code = near_begin(&c->near);
	while (!code && export_next(&other))
		code = search_content(c, &other);
	if (!code)
		code = export_complain(&other);
	export_close(&other);
	near_release(&c->near);
	return code;
}

/* ---- equal contents ---- */

/* Takes the content at hand of the one tree.  path: of the other one's best copy;
 * NULL: it has none. */
static int add_content(struct missing_command *c, const char *path)
{
	struct missing_content *all =
		array_with_room(c->contents, c->count, sizeof(*all));
	struct missing_content new = { .is_there = path != NULL };
	int code = 0;

	if (!all)
		return -ENOMEM;
	if (path && is_internal(&c->other, path)) {
		new = (struct missing_content){ .near = strdup(path),
						.score = 100 };
		if (!new.near)
			return -ENOMEM;
	}
	new.member = export_take(&c->one);
	c->contents = all;
	all[c->count] = new;
	c->file_count += new.member.file_count;
	if (!path && !c->exact)
		code = near_add(&c->near, &c->one.digests, (uint32_t)c->count);
	c->count++;
	return code || c->near.count < BATCH ? code : finish_batch(c);
}

static int compare(struct missing_command *c)
{
	const struct digests *at = &c->other.digests;
	bool more = !c->one.err && export_next(&c->other);
	int order = 1, code = 0;

	while (!code && !c->other.err && export_next(&c->one)) {
		while (more && (order = export_order(at, &c->one.digests)) < 0)
			more = export_next(&c->other);
		code = add_content(c, more && !order ? best_path(&c->other) :
						       NULL);
	}
	if (!code)
		code = export_complain(&c->one);
	/* The end of other is read, too: it may be damaged or not complete. */
	while (!code && export_next(&c->other))
		;
	if (!code)
		code = export_complain(&c->other);
	return code ? code : finish_batch(c);
}

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

	return strcmp(x->file->names[0], y->file->names[0]);
}

/* For what is internal itself, a copy that is will do. */
static bool is_missing(struct missing_command *c,
		       const struct missing_content *m, const char *path)
{
	return !m->is_there &&
	       !(m->score == 100 && is_internal(&c->one, path)) &&
	       filter_takes(&c->filter, path, m->member.size);
}

static int sort_files(struct missing_command *c)
{
	struct missing_file *f = calloc(c->file_count + 1, sizeof(*f));
	const struct missing_content *m;
	size_t i;

	if (!f)
		return -ENOMEM;
	c->files = f;
	for (m = c->contents; m < c->contents + c->count; m++)
		for (i = 0; i < m->member.file_count; i++, f++) {
			f->file = &m->member.files[i];
			f->of = is_missing(c, m, f->file->names[0]) ? m : NULL;
		}
	qsort(c->files, c->file_count, sizeof(*f), by_path);
	return 0;
}

/* The directory that is missing as a whole from the i-th file on: the number of
 * its files, and the length of its name with the slash; 1: there is none, or the
 * file is alone in it. */
static size_t find_whole(const struct missing_command *c, size_t i,
			 size_t *len_out)
{
	const struct missing_file *files = c->files;
	const char *path = files[i].file->names[0], *slash = path;
	size_t len, end;

	while ((slash = strchr(slash, '/'))) {
		len = (size_t)(++slash - path);
		if (i && !strncmp(files[i - 1].file->names[0], path, len))
			continue;
		for (end = i; end < c->file_count; end++)
			if (strncmp(files[end].file->names[0], path, len) !=
				    0 ||
			    !files[end].of || files[end].of->near)
				break;
		*len_out = len;
		if (end > i + 1 &&
		    (end == c->file_count ||
		     strncmp(files[end].file->names[0], path, len) != 0))
			return end - i;
	}
	return 1;
}

/* files: 0, or how many are in the directory, whose name has that length. */
static int print_row(struct missing_command *c, const struct missing_file *f,
		     size_t files, int64_t size, size_t len)
{
	const struct missing_content *of = f->of;
	char *path = strndup(f->file->names[0], files ? len : SIZE_MAX);
	json_t *row;

	if (!path)
		return -ENOMEM;
	row = json_pack("{s:o*, s:s*, s:o*, s:I, s:o*}", "score",
			of->near ? json_integer(of->score) : NULL, "relation",
			!of->near        ? NULL :
			of->score == 100 ? "copy" :
					   "version",
			"files", files ? json_integer((json_int_t)files) : NULL,
			"size", (json_int_t)size, "mtime",
			files ? NULL : row_time(f->file->mtime_ns));
	/* Paths of an export lead nowhere here. */
	if (c->one.mount.root || c->table.output.json)
		row = json_with_path(row, "root", c->one.content.root);
	row = json_with_path(row, "path", path);
	row = json_with_path(row, "near", of->near);
	free(path);
	return table_row(&c->table, row);
}

static bool is_complete(const struct missing_command *c)
{
	return c->one.is_complete && c->other.is_complete;
}

static int print_totals(const struct missing_command *c)
{
	const struct groups_totals *one = &c->one.content.totals,
				   *other = &c->other.content.totals;
	char size[TEXT_SIZE_ROOM];

	if (c->table.output.json)
		return table_totals(
			JSON_NUMBERS(
				{ "files", c->missing }, { "bytes", c->bytes },
				{ "failed", one->failed + other->failed },
				{ "failed_texts",
				  one->failed_texts + other->failed_texts }),
			is_complete(c), "incomplete");
	fprintf(stderr, "%llu %s, %s, not in %s\n",
		(unsigned long long)c->missing,
		text_plural(c->missing, "file", "files"),
		size_text((uint64_t)c->bytes, size), c->other.path);
	return EXIT_OK;
}

/* Of an export that somebody made up the sum has no end. */
static void add_bytes(int64_t *sum, int64_t bytes)
{
	*sum = bytes > INT64_MAX - *sum ? INT64_MAX : *sum + bytes;
}

/* A whole directory is a row of the text. */
static int print_all(struct missing_command *c)
{
	const bool whole = !c->table.output.json && !c->table.output.nul;
	size_t i, k, len = 0, count;
	int code = sort_files(c);

	for (i = 0; i < c->file_count && !code; i += count) {
		const struct missing_file *f = &c->files[i];
		int64_t size = 0;

		count = 1;
		if (!f->of)
			continue;
		if (whole && !f->of->near)
			count = find_whole(c, i, &len);
		for (k = 0; k < count; k++)
			add_bytes(&size, (int64_t)f[k].of->member.size);
		c->missing += count;
		add_bytes(&c->bytes, size);
		if (!c->best.limit || c->table.rows < c->best.limit)
			code = print_row(c, f, count > 1 ? count : 0, size,
					 len);
	}
	return code ? code : print_totals(c);
}

/* ---- all of it ---- */

static int run(const struct command *self, char **paths)
{
	struct missing_command *c = self->job;
	struct export_reader *const trees[] = { &c->one, &c->other }, *const *
									      r;
	struct stat st;
	int i, code = EXIT_OK;

	for (i = 0; i < 2 && !code; i++)
		if (!stat(paths[i], &st) && S_ISDIR(st.st_mode))
			code = once_mount(paths[i], c->exact);
	if (code)
		return code;
	export_open(&c->one, paths[0]);
	export_open(&c->other, paths[1]);
	c->table.relative = *paths[0] != '/';
	c->table.note_root = c->other.mount.root;
	code = compare(c);
	if (!code)
		code = print_all(c);
	for (r = trees; r < trees + 2 && !code; r++)
		if (!(*r)->is_complete)
			(void)cli_complain_incomplete(
				(*r)->path, (*r)->content.totals.failed,
				(*r)->content.totals.failed_texts);
	return code || is_complete(c) ? code : EXIT_INCOMPLETE;
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
	.job =
		&(struct missing_command){
			.best.threshold = DEFAULT_THRESHOLD,
			.table.columns = columns,
		},
	.run = run,
};
