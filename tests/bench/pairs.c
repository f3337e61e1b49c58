/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/digest/sise.h"
#include "tests/bench/inputs.h"

/*
 * Pairs of pieces of text that have a block size of SiSe in common: others
 * cannot be compared, and to say so costs nothing.
 */
#define PIECES 2000
#define PAIRS 20000
#define TEXT (8 * MIB) /* at least, of which the pieces are */

static size_t read_pieces(const struct input *text, struct sise_signature *out)
{
	static struct ctph sise;
	uint64_t state = 1;
	size_t count = 0, at = 0, len;

	for (; count < PIECES; at += len) {
		len = KIB << draw(&state) % 6;
		len += draw(&state) % len;
		if (len > text->len - at)
			break;
		ctph_init(&sise, CTPH_SISE);
		ctph_update(&sise, text->data + at, len);
		sise_read(&sise, &out[count++]);
	}
	return count;
}

static bool comparable(const struct sise_signature *a,
		       const struct sise_signature *b)
{
	return a->leading.block_size == b->leading.block_size ||
	       a->leading.block_size == b->secondary.block_size ||
	       a->secondary.block_size == b->leading.block_size;
}

/* Seconds for PAIRS random pairs. */
static double time_pairs(const struct sise_signature *pieces, size_t count)
{
	const struct sise_signature *a, *b;
	uint64_t state = 1;
	double start = cpu_seconds();
	size_t done = 0;

	while (done < PAIRS) {
		a = &pieces[draw(&state) % count];
		b = &pieces[draw(&state) % count];
		if (a == b || !comparable(a, b))
			continue;
		(void)sise_score(a, b);
		done++;
	}
	return cpu_seconds() - start;
}

void bench_pairs(const struct bench *b)
{
	struct sise_signature *pieces = allocate(PIECES * sizeof(*pieces));
	struct input text = input_text(b->size < TEXT ? TEXT : b->size);
	size_t run, count = read_pieces(&text, pieces);
	double runs[MAX_RUNS], rate;

	if (count < 100)
		fail("too little text to compare pieces of it");
	for (run = 0; run < b->runs; run++)
		runs[run] = time_pairs(pieces, count);
	rate = PAIRS / median(runs, b->runs);
	printf("\nSiSe scores of pieces of text with a block size in common:"
	       " %.0f/s\n",
	       rate);
	figure(b, "pairs", "score", "-", "1/s", rate);
	input_release(&text);
	free(pieces);
}
