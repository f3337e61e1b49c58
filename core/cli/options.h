/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_OPTIONS_H
#define CORE_CLI_OPTIONS_H

#include <stddef.h>

/*
 * The options of a command, as a table: they are parsed, explained (kin help)
 * and completed (scripts/completion/words reads the help) by it.
 */
enum option_kind {
	OPTION_IS_FLAG,      /* bool: set */
	OPTION_IS_TEXT,      /* const char *: the argument */
	OPTION_IS_SIZE,      /* uint64_t: bytes, as text_parse_size() */
	OPTION_IS_THRESHOLD, /* int: 1 to 100 */
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
};

/* The last fields of a row. */
#define OPTION_FLAG(type, field) OPTION_IS_FLAG, offsetof(type, field), NULL
#define OPTION_TEXT(type, field) OPTION_IS_TEXT, offsetof(type, field), NULL
#define OPTION_SIZE(type, field) OPTION_IS_SIZE, offsetof(type, field), NULL
#define OPTION_THRESHOLD(type, field) \
	OPTION_IS_THRESHOLD, offsetof(type, field), NULL
#define OPTION_TAKE(function) OPTION_IS_TAKEN, 0, function

struct command;

/* Fills object by the options of the command; the operands are behind optind
 * then.  An exit code, after a message. */
int options_parse(const struct command *command, void *object, int argc,
		  char **argv);

/* The rows of a help text. */
void options_print(const struct option_row *rows);

#endif
