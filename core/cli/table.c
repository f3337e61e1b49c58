/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cli/cli.h"

/* ---- paths ---- */

char *path_base_of(const char *operand)
{
	return *operand == '/' ? NULL : getcwd(NULL, 0);
}

/* How many bytes two absolute paths have in common, in whole components; it
 * ends before a slash, or at the end of both. */
static size_t common_length(const char *a, const char *b)
{
	size_t i, end = 0;

	for (i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			end = i;
	if ((!a[i] || a[i] == '/') && (!b[i] || b[i] == '/'))
		end = i;
	return end;
}

/* Out of the rest of the base and into the rest of the path. */
static int append_relative(struct buf *out, const char *path, const char *base)
{
	size_t same = strcmp(base, "/") ? common_length(path, base) : 0;
	const char *up = strcmp(base, "/") ? base + same : "";
	const char *rest = path + same + (path[same] == '/');
	int err = 0;

	for (; (up = strchr(up, '/')) && !err; up++)
		err = buf_append_text(
			out, *rest || strchr(up + 1, '/') ? "../" : "..");
	if (!err)
		err = buf_append_text(out, *rest || out->len ? rest : ".");
	return err;
}

char *path_shown(const char *root, const char *path, const char *base)
{
	struct buf absolute = { 0 }, out = { 0 };
	int err;

	if (!root)
		return strdup(path);
	err = buf_append_format(&absolute, "%s%s%s",
				!strcmp(root, "/") && *path ? "" : root,
				*path && *path != '/' ? "/" : "", path);
	if (!err && base)
		err = append_relative(&out, absolute.data, base);
	if (!base) {
		out = absolute;
		absolute = (struct buf){ 0 };
	}
	buf_release(&absolute);
	if (err)
		buf_release(&out);
	return buf_take(&out);
}

static void print_path(const struct table *t, const struct cell *cell)
{
	char *path = path_shown(cell->root, cell->text, t->base);

	if (path && t->output.nul)
		(void)fwrite(path, 1, strlen(path) + 1, stdout);
	else if (path)
		cli_print_escaped(path, ESCAPE_TERMINAL);
	free(path);
}

/* ---- text ---- */

static bool is_shown(const struct table *t, const struct column *c)
{
	return c->place == COLUMN_SHOWN ||
	       (c->place == COLUMN_VERBOSE && t->output.verbose);
}

/* Negative: to the left. */
static int width_of(const struct column *c)
{
	int title = (int)strlen(c->title);

	switch (c->kind) {
	case COLUMN_SIZE:
		return title > 6 ? title : 6;
	case COLUMN_DATE:
		return -10;
	case COLUMN_WORD:
		return title > 8 ? -title : -8;
	case COLUMN_PATH:
	case COLUMN_NOTE:
		return 0;
	default:
		return title > 5 ? title : 5;
	}
}

static const char *text_of(const struct column *c, const struct cell *cell,
			   char room[TEXT_SIZE_ROOM])
{
	time_t seconds = (time_t)(cell->number / 1000000000);
	struct tm tm;

	if (cell->text)
		return cell->text;
	if (!cell->is_set)
		return "-";
	switch (c->kind) {
	case COLUMN_SIZE:
		return text_format_size((double)cell->number, TEXT_UNITS_BRIEF,
					room);
	case COLUMN_DATE:
		if (!localtime_r(&seconds, &tm) ||
		    !strftime(room, TEXT_SIZE_ROOM, "%Y-%m-%d", &tm))
			return "-";
		return room;
	default:
		(void)snprintf(room, TEXT_SIZE_ROOM, "%lld",
			       (long long)cell->number);
		return room;
	}
}

static void print_cell(const struct table *t, const struct column *c,
		       const struct cell *cell)
{
	char room[TEXT_SIZE_ROOM];

	if (c->kind == COLUMN_PATH) {
		print_path(t, cell);
		if (c[1].key && c[1].kind == COLUMN_PATH)
			fputs("  ", stdout);
		return;
	}
	if (c->kind == COLUMN_NOTE) {
		if (!cell->is_set)
			return;
		printf("  %s  ", c->title);
		print_path(t, cell);
		return;
	}
	printf("%*s  ", width_of(c), text_of(c, cell, room));
}

void table_titles(struct table *t)
{
	const struct column *c;

	if (t->output.json || t->output.nul || t->has_titles)
		return;
	t->has_titles = true;
	for (c = t->columns; c->key; c++)
		if (is_shown(t, c) && c->kind != COLUMN_NOTE)
			printf("%*s%s", width_of(c), c->title,
			       c[1].key && c[1].kind != COLUMN_NOTE ? "  " :
								      "");
	putchar('\n');
}

/* ---- all forms ---- */

static json_t *json_of(const struct column *c, const struct cell *cell)
{
	switch (c->kind) {
	case COLUMN_DATE:
		return json_real((double)cell->number / 1e9);
	case COLUMN_WORD:
		return json_string(cell->text);
	case COLUMN_FLAG:
		return json_boolean(cell->number);
	default:
		return json_integer(cell->number);
	}
}

static int print_json(const struct table *t, const struct cell *cells)
{
	json_t *line = json_object();
	const struct column *c;
	int err = 0;

	for (c = t->columns; c->key && !err; c++, cells++) {
		if (!cells->is_set)
			continue;
		if (c->kind == COLUMN_PATH && cells->root)
			err = json_set_path(line, "root", cells->root);
		if (!err && (c->kind == COLUMN_PATH || c->kind == COLUMN_NOTE))
			err = json_set_path(line, c->key, cells->text);
		else if (!err &&
			 json_object_set_new(line, c->key, json_of(c, cells)))
			err = -ENOMEM;
		if (!err && cells->link_count &&
		    json_object_set_new(
			    line, "links",
			    json_paths((const char *const *)cells->links,
				       cells->link_count)))
			err = -ENOMEM;
	}
	if (!err)
		return cli_print_json(line);
	json_decref(line);
	return cli_complain_errno(NULL, err);
}

/* A row of text, or its paths.  other: another name of the file, or NULL. */
static void print_row(const struct table *t, const struct cell *cells,
		      const char *other)
{
	const struct column *c = t->columns;
	struct cell cell;

	for (; c->key; c++, cells++) {
		cell = *cells;
		if (other && c->kind == COLUMN_PATH)
			cell.text = other;
		else if (other && c->kind == COLUMN_NOTE)
			cell = cell_none();
		else if (other)
			cell = cell_word(c == t->columns ? "+" : "");
		if (t->output.nul && c->kind == COLUMN_PATH)
			print_path(t, &cell);
		else if (!t->output.nul && is_shown(t, c))
			print_cell(t, c, &cell);
	}
	if (!t->output.nul)
		putchar('\n');
}

int table_row(struct table *t, const struct cell *cells)
{
	const struct cell *cell = cells;
	const struct column *c;
	size_t i;

	t->rows++;
	if (t->output.json)
		return print_json(t, cells);
	table_titles(t);
	print_row(t, cells, NULL);
	for (c = t->columns; c->key; c++, cell++)
		for (i = 0; i < cell->link_count; i++)
			print_row(t, cells, cell->links[i]);
	return EXIT_OK;
}

int table_totals(json_t *totals, bool complete, const char *reason)
{
	(void)json_object_set_new(totals, "complete", json_boolean(complete));
	if (!complete && reason)
		(void)json_object_set_new(totals, "reason",
					  json_string(reason));
	return cli_print_json(json_pack("{s:o}", "totals", totals));
}
