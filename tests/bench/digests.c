/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/bench/inputs.h"

static const struct part {
	const char *name;
	void (*run)(const struct bench *b);
	const char *title;
} parts[] = {
	/* Before anything has used memory. */
	{ "memory", bench_memory, "what a worker needs" },
	{ "speed", bench_speed, "large inputs, by kernel variant" },
	{ "small", bench_small, "small files" },
	{ "pairs", bench_pairs, "scores of two signatures of SiSe" },
};

#define PART_COUNT (sizeof(parts) / sizeof(parts[0]))

static void print_help(FILE *to)
{
	size_t i;

	fputs("usage: digests [OPTIONS] [PART...]\n\n"
	      "Measures the digests in memory: one thread, CPU time, medians.\n"
	      "\n",
	      to);
	for (i = 0; i < PART_COUNT; i++)
		fprintf(to, "  %-16s%s\n", parts[i].name, parts[i].title);
	fputs("\n"
	      "  --size MIB      of the large inputs (64)\n"
	      "  --runs N        of which the median counts (5)\n"
	      "  --figures FILE  the figures, for a script\n"
	      "  --inputs DIR    write the inputs to DIR/random and DIR/text,\n"
	      "                  measure nothing\n",
	      to);
}

static size_t number(const char *text, size_t least, size_t most)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9' || value < least ||
	    value > most)
		fail("'%s' is not a number from %zu to %zu", text, least, most);
	return value;
}

static void input_save(struct input in, const char *directory)
{
	char path[4096];
	size_t at = 0;
	ssize_t put;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, in.name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		fail("%s: %m", path);
	for (; at < in.len; at += (size_t)put) {
		put = write(fd, in.data + at, in.len - at);
		if (put < 0)
			fail("%s: %m", path);
	}
	if (close(fd))
		fail("%s: %m", path);
	input_release(&in);
}

struct choice {
	const char *figures;
	const char *inputs;
};

static void parse_options(int argc, char **argv, struct bench *b,
			  struct choice *choice_out)
{
	static const struct option options[] = {
		{ "size", required_argument, NULL, 's' },
		{ "runs", required_argument, NULL, 'r' },
		{ "figures", required_argument, NULL, 'g' },
		{ "inputs", required_argument, NULL, 'i' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 's')
			b->size = number(optarg, 1, 65536) * MIB;
		else if (c == 'r')
			b->runs = number(optarg, 1, MAX_RUNS);
		else if (c == 'g')
			choice_out->figures = optarg;
		else if (c == 'i')
			choice_out->inputs = optarg;
		else {
			print_help(c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
	}
}

static const struct part *part_find(const char *name)
{
	size_t i;

	for (i = 0; i < PART_COUNT; i++)
		if (!strcmp(parts[i].name, name))
			return &parts[i];
	fail("no part '%s'; digests --help lists them", name);
}

static void run_parts(const struct bench *b, char **names)
{
	size_t i;

	for (i = 0; !*names && i < PART_COUNT; i++)
		parts[i].run(b);
	for (; *names; names++)
		part_find(*names)->run(b);
}

int main(int argc, char **argv)
{
	struct bench b = { .size = 64 * MIB, .runs = 5 };
	struct choice choice = { 0 };

	parse_options(argc, argv, &b, &choice);
	if (choice.inputs) {
		input_save(input_random(b.size), choice.inputs);
		input_save(input_text(b.size), choice.inputs);
		return 0;
	}
	b.variants = kernel_all(&b.variant_count);
	if (choice.figures) {
		b.figures = fopen(choice.figures, "we");
		if (!b.figures)
			fail("%s: %m", choice.figures);
	}
	printf("\nIn memory: one thread, CPU time, median of %zu;"
	       " 1 MB is 10^6 bytes\n",
	       b.runs);
	run_parts(&b, argv + optind);
	if ((b.figures && fclose(b.figures)) || fflush(stdout))
		fail("cannot write: %m");
	return 0;
}
