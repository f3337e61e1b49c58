/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/scale.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/catalog/catalog.h"
#include "core/engine/engine.h"
#include "core/source/file.h"
#include "core/source/source.h"
#include "tests/bench/bench.h"
#include "tests/bench/inputs.h"
#include "tests/support/catalog_open.h"
#include "tests/support/catalog_set.h"

#define BATCH 1000 /* files a commit */

/* Lengths as of the files below /usr. */
#define SISE_TEXT 320
#define SSDEEP_TEXT 78

/*
 * Files of one batch are made first and noted then, so that the time of the
 * catalog is told apart, and a batch that did not fit is noted again.
 */
struct entry {
	uint64_t number, copy;
	char path[SCALE_PATH];
	size_t name_at;
	struct file_key parent, key;
	struct file_identity identity;
	struct scale_content *content;
	struct digests digests; /* all, owned */
};

struct fill {
	const struct scale *s;
	bool bare;
	int source_fd, directory_fd;
	struct source source;
	struct file_key root, directory;
	char directory_name[SCALE_PATH];
	struct catalog *catalog;
	struct entry entries[BATCH];
	struct scale_content content;
	size_t count;
	double seconds;
};

/* ---- files ---- */

static void key_of(const struct fill *f, int fd, struct file_key *key,
		   struct file_identity *identity)
{
	struct stat st;

	if (fstat(fd, &st))
		fail("fstat: %m");
	source_get_key(&f->source, fd, &st, key);
	if (identity)
		source_get_identity(&st, identity);
}

static void enter_directory(struct fill *f, const char *name)
{
	if (!strcmp(f->directory_name, name))
		return;
	(void)snprintf(f->directory_name, SCALE_PATH, "%s", name);
	if (f->bare) {
		f->directory.inode++;
		return;
	}
	if (f->directory_fd >= 0)
		(void)close(f->directory_fd);
	if (mkdirat(f->source_fd, name, 0700))
		fail("%s: %m", name);
	f->directory_fd =
		openat(f->source_fd, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (f->directory_fd < 0)
		fail("%s: %m", name);
	key_of(f, f->directory_fd, &f->directory, NULL);
}

static void make_file(struct fill *f, struct entry *e)
{
	const char *name = e->path + e->name_at;
	int fd;

	if (f->bare) {
		e->key.inode = UINT64_C(1) << 32 | e->number << 1 | !!e->copy;
		e->key.inode += e->copy << 33;
		e->identity.size = e->digests.size;
		return;
	}
	fd = openat(f->directory_fd, name,
		    O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)e->digests.size))
		fail("%s: %m", e->path);
	key_of(f, fd, &e->key, &e->identity);
	(void)close(fd);
}

/* ---- digests ---- */

static char *random_text(uint64_t *state, const char *prefix, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t at = strlen(prefix), i;
	char *text = allocate(at + len + 1);

	memcpy(text, prefix, at);
	for (i = at; i < at + len; i++)
		text[i] = digits[draw(state) >> 58];
	text[i] = '\0';
	return text;
}

/* Of so many characters in each part. */
static char *pieces_text(uint64_t *state, const char *first, size_t first_len,
			 const char *second, size_t second_len)
{
	char *a = random_text(state, first, first_len);
	char *b = random_text(state, second, second_len);
	struct buf text = { 0 };

	fail_errno("text", buf_append_format(&text, "%s%s", a, b));
	free(a);
	free(b);
	return buf_take(&text);
}

static void add_text(struct digests *d, enum digest_id id, char *text)
{
	fail_errno(digest_table[id]->name,
		   digest_parse(id, text, strlen(text), d));
	free(text);
}

static void add_digests(const struct scale_content *c, uint64_t number,
			struct digests *out)
{
	uint8_t bytes[SKETCH_PACKED_MAX];
	size_t len = sketch_pack(&c->sketch, bytes);
	uint64_t state = number + 1;

	*out = c->digests;
	fail_errno("sif", digest_put(out, DIGEST_SIF,
				     (struct digest_value){ bytes, len }));
	add_text(out, DIGEST_SISE,
		 pieces_text(&state, "96(95):", SISE_TEXT / 3,
			     "::48(47):", SISE_TEXT - SISE_TEXT / 3));
	add_text(out, DIGEST_SSDEEP,
		 pieces_text(&state, "96:", SSDEEP_TEXT - SSDEEP_TEXT / 3, ":",
			     SSDEEP_TEXT / 3));
}

