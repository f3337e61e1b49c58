/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mapstore FILE: maps it for reading and writing, closes the descriptor, then
 * stores each line of standard input at the start of the mapping and prints
 * "stored".
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEN 4096

int main(int argc, char **argv)
{
	char line[256];
	int fd = argc == 2 ? open(argv[1], O_RDWR) : -1;
	char *map = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED) {
		perror("mapstore");
		return 1;
	}
	close(fd);
	while (fgets(line, sizeof(line), stdin)) {
		memcpy(map, line, strlen(line));
		puts("stored");
		fflush(stdout);
	}
	return munmap(map, LEN) < 0;
}
