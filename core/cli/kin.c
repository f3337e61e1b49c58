/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/kernel/kernel.h"

#define KERNEL_VARIABLE "KINFS_KERNEL"

/* By task: what is alike, what to do about it, digests alone, the mount. */
static const struct command *const commands[] = {
	&command_similar, &command_passages, &command_groups,  &command_report,
	&command_missing, &command_dedup,    &command_ignore,  &command_export,
	&command_seed,    &command_digest,   &command_compare, &command_strip,
	&command_status,  &command_watch,    &command_wait,    &command_pause,
	&command_resume,  &command_rescan,   &command_check,   &command_forget,
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static const struct command *command_find(const char *name)
{
	size_t i;

	for (i = 0; i < COMMAND_COUNT; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static void print_overview(FILE *to)
{
	size_t i;

	fputs("usage: kin COMMAND [OPTIONS] [ARGUMENTS]\n\n", to);
	for (i = 0; i < COMMAND_COUNT; i++)
		fprintf(to, "  %-10s%s\n", commands[i]->name,
			commands[i]->summary);
	fputs("  help      Explain a COMMAND; kin --version says which this is\n",
	      to);
}

static void print_help(const struct command *command)
{
	printf("usage: kin %s\n\n%s.\n%s", command->synopsis, command->summary,
	       command->help);
	if (command->options) {
		putchar('\n');
		options_print(command->options);
	}
	if (command->notes)
		fputs(command->notes, stdout);
}

static int unknown_command(const char *name)
{
	struct text_guess guess;
	size_t i;

	text_guess_begin(&guess, name, strlen(name));
	for (i = 0; i < COMMAND_COUNT; i++)
		text_guess_offer(&guess, commands[i]->name,
				 strlen(commands[i]->name));
	text_guess_offer(&guess, "--help", strlen("--help"));
	text_guess_offer(&guess, "--version", strlen("--version"));
	if (guess.best)
		cli_complain(NULL, "no command '%s'; did you mean '%s'?", name,
			     guess.best);
	else
		cli_complain(NULL, "no command '%s'; kin help lists them",
			     name);
	return EXIT_USAGE;
}

int operand_count(char **operands)
{
	int count = 0;

	while (operands[count])
		count++;
	return count;
}

/* The first that asks for help among options and operands; 0: none. */
static int find_help(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return i;
	return 0;
}

/* word: the argument that a command found wrong, which may be no option. */
static void guess_option(const struct command *command, const char *word)
{
	const struct option_row *row = command->options;
	struct text_guess guess;

	if (!row || strncmp(word, "--", 2) != 0)
		return;
	text_guess_begin(&guess, word + 2, strcspn(word, "=") - 2);
	for (; row->name; row++)
		text_guess_offer(&guess, row->name, strlen(row->name));
	if (guess.best && guess.distance)
		cli_complain(NULL, "%s: did you mean '--%s'?", command->name,
			     guess.best);
}

/* getopt() begins its messages with the first argument. */
static int run_command(const struct command *command, int argc, char **argv)
{
	char program[32];
	int code;

	(void)snprintf(program, sizeof(program), "kin: %s", command->name);
	argv[0] = program;
	code = options_parse(command, argc, argv);
	if (!code)
		code = command->run(command, argv + optind);
	if (code >= 0 && code != EXIT_USAGE)
		options_tell_unmatched(command);
	if (code < 0)
		return cli_complain_errno(argv[optind], code);
	if (code == EXIT_USAGE && optind > 0 && optind <= argc)
		guess_option(command, argv[optind - 1]);
	return code;
}

/* The slower variants of the inner loops, so that they can be compared. */
static int choose_kernel(void)
{
	const char *name = getenv(KERNEL_VARIABLE);
	const struct kernel_ops *all;
	struct buf names = { 0 };
	size_t i, count;

	if (!name || !*name)
		return EXIT_OK;
	all = kernel_all(&count);
	for (i = 0; i < count && strcmp(all[i].name, name) != 0; i++)
		(void)buf_append_format(&names, "%s%s", i ? ", " : "",
					all[i].name);
	if (i < count)
		kernel_use(&all[i]);
	else
		cli_complain(NULL,
			     KERNEL_VARIABLE " is '%s'; this machine runs %s",
			     name, names.data);
	buf_release(&names);
	return i < count ? EXIT_OK : EXIT_USAGE;
}

static int run(int argc, char **argv)
{
	const struct command *command;
	bool help = false;

	for (; argc > 1 && !strcmp(argv[1], "help"); argc--, argv++)
		help = true;
	if (argc < 2 && !help) {
		print_overview(stderr);
		return EXIT_USAGE;
	}
	if (argc < 2 || find_help(argc, argv) == 1) {
		print_overview(stdout);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("kin " KINFS_VERSION);
		return EXIT_OK;
	}
	command = command_find(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	if (!help && !find_help(argc, argv))
		return run_command(command, argc - 1, argv + 1);
	print_help(command);
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	int code;

	(void)setlocale(LC_CTYPE, "");
	code = choose_kernel();
	if (!code)
		code = run(argc, argv);
	if (fflush(stdout) || ferror(stdout))
		code = cli_complain(NULL, "cannot write the output: %m");
	return code;
}
