/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example A B: prints the digests of two files, and how alike they are.
 *
 *     cc -o example example.c $(pkg-config --cflags --libs kin)
 */
#include <kin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kin_digests *digest(struct kin_digester *digester,
				  const char *path)
{
	struct kin_digests *digests = NULL;
	static char buffer[1 << 16];
	FILE *file = fopen(path, "rb");
	int err = 0;
	size_t n;

	if (!file) {
		perror(path);
		exit(1);
	}
	while (!err && (n = fread(buffer, 1, sizeof(buffer), file)) > 0)
		err = kin_digester_update(digester, buffer, n);
	if (!err)
		err = kin_digester_final(digester, &digests);
	if (err || ferror(file)) {
		fprintf(stderr, "%s: %s\n", path,
			err ? strerror(-err) : "cannot be read");
		exit(1);
	}
	fclose(file);
	return digests;
}

static void print(const char *path, const struct kin_digests *digests)
{
	const char *name, *text;
	unsigned i;

	for (i = 0; (name = kin_digest_name(i)) != NULL; i++) {
		text = kin_digests_text(digests, name);
		if (text)
			printf("%s %s %s\n", path, name, text);
	}
}

int main(int argc, char **argv)
{
	struct kin_digester *digester;
	struct kin_digests *a, *b;
	const char *name;
	unsigned i;
	int score;

	if (argc != 3 || kin_digester_new(NULL, &digester) != 0) {
		fprintf(stderr, "usage: %s A B\n", argv[0]);
		return 2;
	}
	a = digest(digester, argv[1]);
	b = digest(digester, argv[2]);
	print(argv[1], a);
	print(argv[2], b);
	for (i = 0; (name = kin_digest_name(i)) != NULL; i++)
		if (kin_score(a, b, name, &score) == 0)
			printf("score %s %d\n", name, score);
	kin_digests_free(a);
	kin_digests_free(b);
	kin_digester_free(digester);
	return 0;
}
