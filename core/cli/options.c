/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/options.h"

#include <assert.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/filter.h"
#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/cli/table.h"

enum {
	ROWS = 32,      /* most of a command */
	FIRST = 256,    /* for getopt(): the first row without a letter */
	LEFT_MOST = 26, /* of a name and its argument beside the text */
	WIDTH = 80,
};

/* ---- parsing ---- */

static bool read_number(const char *text, uint64_t most, uint64_t *out)
{
	const char *at = text, *end = text + strlen(text);

	return text_number(&at, end, out) && at == end && *out && *out <= most;
}

static int take(const struct command *command, const struct option_row *row,
		const char *argument)
{
	void *place = (char *)command->job + row->place;
	const char *wrong = NULL;
	uint64_t value;
	int err;

	switch (row->kind) {
	case OPTION_IS_FLAG:
		*(bool *)place = true;
		break;
	case OPTION_IS_TEXT:
		*(const char **)place = argument;
		break;
	case OPTION_IS_SIZE:
		if (text_parse_size(argument, place))
			wrong = "a number of bytes, or of k, M, G, T";
		break;
	case OPTION_IS_THRESHOLD:
		if (read_number(argument, 100, &value))
			*(int *)place = (int)value;
		else
			wrong = "a number from 1 to 100";
		break;
	case OPTION_IS_NUMBER:
		if (!read_number(argument, UINT64_MAX, place))
			wrong = "a number from 1";
		break;
	case OPTION_IS_GLOB:
		err = glob_list_add(place, argument);
		return err ? cli_complain_errno(NULL, err) : EXIT_OK;
	case OPTION_IS_TAKEN:
		return row->take(command->job, argument);
	}
	return wrong ? cli_usage_error(command, "--%s: '%s' is not %s",
				       row->name, argument, wrong) :
		       EXIT_OK;
}

/* Whether one of the options with these names was given: it, or NULL. */
static const struct option_row *find_given(const struct option_row *rows,
					   const bool *given, const char *names)
{
	const struct option_row *row;
	size_t len;

	for (; names && *names; names += len + (names[len] == ' ')) {
		len = strcspn(names, " ");
		for (row = rows; row->name; row++)
			if (given[row - rows] && strlen(row->name) == len &&
			    !strncmp(row->name, names, len))
				return row;
	}
	return NULL;
}

/* Whether the options that were given may be given together. */
static int check_given(const struct command *command,
		       const struct option_row *rows, const bool *given)
{
	const struct option_row *row, *other;

	for (row = rows; row->name; row++) {
		if (!given[row - rows])
			continue;
		other = find_given(rows, given, row->excludes);
		if (other)
			return cli_usage_error(
				command, "--%s and --%s exclude one another",
				row->name, other->name);
		if (row->needs && !find_given(rows, given, row->needs))
			return cli_usage_error(command, "--%s is for --%s",
					       row->name, row->needs);
	}
	return EXIT_OK;
}

int options_parse(const struct command *command, int argc, char **argv)
{
	static const struct option_row none[] = { { 0 } };
	const struct option_row *rows = command->options ? command->options :
							   none,
				*row;
	struct option names[ROWS + 1] = { 0 };
	char letters[2 * ROWS + 1] = "", *end = letters;
	bool given[ROWS + 1] = { false };
	size_t i;
	int c, code = EXIT_OK;

	for (i = 0; rows[i].name; i++) {
		assert(i < ROWS);
		names[i].name = rows[i].name;
		names[i].has_arg =
			rows[i].argument ? required_argument : no_argument;
		names[i].val = FIRST + (int)i;
		if (!rows[i].letter)
			continue;
		*end++ = rows[i].letter;
		if (rows[i].argument)
			*end++ = ':';
	}
	while (!code &&
	       (c = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		for (row = rows; row->name; row++)
			if (c == row->letter || c == FIRST + (row - rows))
				break;
		if (!row->name)
			return cli_usage_error(command, NULL);
		given[row - rows] = true;
		code = take(command, row, optarg);
	}
	if (!code)
		code = check_given(command, rows, given);
	if (!code && command->lacking &&
	    (argc - optind < command->operands[0] ||
	     argc - optind > command->operands[1]))
		return cli_usage_error(command, "%s", command->lacking);
	return code;
}

void options_tell_unmatched(const struct command *command)
{
	const struct option_row *row = command->options;
	const struct glob_list *list;
	const struct glob *glob;

	for (; row && row->name; row++) {
		if (row->kind != OPTION_IS_GLOB)
			continue;
		list = (const void *)((const char *)command->job + row->place);
		for (glob = list->all; glob < list->all + list->count; glob++)
			if (glob->asked && !glob->matched)
				cli_complain(command->name,
					     "no file that was found matches "
					     "--%s '%s'; names are compared "
					     "byte for byte",
					     row->name, glob->pattern);
	}
}

static void append_values(const char *(*value)(size_t i), const char *between,
			  struct buf *out)
{
	size_t i;

	for (i = 0; value && value(i); i++)
		(void)buf_append_format(out, "%s%s", i ? between : "",
					value(i));
}

int options_complain_value(const struct command *command, const char *what,
			   const char *name, const char *(*value)(size_t i))
{
	struct buf names = { 0 };
	int code;

	append_values(value, ", ", &names);
	code = cli_usage_error(command, "no %s '%s'; there are %s", what, name,
			       names.data);
	buf_release(&names);
	return code;
}

/* ---- the help ---- */

/* "  -o, --output FILE" */
static int format_left(const struct option_row *row, char out[WIDTH])
{
	return snprintf(out, WIDTH, "  %c%c%s--%s%s%s", row->letter ? '-' : ' ',
			row->letter ? row->letter : ' ',
			row->letter ? ", " : "  ", row->name,
			row->argument ? " " : "",
			row->argument ? row->argument : "");
}

/* Words in lines from a column on, where the cursor is.  One that is longer than
 * a line goes on in the next one behind a "|". */
static void print_words(const char *text, int column)
{
	const int room = WIDTH - column;
	int at = column, len;
	bool cut;

	for (; *text; text += len + (text[len] == ' ')) {
		len = (int)strcspn(text, " ");
		cut = len > room;
		if (cut)
			for (len = room; len > 1 && text[len - 1] != '|';)
				len--;
		if (at > column && at + 1 + len > WIDTH) {
			printf("\n%*s", column, "");
			at = column;
		}
		at += printf("%s%.*s", at > column ? " " : "", len, text);
		if (cut)
			at = WIDTH;
	}
	putchar('\n');
}

void options_print(const struct option_row *rows)
{
	const struct option_row *row;
	struct buf help = { 0 };
	char left[WIDTH];
	int column = 0, len;

	for (row = rows; row->name; row++) {
		len = format_left(row, left);
		if (len > column && len <= LEFT_MOST)
			column = len;
	}
	column += 2;
	for (row = rows; row->name; row++) {
		len = format_left(row, left);
		fputs(left, stdout);
		if (len + 2 > column)
			printf("\n%*s", column, "");
		else
			printf("%*s", column - len, "");
		buf_clear(&help);
		(void)buf_append_format(&help, "%s%s", row->help,
					row->value ? ": " : "");
		append_values(row->value, "|", &help);
		print_words(help.data ? help.data : "", column);
	}
	buf_release(&help);
}
