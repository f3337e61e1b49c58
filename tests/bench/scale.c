/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/scale.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/bench.h"
#include "tests/bench/inputs.h"

#define FILES_PER_DIRECTORY 200
#define QUERIES 2000

void scale_path(uint64_t number, uint64_t copy, char out[SCALE_PATH])
{
	uint64_t file = copy ? copy : number;

	(void)snprintf(out, SCALE_PATH, "%s%05" PRIu64 "/%08" PRIu64,
		       copy ? "copies" : "files", file / FILES_PER_DIRECTORY,
		       file);
}

uint64_t scale_question(const struct scale *s, enum scale_choice choice,
			uint64_t i)
{
	uint64_t state = i + 1, place;
	int n;

	for (n = 0; n < 8; n++)
		(void)draw(&state);
	place = draw(&state) >> 8;
	place %= choice == SCALE_CROWD ? s->model.crowd : s->model.contents;
	return scale_number(&s->model, place);
}

double scale_clock(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void scale_figure(const char *key, const char *unit, double value)
{
	printf("%-24s %12.4g %s\n", key, value, unit);
	(void)fflush(stdout);
}

void scale_figures(const char *key, const char *unit, double *values,
		   size_t count)
{
	char name[64];
	double half = median(values, count);

	(void)snprintf(name, sizeof(name), "%s.p50", key);
	scale_figure(name, unit, half);
	(void)snprintf(name, sizeof(name), "%s.p99", key);
	scale_figure(name, unit, values[count * 99 / 100]);
	(void)snprintf(name, sizeof(name), "%s.max", key);
	scale_figure(name, unit, values[count - 1]);
}

int main(int argc, char **argv)
{
	struct scale s = { .queries = QUERIES };
	uint64_t contents;

	if (argc != 4)
		fail("usage: scale fill|bare|open|ask|groups|list CONTENTS DIRECTORY");
	contents = strtoull(argv[2], NULL, 10);
	if (contents < 100 || contents > UINT32_MAX / 4)
		fail("%s: 100 contents or more", argv[2]);
	scale_model_init(&s.model, contents);
	s.directory = argv[3];
	if (!strcmp(argv[1], "open"))
		s.queries = 0;
	if (!strcmp(argv[1], "fill") || !strcmp(argv[1], "bare"))
		scale_fill(&s, !strcmp(argv[1], "bare"));
	else if (!strcmp(argv[1], "ask") || !strcmp(argv[1], "open"))
		scale_ask(&s);
	else if (!strcmp(argv[1], "groups"))
		scale_groups(&s);
	else if (!strcmp(argv[1], "list"))
		scale_list(&s);
	else
		fail("%s: what is that?", argv[1]);
	return 0;
}
