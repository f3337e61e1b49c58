/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mapwrite FILE OFFSET TEXT: writes through a shared mapping whose descriptor
 * is closed already, prints "written", and unmaps when standard input ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char *map_file(const char *path, size_t *len_out)
{
	struct stat st;
	char *map;
	int fd = open(path, O_RDWR);

	if (fd < 0 || fstat(fd, &st) < 0)
		return MAP_FAILED;
	*len_out = (size_t)st.st_size;
	map = mmap(NULL, *len_out, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return map;
}

int main(int argc, char **argv)
{
	size_t len = 0;
	size_t at;
	char *map;

	if (argc != 4)
		return 2;
	map = map_file(argv[1], &len);
	at = strtoul(argv[2], NULL, 10);
	if (map == MAP_FAILED || at + strlen(argv[3]) > len) {
		perror("mapwrite");
		return 1;
	}
	memcpy(map + at, argv[3], strlen(argv[3]));
	puts("written");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return munmap(map, len) < 0;
}
