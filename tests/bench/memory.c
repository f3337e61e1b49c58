/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/inputs.h"
#include "tests/bench/subject.h"

#define PART (256 * KIB)

/* Memory of this process that is in use and is no file's.  The counter in statm
 * is late by some pages on machines of many processors. */
static size_t resident_kib(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	size_t kib = 0;
	char line[256];

	if (!file)
		fail("/proc/self/smaps_rollup: %m");
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "Anonymous:", 10))
			kib = strtoul(line + 10, NULL, 10);
	(void)fclose(file);
	return kib;
}

/* The stream is made as it goes, so that nothing but the worker grows. */
static size_t growth_kib(const struct subject *subject, size_t size)
{
	struct input part = input_random(PART);
	size_t before = resident_kib(), at, after;
	uint64_t stamp = 1;
	struct worker *w = worker_new(subject, NULL);

	worker_begin(w, size);
	for (at = 0; at < size; at += PART) {
		stamp += draw(&stamp);
		for (size_t i = 0; i < PART; i += sizeof(stamp))
			memcpy(part.data + i, &(uint64_t){ draw(&stamp) },
			       sizeof(stamp));
		worker_update(w, part.data, PART);
	}
	worker_final(w, NULL);
	after = resident_kib();
	worker_free(w);
	input_release(&part);
	return after - before;
}

/* In a process of its own: memory that was freed is used again. */
static size_t forked_growth_kib(const struct subject *subject, size_t size)
{
	int ends[2], status = 0;
	size_t kib = 0;
	pid_t child;

	(void)fflush(NULL);
	if (pipe(ends))
		fail("pipe: %m");
	child = fork();
	if (child < 0)
		fail("fork: %m");
	if (!child) {
		kib = growth_kib(subject, size);
		_exit(write(ends[1], &kib, sizeof(kib)) != sizeof(kib));
	}
	close(ends[1]);
	if (read(ends[0], &kib, sizeof(kib)) != sizeof(kib) ||
	    waitpid(child, &status, 0) != child || status)
		fail("%s: memory could not be measured", subject->name);
	close(ends[0]);
	return kib;
}

static void print_memory(const struct bench *b, const struct subject *subject)
{
	size_t small, large;

	small = forked_growth_kib(subject, MIB);
	large = forked_growth_kib(subject, b->size);
	printf("%-10s%12zu%12zu\n", subject->name, small, large);
	figure(b, "memory", subject->name, "-", "KiB", (double)large);
}

void bench_memory(const struct bench *b)
{
	struct subject subjects[MAX_SUBJECTS];
	size_t i, count = subjects_list(subjects);

	printf("\nMemory of a worker: how many KiB the process grows by\n"
	       "%16s 1 MiB%8zu MiB\n",
	       "", b->size / MIB);
	for (i = 0; i < count; i++)
		print_memory(b, &subjects[i]);
}
