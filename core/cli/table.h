/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_TABLE_H
#define CORE_CLI_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The one printer of lists.  A command describes the columns of its list and
 * hands over a row of cells for each item; what is printed is text in columns
 * with a line of titles, a JSON object a line, or the paths alone, each ended by
 * a zero byte.
 *
 *	static const struct column columns[] = {
 *		{ "score", "SCORE", COLUMN_NUMBER, COLUMN_SHOWN },
 *		{ "size", "SIZE", COLUMN_SIZE, COLUMN_SHOWN },
 *		{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
 *		{ 0 },
 *	};
 *	const struct cell row[] = { cell_number(97), cell_number(4096),
 *				    cell_path("docs/a", mount->root) };
 *	err = table_row(&table, row);
 *
 * A cell that is not set is "-" in text and has no key in JSON.
 */
/* How an answer is printed; the options of it are OUTPUT_OPTIONS (options.h). */
struct output {
	bool json, nul, verbose;
};

enum column_kind {
	COLUMN_NUMBER, /* to the right */
	COLUMN_SIZE,   /* bytes; in text as ls -h has them */
	COLUMN_DATE,   /* nanoseconds; in JSON seconds, in text YYYY-MM-DD */
	COLUMN_WORD,   /* text without spaces, to the left */
	COLUMN_FLAG,   /* true or false; for JSON */
	COLUMN_PATH,   /* "root" and "path" in JSON; the last in text */
	COLUMN_NOTE,   /* another path behind the title, or nothing */
};

enum column_place {
	COLUMN_SHOWN,
	COLUMN_VERBOSE, /* in text with -v alone */
	COLUMN_JSON,    /* not in text */
};

struct column {
	const char *key, *title; /* key NULL: the end */
	enum column_kind kind;
	enum column_place place;
};

struct cell {
	bool is_set;
	int64_t number;
	const char *text; /* also in the place of a number, in text output */
	const char *root; /* of a path: what it is relative to; NULL: it is as
			   * it was given */
	/* Other names of the file, likewise: in text a row each, that begins
	 * with "+"; "links" in JSON. */
	char *const *links;
	size_t link_count;
};

static inline struct cell cell_none(void)
{
	return (struct cell){ 0 };
}

/* A negative number is none. */
static inline struct cell cell_number(int64_t number)
{
	return (struct cell){ .is_set = number >= 0, .number = number };
}

static inline struct cell cell_time(int64_t ns)
{
	return (struct cell){ .is_set = true, .number = ns };
}

static inline struct cell cell_word(const char *text)
{
	return (struct cell){ .is_set = text, .text = text };
}

static inline struct cell cell_flag(bool value)
{
	return (struct cell){ .is_set = true, .number = value };
}

static inline struct cell cell_path(const char *path, const char *root)
{
	return (struct cell){ .is_set = path, .text = path, .root = root };
}

/* A file of several names. */
static inline struct cell cell_names(const char *path, const char *root,
				     char *const *links, size_t link_count)
{
	return (struct cell){ .is_set = true,
			      .text = path,
			      .root = root,
			      .links = links,
			      .link_count = link_count };
}

struct table {
	const struct column *columns;
	struct output output;
	const char *base; /* paths are shown relative to it; NULL: absolute */
	size_t rows;      /* printed */
	bool has_titles;  /* printed, too */
};

/* EXIT_OK, or EXIT_FAILED and a message. */
int table_row(struct table *t, const struct cell *cells);

/* The last line of JSON, {"totals":{...}}, to which "complete" is added, and the
 * reason if it is not (or NULL).  Takes totals. */
int table_totals(json_t *totals, bool complete, const char *reason);

/* The line of titles, if the first row was not printed yet. */
void table_titles(struct table *t);

/* ---- paths ---- */

/* What paths are shown relative to when the user gave this one: the working
 * directory, to be freed, or NULL, as the operand is absolute. */
char *path_base_of(const char *operand);

/* A path below a root as the user sees it; NULL without memory. */
char *path_shown(const char *root, const char *path, const char *base);

#endif
