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

static void read_digests(const char *output, struct tlsh_answer *digests,
			 size_t count)
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
			digests[i].is_there = !tlsh_parse(
				line, strcspn(line, "\t"), &digests[i].digest);
	}
	(void)fclose(file);
}

static bool batch_digests(const struct batch *b, struct tlsh_answer *digests)
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

static bool all_digests(struct batch *b, bool held_out,
			struct tlsh_answer *digests)
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

struct tlsh_answer *tlsh_digests(const struct corpus *c, bool held_out)
{
	const char *temporary = getenv("TMPDIR");
	struct tlsh_answer *digests = allocate(c->count * sizeof(*digests));
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
