/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_TABLE_H
#define CORE_CLI_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/clock.h"

/*
 * The one printer of lists.  A row is a JSON object; what is printed is that
 * object on a line, or text in columns with a line of titles, or the paths
 * alone, each ended by a zero byte.
 *
 *	static const struct column columns[] = {
 *		{ "score", "SCORE", COLUMN_NUMBER, COLUMN_SHOWN },
 *		{ "size", "SIZE", COLUMN_SIZE, COLUMN_SHOWN },
 *		{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
 *		{ 0 },
 *	};
 *	err = table_row(&table, json_pack("{s:i, s:I, s:s}", "score", 97,
 *					  "size", size, "path", "docs/a"));
 *
 * In text a key that a row does not have is "-"; text in the place of a number is
 * shown as it is, and no text of a row has power over a terminal.
 */
/* How an answer is printed; the options of it are OUTPUT_OPTIONS (options.h). */
struct output {
	bool json, nul, verbose;
};

/* How text shows a key of the row. */
enum column_kind {
	COLUMN_NUMBER, /* to the right */
	COLUMN_SIZE,   /* bytes; as ls -h has them */
	COLUMN_DATE,   /* seconds; as YYYY-MM-DD */
	COLUMN_WORD,   /* text without spaces, to the left */
	COLUMN_PATH,   /* below the row's "root", if it has that; the last */
	COLUMN_NOTE,   /* another path behind the title, or nothing */
};

enum column_place {
	COLUMN_SHOWN,
	COLUMN_VERBOSE, /* with -v alone */
};

struct column {
	const char *key, *title; /* key NULL: the end */
	enum column_kind kind;
	enum column_place place;
};

struct table {
	const struct column *columns;
	struct output output;
	bool relative; /* to the working directory, as paths are shown */
	const char *note_root; /* that notes are below; NULL: as a row has it */
	size_t rows;           /* printed */
	bool has_titles;       /* printed, too */
};

/* Takes row; NULL: there was no memory for it.  "links" in it are other names of
 * its path, an object each: in text a row each, that begins with "+".  EXIT_OK,
 * or EXIT_FAILED and a message. */
int table_row(struct table *t, json_t *row);

/* For "s:o*" of json_pack(): a negative number is none. */
static inline json_t *row_number(int64_t number)
{
	return number < 0 ? NULL : json_integer(number);
}

/* Nanoseconds as a row has them, for "s:o*"; a time that they cannot tell is
 * none. */
static inline json_t *row_time(int64_t ns)
{
	const int64_t told = time_in_order(ns);

	return told == INT64_MAX ? NULL : json_real((double)told / 1e9);
}

/* The last line of JSON, {"totals":{...}}, to which "complete" is added, and the
 * reason if it is not (or NULL).  Takes totals. */
int table_totals(json_t *totals, bool complete, const char *reason);

/* The line of titles, if the first row was not printed yet. */
void table_titles(struct table *t);

/* ---- paths ---- */

/* A path below a root, or one without a root if that is NULL, as the user sees
 * it; relative: to the working directory.  NULL without memory. */
char *path_shown(const char *root, const char *path, bool relative);

#endif