/* ---- the catalog ---- */

static int note_entry(struct fill *f, struct catalog_txn *txn,
		      const struct entry *e)
{
	struct catalog_name name = { e->path, e->name_at - 1 };
	int err = catalog_name_set(txn, &f->root, name, &e->parent);

	if (!err)
		err = catalog_directory_set(txn, &e->parent);
	if (!err)
		err = catalog_file_set_fresh(txn, &e->key, &e->identity,
					     &e->digests);
	name.bytes = e->path + e->name_at;
	name.len = strlen(name.bytes);
	if (!err)
		err = catalog_name_set(txn, &e->parent, name, &e->key);
	return err;
}

static int note_batch(struct fill *f)
{
	struct catalog_txn *txn;
	int err = catalog_write(f->catalog, &txn);
	size_t i;

	if (err)
		return err;
	err = catalog_directory_set(txn, &f->root);
	for (i = 0; i < f->count && !err; i++)
		err = note_entry(f, txn, &f->entries[i]);
	if (!err)
		return catalog_commit(txn, NULL);
	catalog_abort(txn);
	return err;
}

static void flush(struct fill *f)
{
	double start = scale_clock();

	fail_errno("catalog", note_batch(f));
	f->seconds += scale_clock() - start;
	while (f->count)
		digests_release(&f->entries[--f->count].digests);
}

static void add_file(struct fill *f, uint64_t number, uint64_t copy)
{
	struct entry *e = &f->entries[f->count++];
	char directory[SCALE_PATH];

	*e = (struct entry){ .number = number, .copy = copy };
	scale_path(number, copy, e->path);
	e->name_at = (size_t)(strchr(e->path, '/') - e->path) + 1;
	(void)snprintf(directory, SCALE_PATH, "%.*s", (int)e->name_at - 1,
		       e->path);
	enter_directory(f, directory);
	e->parent = f->directory;
	add_digests(&f->content, number, &e->digests);
	make_file(f, e);
	if (f->count == BATCH)
		flush(f);
}

static void add_files(struct fill *f)
{
	const struct scale_model *m = &f->s->model;
	uint64_t i;

	for (i = 0; i < m->contents; i++) {
		scale_content(m, i, &f->content);
		add_file(f, i, 0);
	}
	scale_content(m, scale_copied(m), &f->content);
	for (i = 1; i <= scale_copies(m); i++)
		add_file(f, scale_copied(m), i);
	flush(f);
}

/* ---- all ---- */

static void open_all(struct fill *f)
{
	struct buf source = { 0 }, catalog = { 0 };
	struct catalog_options options = { .digest_set = DIGEST_DEFAULT };

	fail_errno("buf",
		   buf_append_format(&source, "%s/source", f->s->directory));
	fail_errno("buf",
		   buf_append_format(&catalog, "%s/catalog", f->s->directory));
	if (mkdir(source.data, 0700))
		fail("%s: %m", source.data);
	f->source_fd = open(source.data, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f->source_fd < 0)
		fail("%s: %m", source.data);
	f->source.fd = f->source_fd;
	fail_errno("SOURCE", source_init(&f->source));
	f->root = f->source.root;
	options.root = f->root;
	options.filesystem = f->source.filesystem.id;
	options.source = source.data;
	options.directory = catalog.data;
	fail_errno("catalog", catalog_open(&options, &f->catalog));
	buf_release(&source);
	buf_release(&catalog);
}

void scale_fill(const struct scale *s, bool bare)
{
	struct fill *f = calloc(1, sizeof(*f));
	uint64_t bytes;

	if (!f)
		fail("no memory");
	f->s = s;
	f->bare = bare;
	f->directory_fd = -1;
	open_all(f);
	add_files(f);
	bytes = catalog_bytes(f->catalog);
	scale_figure("fill.rate", "contents/s",
		     (double)(s->model.contents + scale_copies(&s->model)) /
			     f->seconds);
	scale_figure("catalog", "bytes/content",
		     (double)bytes / (double)s->model.contents);
	catalog_free(f->catalog);
	if (f->directory_fd >= 0)
		(void)close(f->directory_fd);
	(void)close(f->source_fd);
	free(f);
}
