/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/tlsh.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/eval/eval.h"
#include "tests/eval/listing.h"

/* ---- distance ---- */

/* Between two numbers on a circle. */
static int around(int a, int b, int circle)
{
	int d = abs(a - b);

	return d < circle - d ? d : circle - d;
}

static int swapped(uint8_t byte)
{
	return (byte << 4 | byte >> 4) & 0xff;
}

static int quartile_distance(int a, int b)
{
	int d = around(a & 15, b & 15, 16);

	return d <= 1 ? d : (d - 1) * 12;
}

/* Four buckets of two bits; opposite quartiles count double. */
static int buckets_distance(uint8_t a, uint8_t b)
{
	int sum = 0, shift, d;

	for (shift = 0; shift < 8; shift += 2) {
		d = abs((a >> shift & 3) - (b >> shift & 3));
		sum += d == 3 ? 6 : d;
	}
	return sum;
}

int tlsh_distance(const struct tlsh *a, const struct tlsh *b)
{
	int d = around(swapped(a->code[1]), swapped(b->code[1]), 256);
	size_t i;

	if (d > 1)
		d *= 12;
	d += quartile_distance(a->code[2], b->code[2]) +
	     quartile_distance(a->code[2] >> 4, b->code[2] >> 4) +
	     (a->code[0] != b->code[0]);
	for (i = 3; i < TLSH_BYTES; i++)
		d += buckets_distance(a->code[i], b->code[i]);
	return d;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool tlsh_parse(const char *text, struct tlsh *out)
{
	struct tlsh t = { .is_there = true };
	int high, low;
	size_t i;

	for (i = 0; i < TLSH_BYTES; i++) {
		high = hex_value(text[2 * i]);
		low = high < 0 ? -1 : hex_value(text[2 * i + 1]);
		if (low < 0)
			return false;
		t.code[i] = (uint8_t)(high << 4 | low);
	}
	*out = t;
	return true;
}

/* ---- the program ---- */

/* For n files it allocates 16 n^2 bytes at once. */
enum { BATCH = 8192 };

static void write_file(const char *path, const struct bytes *b)
{
	FILE *file = fopen(path, "we");

	if (!file || fwrite(b->data, 1, b->len, file) != b->len || fclose(file))
		fail("%s: cannot be written", path);
}

static bool is_wanted(const struct corpus *c, size_t file, bool held_out)
{
	return corpus_is_held_out(c, file) == held_out &&
	       c->files[file].digests.size <= TLSH_LARGEST;
}

/* Some files of a corpus, each named by its number. */
struct batch {
	const struct corpus *corpus;
	size_t *files;
	size_t count;
	char *directory;
};

static void batch_write(const struct batch *b)
{
	struct bytes content;
	char *path;
	size_t i;

	for (i = 0; i < b->count; i++) {
		content = corpus_read(b->corpus, b->files[i]);
		path = allocate_text("%s/%zu", b->directory, b->files[i]);
		write_file(path, &content);
		free(path);
		free(content.data);
	}
}

static void batch_remove(const struct batch *b)
{
	char *path;
	size_t i;

	for (i = 0; i < b->count; i++) {
		path = allocate_text("%s/%zu", b->directory, b->files[i]);
		(void)unlink(path);
		free(path);
	}
}

/* Its standard output goes to a file; false when it cannot be run. */
static bool run(char *directory, const char *output)
{
	char *argv[] = { "tlsh", "-r", directory, NULL };
	posix_spawn_file_actions_t actions;
	int err, status = -1;
	pid_t pid;

	if (posix_spawn_file_actions_init(&actions))
		fail("no memory");
	err = posix_spawn_file_actions_addopen(
		&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (!err)
		err = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null",
						       O_WRONLY, 0);
	if (!err)
		err = posix_spawnp(&pid, argv[0], &actions, NULL, argv,
				   environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (err)
		return false;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) != 127;
}

static void read_digests(const char *output, struct tlsh *digests, size_t count)
{
	FILE *file = fopen(output, "re");
	const char *name;
	char line[512];
	size_t i;

	if (!file)
		fail_errno(output, -errno);
	while (fgets(line, sizeof(line), file)) {
		name = strrchr(line, '/');
		i = name ? strtoul(name + 1, NULL, 10) : count;
		if (i < count)
			(void)tlsh_parse(line, &digests[i]);
	}
	(void)fclose(file);
}

static bool batch_digests(const struct batch *b, struct tlsh *digests)
{
	char *output = allocate_text("%s.out", b->directory);
	bool done;

	batch_write(b);
	done = run(b->directory, output);
	if (done)
		read_digests(output, digests, b->corpus->count);
	(void)unlink(output);
	batch_remove(b);
	free(output);
	return done;
}

static bool all_digests(struct batch *b, bool held_out, struct tlsh *digests)
{
	bool done = true;
	size_t i;

	for (i = 0; i < b->corpus->count && done; i++) {
		if (is_wanted(b->corpus, i, held_out))
			b->files[b->count++] = i;
		if (b->count < BATCH && i + 1 < b->corpus->count)
			continue;
		done = batch_digests(b, digests);
		b->count = 0;
	}
	return done;
}

struct tlsh *tlsh_digests(const struct corpus *c, bool held_out)
{
	const char *temporary = getenv("TMPDIR");
	struct tlsh *digests = allocate(c->count * sizeof(*digests));
	struct batch b = {
		.corpus = c,
		.files = allocate(BATCH * sizeof(*b.files)),
		.directory = allocate_text("%s/kinfs-eval.XXXXXX",
					   temporary ? temporary : "/var/tmp"),
	};

	if (!mkdtemp(b.directory))
		fail_errno(b.directory, -errno);
	if (!all_digests(&b, held_out, digests)) {
		free(digests);
		digests = NULL;
	}
	(void)rmdir(b.directory);
	free(b.directory);
	free(b.files);
	return digests;
}
