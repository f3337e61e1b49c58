/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/digest/program.h"
#include "tests/unit/digest/ssdeep_texts.h"

/* ---- against the program, where there is one ---- */

#define FILES 60

struct corpus {
	char dir[32];
	char paths[FILES][64];
	char texts[FILES][TEXT_SIZE];
};

/* Odd inputs and their variants. */
static struct bytes corpus_input(unsigned i)
{
	struct bytes b = recipe_odd(i / 3 + 5000);

	if (i % 3 == 1 && b.len > 0)
		recipe_flip(&b, i, 1 + b.len / 2000);
	else if (i % 3 == 2)
		b.len -= b.len / 4;
	return b;
}

static void make_corpus(struct corpus *c)
{
	struct bytes b;
	unsigned i;
	FILE *file;

	(void)snprintf(c->dir, sizeof(c->dir), "/tmp/ssdeep-XXXXXX");
	assert_non_null(mkdtemp(c->dir));
	for (i = 0; i < FILES; i++) {
		(void)snprintf(c->paths[i], sizeof(c->paths[i]), "%s/%02u",
			       c->dir, i);
		b = corpus_input(i);
		file = fopen(c->paths[i], "wb");
		assert_non_null(file);
		assert_int_equal(fwrite(b.data, 1, b.len, file), b.len);
		assert_int_equal(fclose(file), 0);
		digest_of(b, i, c->texts[i]);
		free(b.data);
	}
}

static void remove_corpus(const struct corpus *c)
{
	char path[64];
	unsigned i;

	for (i = 0; i < FILES; i++)
		(void)unlink(c->paths[i]);
	(void)snprintf(path, sizeof(path), "%s/digests", c->dir);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/scores", c->dir);
	(void)unlink(path);
	assert_int_equal(rmdir(c->dir), 0);
}

/* Lines "3:A:B,"/dir/00"" after the first; returns how many agree. */
static unsigned count_equal_digests(const struct corpus *c, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[300], want[300];
	unsigned i, equal = 0;

	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	for (i = 0; i < FILES && fgets(line, sizeof(line), file); i++) {
		(void)snprintf(want, sizeof(want), "%s,\"%s\"\n", c->texts[i],
			       c->paths[i]);
		equal += strcmp(line, want) == 0;
		if (strcmp(line, want) != 0)
			print_message("want %shave %s", line, want);
	}
	(void)fclose(file);
	return equal;
}

/* Lines "digests:/dir/00 matches digests:/dir/01 (66)". */
static unsigned count_equal_scores(const struct corpus *c, const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned x, y, equal = 0;
	char line[300], *left, *right;
	int want;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		left = strstr(line, " matches ");
		right = strrchr(line, ' ');
		if (!left || !right)
			continue;
		x = (unsigned)strtoul(left - 2, NULL, 10);
		y = (unsigned)strtoul(right - 2, NULL, 10);
		want = (int)strtol(right + 2, NULL, 10);
		assert_true(x < FILES && y < FILES);
		if (score_of(c->texts[x], c->texts[y]) == want)
			equal++;
		else
			print_message("have %d: %s",
				      score_of(c->texts[x], c->texts[y]), line);
	}
	(void)fclose(file);
	return equal;
}

static void the_program_says_the_same(void **state)
{
	static struct corpus c;
	const char *argv[FILES + 3] = { "ssdeep", "-s" };
	char digests[64], scores[64];
	unsigned i, equal_digests = 0, equal_scores = 0;
	int status;

	(void)state;
	make_corpus(&c);
	for (i = 0; i < FILES; i++)
		argv[i + 2] = c.paths[i];
	(void)snprintf(digests, sizeof(digests), "%s/digests", c.dir);
	(void)snprintf(scores, sizeof(scores), "%s/scores", c.dir);
	status = program_run(argv, digests);
	if (status == 0) {
		equal_digests = count_equal_digests(&c, digests);
		argv[1] = "-asx";
		argv[2] = digests;
		argv[3] = NULL;
		status = program_run(argv, scores);
		equal_scores = count_equal_scores(&c, scores);
	}
	remove_corpus(&c);
	if (status == PROGRAM_MISSING) {
		print_message("skipped: ssdeep is not installed\n");
		skip();
	}
	assert_int_equal(status, 0);
	assert_int_equal(equal_digests, FILES);
	assert_int_equal(equal_scores, FILES * (FILES - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_program_says_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
