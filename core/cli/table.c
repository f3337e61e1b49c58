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
#include "core/base/utf8.h"
#include "core/cli/cli.h"

/* ---- paths ---- */

char *path_shown(const char *root, const char *path, bool relative)
{
	const char *slash = *path && *path != '/' ? "/" : "", *rest = NULL;
	char *absolute = NULL, *base;
	struct buf out = { 0 };
	int err = 0;

	if (!root && *path != '/')
		return strdup(path);
	if (!root || (!strcmp(root, "/") && *path))
		root = "";
	if (asprintf(&absolute, "%s%s%s", root, slash, path) < 0)
		return NULL;
	base = relative ? getcwd(NULL, 0) : NULL;
	if (!base)
		return absolute;
	/* Out of the directory as far as needed, then into the rest. */
	while (!err && !(rest = path_below(absolute, base))) {
		err = buf_append_text(&out, "../");
		*strrchr(base, '/') = '\0';
	}
	if (!err)
		err = buf_append_text(&out, *rest || out.len ? rest : ".");
	if (err)
		buf_release(&out);
	else if (!*rest && out.data[out.len - 1] == '/')
		out.data[--out.len] = '\0';
	free(absolute);
	free(base);
	return buf_take(&out);
}

/* of: the row, or an object of its links. */
static void print_path(const struct table *t, const struct column *c,
		       const char *root, const json_t *of)
{
	char *path = json_get_path(of, c->key);
	char *shown = path ? path_shown(root, path, t->relative) : NULL;

	if (shown && c->kind == COLUMN_NOTE)
		printf("  %s  ", c->title);
	if (shown && t->output.nul)
		(void)fwrite(shown, 1, strlen(shown) + 1, stdout);
	else if (shown)
		utf8_print_safe(stdout, shown);
	free(shown);
	free(path);
}

/* ---- text ---- */

static bool is_shown(const struct table *t, const struct column *c)
{
	return c->place == COLUMN_SHOWN ||
	       (c->place == COLUMN_VERBOSE && t->output.verbose);
}

/* Negative: to the left; 0: as long as it is. */
static int width_of(const struct column *c)
{
	static const int least[] = {
		[COLUMN_NUMBER] = 5, [COLUMN_SIZE] = 6, [COLUMN_DATE] = -10,
		[COLUMN_WORD] = -8,  [COLUMN_PATH] = 0, [COLUMN_NOTE] = 0,
	};
	const int width = least[c->kind], title = (int)strlen(c->title);

	if (!width || title <= abs(width))
		return width;
	return width < 0 ? -title : title;
}

static void print_value(const struct column *c, const json_t *value)
{
	const time_t seconds = (time_t)json_number_value(value);
	char number[TEXT_SIZE_ROOM] = "-";
	struct buf text = { 0 };
	struct tm tm;

	if (json_is_string(value))
		(void)utf8_append_safe(&text, json_string_value(value));
	else if (c->kind == COLUMN_SIZE && json_is_number(value))
		(void)text_format_size(json_number_value(value),
				       TEXT_UNITS_BRIEF, number);
	else if (c->kind == COLUMN_DATE && json_is_number(value) &&
		 localtime_r(&seconds, &tm))
		(void)strftime(number, sizeof(number), "%F", &tm);
	else if (json_is_integer(value))
		(void)snprintf(number, sizeof(number), "%lld",
			       (long long)json_integer_value(value));
	printf("%*s  ", width_of(c), text.data ? text.data : number);
	buf_release(&text);
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

/* A row of text, or its paths.  other: another name of the file, or NULL. */
static void print_row(const struct table *t, const json_t *row,
		      const json_t *other)
{
	const struct column *c;
	char *root = json_get_path(row, "root");

	for (c = t->columns; c->key; c++) {
		if (c->kind == COLUMN_PATH) {
			print_path(t, c, root, other ? other : row);
			if (!t->output.nul && c[1].key &&
			    c[1].kind == COLUMN_PATH)
				fputs("  ", stdout);
		} else if (t->output.nul || !is_shown(t, c)) {
			continue;
		} else if (c->kind == COLUMN_NOTE) {
			if (!other)
				print_path(t, c, t->note_root, row);
		} else if (other) {
			printf("%*s  ", width_of(c),
			       c == t->columns ? "+" : "");
		} else {
			print_value(c, json_object_get(row, c->key));
		}
	}
	if (!t->output.nul)
		putchar('\n');
	free(root);
}

int table_row(struct table *t, json_t *row)
{
	const json_t *other;
	size_t i;

	t->rows++;
	if (t->output.json)
		return cli_print_json(row);
	if (!row)
		return cli_complain_errno(NULL, -ENOMEM);
	table_titles(t);
	print_row(t, row, NULL);
	json_array_foreach(json_object_get(row, "links"), i, other) {
		print_row(t, row, other);
	}
	json_decref(row);
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
