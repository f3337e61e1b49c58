/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/bytes.h"
#include "core/base/hex.h"
#include "core/digest/fingerprint.h"
#include "core/digest/rdc/rdc.h"
#include "tests/unit/digest/program.h"
#include "tests/support/recipe.h"

/* XXH128 and MD4 against xxhsum and openssl. */

#define FILES 48

struct corpus {
	char dir[32];
	char output[64];
	size_t count;
	char paths[FILES][64];
	struct bytes contents[FILES]; /* owned */
};

/* ---- files, and what a program prints for them ---- */

static void corpus_new(struct corpus *c)
{
	*c = (struct corpus){ 0 };
	(void)snprintf(c->dir, sizeof(c->dir), "/tmp/digests-XXXXXX");
	assert_non_null(mkdtemp(c->dir));
	(void)snprintf(c->output, sizeof(c->output), "%s/output", c->dir);
}

/* Takes the content. */
static void corpus_add(struct corpus *c, struct bytes b)
{
	char path[64];
	FILE *file;

	assert_true(c->count < FILES);
	(void)snprintf(path, sizeof(path), "%s/%02zu", c->dir, c->count);
	memcpy(c->paths[c->count], path, sizeof(path));
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(b.data, 1, b.len, file), b.len);
	assert_int_equal(fclose(file), 0);
	c->contents[c->count++] = b;
}

static void corpus_free(struct corpus *c)
{
	size_t i;

	for (i = 0; i < c->count; i++) {
		(void)unlink(c->paths[i]);
		free(c->contents[i].data);
	}
	(void)unlink(c->output);
	assert_int_equal(rmdir(c->dir), 0);
}

/* Lines "<hash> ..." in the order of the files; the hash of each to
 * hashes_out.  The program's exit status. */
static int hashes_by(const char *const command[], struct corpus *c,
		     uint8_t (*hashes_out)[16])
{
	const char *argv[FILES + 8] = { NULL };
	char line[200] = "";
	size_t i, n = 0;
	FILE *file;
	int status;

	while (command[n]) {
		argv[n] = command[n];
		n++;
	}
	for (i = 0; i < c->count; i++)
		argv[n + i] = c->paths[i];
	status = program_run(argv, c->output);
	if (status)
		return status;
	file = fopen(c->output, "r");
	assert_non_null(file);
	for (i = 0; i < c->count; i++) {
		assert_non_null(fgets(line, sizeof(line), file));
		assert_int_equal(hex_decode(line, 32, hashes_out[i], 16), 0);
		assert_non_null(strstr(line, c->paths[i]));
	}
	(void)fclose(file);
	return 0;
}

/* Skips the test when there is no such program. */
static void expect_status(int status, const char *program)
{
	if (status == PROGRAM_MISSING) {
		print_message("skipped: %s is not installed\n", program);
		skip();
	}
	assert_int_equal(status, 0);
}

/* All kinds of lengths, the edges of XXH3's and MD4's blocks among them. */
static void add_contents(struct corpus *c)
{
	static const size_t lengths[] = {
		0,    1,    3,    4,    8,     9,     16,    17,
		55,   56,   57,   63,   64,    65,    119,   120,
		128,  129,  240,  241,  255,   256,   257,   1023,
		1024, 1025, 4096, 8191, 65535, 65536, 70000, 300001,
	};
	size_t i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		corpus_add(c, recipe_random(i + 1, lengths[i]));
}

/* ---- XXH128 ---- */

static void assert_xxh128(struct bytes b, const uint8_t want[16])
{
	struct fingerprint *fp;
	struct digests d;
	size_t half = b.len / 2;

	assert_int_equal(fingerprint_new(0, &fp), 0);
	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(fingerprint_update(fp, b.data, half), 0);
	assert_int_equal(fingerprint_update(fp, b.data + half, b.len - half),
			 0);
	assert_int_equal(fingerprint_final(fp, &d), 0);
	assert_memory_equal(d.xxh128, want, 16);
	digests_release(&d);
	fingerprint_free(fp);
}

static void xxh128_is_what_xxhsum_says(void **state)
{
	static const char *const command[] = { "xxhsum", "-H2", NULL };
	static struct corpus c;
	uint8_t hashes[FILES][16];
	int status;
	size_t i;

	(void)state;
	corpus_new(&c);
	add_contents(&c);
	status = hashes_by(command, &c, hashes);
	for (i = 0; i < c.count && status == 0; i++)
		assert_xxh128(c.contents[i], hashes[i]);
	corpus_free(&c);
	expect_status(status, "xxhsum");
}

/* ---- MD4 ---- */

static const char *const md4_command[] = {
	"openssl", "dgst",      "-md4",    "-r", "-provider",
	"legacy",  "-provider", "default", NULL,
};

static void md4_is_what_openssl_says(void **state)
{
	static struct corpus c;
	struct kernel_message messages[FILES];
	uint8_t hashes[FILES][16], have[FILES][16];
	size_t i, variants;
	const struct kernel_ops *all = kernel_all(&variants);
	int status;

	(void)state;
	corpus_new(&c);
	add_contents(&c);
	status = hashes_by(md4_command, &c, hashes);
	for (i = 0; i < c.count; i++)
		messages[i] = (struct kernel_message){
			.data = c.contents[i].data,
			.len = c.contents[i].len,
		};
	for (i = 0; i < variants && status == 0; i++) {
		all[i].md4->many(messages, c.count, 0, have);
		assert_memory_equal(have, hashes, 16 * c.count);
	}
	corpus_free(&c);
	expect_status(status, "openssl");
}

struct chunks {
	uint8_t md4[FILES][16];
	size_t lengths[FILES];
	size_t count;
};

static void add_chunk(void *arg, const uint8_t md4[16], uint16_t length)
{
	struct chunks *chunks = arg;

	assert_true(chunks->count < FILES);
	memcpy(chunks->md4[chunks->count], md4, 16);
	chunks->lengths[chunks->count++] = length;
}

static void cut(struct bytes b, struct chunks *out)
{
	static struct rdc rdc;
	uint8_t traits[16];

	out->count = 0;
	assert_int_equal(rdc_init(&rdc, RDC_WINDOW, RDC_HORIZON), 0);
	rdc.on_chunk = add_chunk;
	rdc.arg = out;
	rdc_begin(&rdc);
	rdc_update(&rdc, b.data, b.len);
	rdc_final(&rdc, traits);
}

/* The chunks as files of their own. */
static void chunks_have_the_md4_of_openssl(void **state)
{
	struct bytes b = recipe_random(3, 50000), part;
	static struct chunks chunks;
	static struct corpus c;
	uint8_t hashes[FILES][16];
	size_t i, at = 0;
	int status;

	(void)state;
	cut(b, &chunks);
	assert_true(chunks.count > 10);
	corpus_new(&c);
	for (i = 0; i < chunks.count; i++) {
		part = bytes_new(chunks.lengths[i]);
		memcpy(part.data, b.data + at, part.len);
		at += part.len;
		corpus_add(&c, part);
	}
	assert_int_equal(at, b.len);
	status = hashes_by(md4_command, &c, hashes);
	if (status == 0)
		assert_memory_equal(chunks.md4, hashes, 16 * chunks.count);
	corpus_free(&c);
	free(b.data);
	expect_status(status, "openssl");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xxh128_is_what_xxhsum_says),
		cmocka_unit_test(md4_is_what_openssl_says),
		cmocka_unit_test(chunks_have_the_md4_of_openssl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
