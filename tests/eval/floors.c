/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/floors.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/eval/eval.h"

void figures_release(struct figures *f)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		free(f->list[i].name);
	free(f->list);
	*f = (struct figures){ 0 };
}

void figures_add(struct figures *f, double value, const char *format, ...)
{
	struct figure figure = { .value = value };
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&figure.name, format, args);
	va_end(args);
	if (len < 0)
		fail("no memory");
	f->list = grown(f->list, f->count, sizeof(*f->list));
	f->list[f->count++] = figure;
}

void figures_print(const struct figures *f)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		printf("%s %.4f\n", f->list[i].name, f->list[i].value);
}

static const struct figure *find(const struct figures *f, const char *name)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		if (!strcmp(f->list[i].name, name))
			return &f->list[i];
	return NULL;
}

static bool is_kept(const struct figures *f, const char *name,
		    const char *relation, double limit)
{
	const struct figure *figure = find(f, name);
	bool floor = !strcmp(relation, ">=");

	if (!floor && strcmp(relation, "<="))
		fail("floors: %s: neither >= nor <=", relation);
	if (!figure) {
		printf("%-32s no figure of that name\n", name);
		return false;
	}
	if (floor ? figure->value >= limit : figure->value <= limit)
		return true;
	printf("%-32s %10.3f, not %s %.3f\n", name, figure->value, relation,
	       limit);
	return false;
}

bool floors_hold(const char *path, const char *corpus, const struct figures *f)
{
	FILE *file = fopen(path, "re");
	char line[256], of[32], name[64], relation[4];
	size_t limits = 0, missed = 0;
	double limit;

	if (!file)
		fail_errno(path, -errno);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "#\n")] = 0;
		if (strspn(line, " \t") == strlen(line))
			continue;
		if (sscanf(line, "%31s %63s %3s %lf", of, name, relation,
			   &limit) != 4)
			fail("%s: no limit: %s", path, line);
		if (strcmp(of, corpus))
			continue;
		limits++;
		missed += !is_kept(f, name, relation, limit);
	}
	(void)fclose(file);
	printf("%zu of %zu limits kept\n", limits - missed, limits);
	return !missed;
}
