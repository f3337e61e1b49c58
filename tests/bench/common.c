/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench.h"

#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/err.h"

double cpu_seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(double *values, size_t count)
{
	qsort(values, count, sizeof(values[0]), by_value);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

void figure(const struct bench *b, const char *table, const char *subject,
	    const char *variant, const char *unit, double value)
{
	if (b->figures)
		fprintf(b->figures, "%s %s %s %s %.6g\n", table, subject,
			variant, unit, value);
}

void print_variants(const struct bench *b, int width)
{
	size_t v;

	for (v = 0; v < b->variant_count; v++)
		printf("%*s", width, b->variants[v].name);
}

void fail(const char *format, ...)
{
	va_list args;

	(void)fflush(stdout);
	fputs("bench: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void fail_errno(const char *what, int err)
{
	if (err)
		fail("%s: %s", what, err_text(err));
}

void *allocate(size_t size)
{
	void *p = malloc(size);

	if (!p)
		fail("no memory for %zu bytes", size);
	return p;
}
