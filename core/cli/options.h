/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_OPTIONS_H
#define CORE_CLI_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The options of a command, as a table: they are parsed, explained (kin help)
 * and completed (scripts/completion/words reads the help) by it.
 */
enum option_kind {
	OPTION_IS_FLAG,      /* bool: set */
	OPTION_IS_TEXT,      /* const char *: the argument */
	OPTION_IS_SIZE,      /* uint64_t: bytes, as text_parse_size() */
	OPTION_IS_THRESHOLD, /* int: 1 to 100 */
	OPTION_IS_NUMBER,    /* uint64_t: from 1 */
	OPTION_IS_GLOB,      /* struct glob_list: one more */
	OPTION_IS_TAKEN,     /* by a function */
};

struct option_row {
	const char *name;     /* without dashes; NULL: the end */
	char letter;          /* 0: it has none */
	const char *argument; /* as the help calls it; NULL: it takes none */
	const char *help;     /* is broken into lines where it must */
	enum option_kind kind;
	size_t place; /* in the object that is filled */
	/* Instead of place: an exit code, after a message; argument: NULL if
	 * the option takes none. */
	int (*take)(void *object, const char *argument);
	/* Names of options, with a space between: none of these may be given,
	 * too; one of these must be.  NULL: any, none. */
	const char *excludes, *needs;
	/* The i-th name that the argument may be, NULL behind the last: they
	 * stand behind the help. */
	const char *(*value)(size_t i);
};

/* How a row fills the object; excludes and needs may follow. */
#define OPTION_FIELD(type, field, is) \
	.kind = (is), .place = offsetof(type, field)
#define OPTION_FLAG(type, field) OPTION_FIELD(type, field, OPTION_IS_FLAG)
#define OPTION_TEXT(type, field) OPTION_FIELD(type, field, OPTION_IS_TEXT)
#define OPTION_SIZE(type, field) OPTION_FIELD(type, field, OPTION_IS_SIZE)
#define OPTION_THRESHOLD(type, field) \
	OPTION_FIELD(type, field, OPTION_IS_THRESHOLD)
#define OPTION_NUMBER(type, field) OPTION_FIELD(type, field, OPTION_IS_NUMBER)
#define OPTION_GLOB(type, field) OPTION_FIELD(type, field, OPTION_IS_GLOB)
#define OPTION_TAKE(function) .kind = OPTION_IS_TAKEN, .take = (function)

/*
 * The options that mean the same in every command that has them.  field is, of
 * the command's object,
 *
 *   OUTPUT_OPTIONS   a struct output (table.h)
 *   FILTER_OPTIONS   a struct filter (core/base/filter.h): of the files that are
 *                    told
 *   BEST_OPTIONS     a struct best: how alike, and how many
 */
struct best {
	int threshold;  /* 0: that of the mount */
	uint64_t limit; /* 0: none */
};

#define OUTPUT_OPTIONS(type, field)                                          \
	{ "json",                                                            \
	  0,                                                                 \
	  NULL,                                                              \
	  "an object a line, the last one with totals",                      \
	  OPTION_FLAG(type, field.json),                                     \
	  .excludes = "null" },                                              \
		{ "null", '0', NULL, "the paths alone, each ended by NUL",   \
		  OPTION_FLAG(type, field.nul) },                            \
	{                                                                    \
		"verbose", 'v', NULL, "more columns, such as every measure", \
			OPTION_FLAG(type, field.verbose)                     \
	}

#define FILTER_OPTIONS(type, field)                                          \
	{ "min-size", 0, "N", "only files of N bytes or more (1k, 1M, ...)", \
	  OPTION_SIZE(type, field.min_size) },                               \
		{ "include", 0, "GLOB",                                      \
		  "only these; with a slash it is a path below the mount",   \
		  OPTION_GLOB(type, field.include) },                        \
	{                                                                    \
		"exclude", 0, "GLOB", "but not these; repeat both",          \
			OPTION_GLOB(type, field.exclude)                     \
	}

#define BEST_OPTIONS(type, field)                                              \
	{ "threshold", 0, "N", "least score, 1 to 100 (default: the mount's)", \
	  OPTION_THRESHOLD(type, field.threshold) },                           \
	{                                                                      \
		"limit", 0, "N", "at most so many, the best of them",          \
			OPTION_NUMBER(type, field.limit)                       \
	}

struct command;

/* Fills the job of the command; the operands are behind optind then.  An exit
 * code, after a message. */
int options_parse(const struct command *command, int argc, char **argv);

/* Which globs matched none of the files that the command found. */
void options_tell_unmatched(const struct command *command);

/* "no digest 'x'; there are sise, ...".  EXIT_USAGE. */
int options_complain_value(const struct command *command, const char *what,
			   const char *name, const char *(*value)(size_t i));

/* The rows of a help text. */
void options_print(const struct option_row *rows);

#endif
