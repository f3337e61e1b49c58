/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/scale.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"

/* What ls does; the number of links. */
static size_t list(const struct scale *s, uint64_t number)
{
	char file[SCALE_PATH], path[4096];
	struct dirent *entry;
	size_t count = 0;
	DIR *directory;

	scale_path(number, 0, file);
	(void)snprintf(path, sizeof(path), "%s/.similar/%s", s->directory,
		       file);
	directory = opendir(path);
	if (!directory)
		fail("%s: %m", path);
	while ((entry = readdir(directory)))
		count += entry->d_name[0] != '.';
	(void)closedir(directory);
	return count;
}

static void list_all(const struct scale *s, const char *name,
		     enum scale_choice choice)
{
	double *times = allocate(s->queries * sizeof(*times));
	uint64_t i, links = 0;
	char key[64];
	double start;

	for (i = 0; i < s->queries; i++) {
		start = scale_clock();
		links += list(s, scale_question(s, choice, i));
		times[i] = 1e6 * (scale_clock() - start);
	}
	(void)snprintf(key, sizeof(key), "%s.list", name);
	scale_figures(key, "us", times, s->queries);
	(void)snprintf(key, sizeof(key), "%s.links", name);
	scale_figure(key, "a listing", (double)links / (double)s->queries);
	free(times);
}

void scale_list(const struct scale *s)
{
	double start;
	size_t links;

	list_all(s, "any", SCALE_ANY);
	list_all(s, "crowd", SCALE_CROWD);
	start = scale_clock();
	links = list(s, scale_copied(&s->model));
	scale_figure("copied.list", "us", 1e6 * (scale_clock() - start));
	scale_figure("copied.links", "a listing", (double)links);
}
