/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/speed.h"

#include <string.h>

/* ---- measuring ---- */

/* As much of it as a terminal shows. */
static int line_length(const char *text)
{
	size_t len = strcspn(text, "\n");

	return len < 70 ? (int)len : 70;
}

/* Texts are a line per digest; the first line that differs is shown. */
static void check_same(const char *subject, const char *variant,
		       const struct buf *have, const struct buf *want)
{
	size_t i, line = 0;

	if (have->len == want->len &&
	    !memcmp(have->data, want->data, want->len))
		return;
	for (i = 0; have->data[i] && have->data[i] == want->data[i]; i++)
		if (have->data[i] == '\n')
			line = i + 1;
	fail("%s: %s is wrong, nothing more is timed\n"
	     "have %.*s\nwant %.*s",
	     subject, variant, line_length(have->data + line),
	     have->data + line, line_length(want->data + line),
	     want->data + line);
}

static void check_variant(const struct bench *b, const struct load *load,
			  const struct kernel_ops *variant)
{
	struct worker *scalar = worker_new(load->subject, &b->variants[0]);
	struct worker *other = worker_new(load->subject, variant);
	struct buf want = { 0 }, have = { 0 };
	const uint8_t *data = load->in->data;
	size_t at, piece = load->piece;

	for (at = 0; at + piece <= load->in->len; at += piece) {
		buf_clear(&want);
		buf_clear(&have);
		worker_digest(scalar, data + at, piece, &want);
		worker_digest(other, data + at, piece, &have);
		check_same(load->subject->name, variant->name, &have, &want);
	}
	worker_free(scalar);
	worker_free(other);
	buf_release(&want);
	buf_release(&have);
}

static double time_once(struct worker *w, const struct load *load)
{
	double start = cpu_seconds();
	size_t at;

	for (at = 0; at + load->piece <= load->in->len; at += load->piece)
		worker_digest(w, load->in->data + at, load->piece, NULL);
	return (cpu_seconds() - start) * 1e9 / (double)at;
}

void measure_speed(const struct bench *b, const struct load *load, size_t first,
		   double ns_out[MAX_VARIANTS])
{
	size_t v, run, count = b->variant_count - first;
	const struct kernel_ops *variants = b->variants + first;
	struct worker *workers[MAX_VARIANTS];
	double runs[MAX_VARIANTS][MAX_RUNS];

	for (v = 0; v < count; v++) {
		if (first + v)
			check_variant(b, load, &variants[v]);
		workers[v] = worker_new(load->subject, &variants[v]);
	}
	for (run = 0; run < b->runs; run++)
		for (v = 0; v < count; v++)
			runs[v][run] = time_once(workers[v], load);
	for (v = 0; v < count; v++) {
		ns_out[v] = median(runs[v], b->runs);
		worker_free(workers[v]);
	}
}

double measure_best(const struct bench *b, const struct load *load)
{
	double ns[MAX_VARIANTS] = { 0 };

	measure_speed(b, load, b->variant_count - 1, ns);
	return ns[0];
}

/* ---- large inputs ---- */

static void print_speed(const struct bench *b, const struct subject *subject,
			const struct input *in)
{
	const struct load load = { subject, in, in->len };
	double ns[MAX_VARIANTS];
	size_t v;

	measure_speed(b, &load, 0, ns);
	printf("%-10s", subject->name);
	for (v = 0; v < b->variant_count; v++) {
		printf("%9.0f %8.3f", 1e3 / ns[v], ns[v]);
		figure(b, in->name, subject->name, b->variants[v].name, "MB/s",
		       1e3 / ns[v]);
	}
	printf("%9.2f\n", ns[0] / ns[v - 1]);
	(void)fflush(stdout);
}

static void print_speeds(const struct bench *b, const struct input *in)
{
	struct subject subjects[MAX_SUBJECTS];
	size_t i, v, count = subjects_list(subjects);

	printf("\n%s, %zu MiB, one pass\n%10s", in->name, in->len / MIB, "");
	print_variants(b, 18);
	printf("\n%10s", "");
	for (v = 0; v < b->variant_count; v++)
		printf("%9s %8s", "MB/s", "ns/byte");
	printf("%9s\n", "x scalar");
	for (i = 0; i < count; i++)
		print_speed(b, &subjects[i], in);
}

void bench_speed(const struct bench *b)
{
	struct input in = input_random(b->size);

	print_speeds(b, &in);
	input_release(&in);
	in = input_text(b->size);
	print_speeds(b, &in);
	input_release(&in);
}

/* ---- small files ---- */

static const size_t small_sizes[] = { 4 * KIB, 32 * KIB, 128 * KIB };

#define SMALL_COUNT (sizeof(small_sizes) / sizeof(small_sizes[0]))

static void print_small(const struct bench *b, const struct subject *subject,
			const struct input *in)
{
	char table[64];
	double ns, us;
	size_t i;

	printf("%-10s", subject->name);
	for (i = 0; i < SMALL_COUNT; i++) {
		const struct load load = { subject, in, small_sizes[i] };

		ns = measure_best(b, &load);
		us = ns * (double)small_sizes[i] / 1e3;
		printf("%10.0f %10.2f", 1e3 / ns, us);
		(void)snprintf(table, sizeof(table), "%s-%zuKiB", in->name,
			       small_sizes[i] / KIB);
		figure(b, table, subject->name, "best", "us", us);
	}
	printf("\n");
	(void)fflush(stdout);
}

static void print_smalls(const struct bench *b, const struct input *in)
{
	struct subject subjects[MAX_SUBJECTS];
	size_t i, count = subjects_list(subjects);

	printf("\n%s, %zu MiB as small files, %s\n%10s", in->name,
	       in->len / MIB, b->variants[b->variant_count - 1].name, "");
	for (i = 0; i < SMALL_COUNT; i++)
		printf("%17zu KiB", small_sizes[i] / KIB);
	printf("\n%10s", "");
	for (i = 0; i < SMALL_COUNT; i++)
		printf("%10s %10s", "MB/s", "us/file");
	printf("\n");
	for (i = 0; i < count; i++)
		print_small(b, &subjects[i], in);
}

void bench_small(const struct bench *b)
{
	struct input in = input_random(b->size / 4);

	print_smalls(b, &in);
	input_release(&in);
	in = input_text(b->size / 4);
	print_smalls(b, &in);
	input_release(&in);
}
