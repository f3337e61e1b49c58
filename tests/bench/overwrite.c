/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * overwrite (all|some) FILE SIZE BLOCK BYTES: writes so many bytes to the file,
 * in blocks one after the other or anywhere below SIZE, and prints what it took
 * in microseconds, from before it is opened until it is closed.
 *
 * fio's time ends before the file is closed, when what a writeback cache took
 * is still to be written.
 */

static uint64_t number(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	if (!n || *end) {
		fprintf(stderr, "overwrite: %s: not a number\n", text);
		exit(2);
	}
	return n;
}

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int write_blocks(int fd, const char *data, uint64_t size, uint64_t block,
			uint64_t bytes, int some)
{
	uint64_t state = 1;

	for (uint64_t done = 0; done < bytes; done += block) {
		uint64_t at = some ? next_random(&state) % (size / block) :
				     done / block;

		if (pwrite(fd, data, block, (off_t)(at * block)) !=
		    (ssize_t)block)
			return -1;
	}
	return 0;
}

static int overwrite(const char *path, const char *data, char **numbers,
		     int some)
{
	double start = now_us();
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 ||
	    write_blocks(fd, data, number(numbers[0]), number(numbers[1]),
			 number(numbers[2]), some) ||
	    close(fd)) {
		perror(path);
		return 1;
	}
	printf("%.0f\n", now_us() - start);
	return 0;
}

int main(int argc, char **argv)
{
	char *data;
	int status;

	if (argc != 6) {
		fputs("usage: overwrite (all|some) FILE SIZE BLOCK BYTES\n",
		      stderr);
		return 2;
	}
	data = calloc(1, number(argv[4]));
	if (!data) {
		perror("overwrite");
		return 1;
	}
	memset(data, 'x', number(argv[4]));
	status = overwrite(argv[2], data, argv + 3,
			   strcmp(argv[1], "some") == 0);
	free(data);
	return status;
}
