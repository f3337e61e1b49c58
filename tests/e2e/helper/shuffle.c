/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * shuffle DIRECTORY SEED PROCESSES SECONDS: makes, moves, exchanges, links and
 * removes files and directories, most of all moves them; whatever fails fails.
 */
enum { NAMES = 12, DEPTH = 3, PATH_BYTES = 64 };

static uint64_t state;

static unsigned pick(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(state >> 33) % n;
}

/* A directory, at most so deep, or with file a file in it. */
static void pick_path(char *out, int file)
{
	unsigned depth = pick(DEPTH + 1);
	size_t len = 0;

	if (!depth && !file)
		depth = 1;
	while (depth--)
		len += (size_t)snprintf(out + len, PATH_BYTES - len, "d%u%s",
					pick(NAMES), depth || file ? "/" : "");
	if (file)
		(void)snprintf(out + len, PATH_BYTES - len, "f%u", pick(NAMES));
}

static void make_file(const char *path)
{
	char text[3000];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	size_t i, len = 1 + pick(sizeof(text));

	if (fd < 0)
		return;
	for (i = 0; i < len; i++)
		text[i] = (char)('a' + pick(26));
	(void)!write(fd, text, len);
	close(fd);
}

static void step(void)
{
	unsigned file = pick(2), flags = pick(4) ? 0 : RENAME_EXCHANGE;
	char a[PATH_BYTES], b[PATH_BYTES];

	pick_path(a, (int)file);
	pick_path(b, (int)file);
	switch (pick(12)) {
	case 0:
	case 1:
	case 2:
		if (file)
			make_file(a);
		else
			(void)mkdir(a, 0755);
		break;
	case 3:
		(void)unlink(a);
		break;
	case 4:
		(void)rmdir(a);
		break;
	case 5:
		(void)link(a, b);
		break;
	default:
		(void)renameat2(AT_FDCWD, a, AT_FDCWD, b, flags);
		break;
	}
}

static void work(uint64_t seed, time_t seconds)
{
	struct timespec now;
	time_t end;

	state = seed;
	clock_gettime(CLOCK_MONOTONIC, &now);
	for (end = now.tv_sec + seconds; now.tv_sec < end;) {
		step();
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int i, processes;

	if (argc != 5 || chdir(argv[1]))
		return 2;
	processes = atoi(argv[3]);
	for (i = 0; i < processes; i++)
		if (fork() == 0)
			work(strtoull(argv[2], NULL, 10) * 1000 + (unsigned)i,
			     atoi(argv[4]));
	while (wait(NULL) >= 0)
		;
	return 0;
}
