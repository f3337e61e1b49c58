/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * overwrite (all|some) FILE SIZE BLOCK BYTES: writes so many bytes to the file,
 * in blocks one after the other or anywhere below SIZE, and closes it.
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

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct work {
	bool some; /* blocks, anywhere */
	uint64_t size;
	uint64_t block;
	uint64_t bytes;
	char *data; /* of a block */
};

static int write_blocks(int fd, const struct work *w)
{
	uint64_t state = 1;

	for (uint64_t done = 0; done < w->bytes; done += w->block) {
		uint64_t at =
			w->some ? next_random(&state) % (w->size / w->block) :
				  done / w->block;

		if (pwrite(fd, w->data, w->block, (off_t)(at * w->block)) !=
		    (ssize_t)w->block)
			return -1;
	}
	return 0;
}

static int overwrite(const char *path, const struct work *w)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || write_blocks(fd, w) || close(fd)) {
		perror(path);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct work w;
	int status;

	if (argc != 6) {
		fputs("usage: overwrite (all|some) FILE SIZE BLOCK BYTES\n",
		      stderr);
		return 2;
	}
	w.some = strcmp(argv[1], "some") == 0;
	w.size = number(argv[3]);
	w.block = number(argv[4]);
	w.bytes = number(argv[5]);
	if (w.block > w.size) {
		fputs("overwrite: BLOCK is more than SIZE\n", stderr);
		return 2;
	}
	w.data = malloc(w.block);
	if (!w.data) {
		perror("overwrite");
		return 1;
	}
	memset(w.data, 'x', w.block);
	status = overwrite(argv[2], &w);
	free(w.data);
	return status;
}
