/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_TEMP_TREE_H
#define TESTS_SUPPORT_TEMP_TREE_H

#include "tests/support/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/catalog/catalog.h"
#include "core/source/source.h"
#include "tests/support/remove_tree.h"
#include "tests/support/catalog_open.h"

/* What a module needs of the outside when it is tested without an engine: a
 * tree in a temporary directory, a catalog for it, and a list of the lines that
 * the module's callbacks write down. */
struct temp_tree {
	char base[64];
	char top[80]; /* of the tree */
	struct source source;
	struct catalog *catalog;

	pthread_mutex_t lock; /* the lines */
	pthread_cond_t more;
	struct buf lines;
	size_t line_count;
};

/* Files of the name *.tmp are excluded. */
static inline void temp_tree_make(struct temp_tree *t)
{
	static const char *const excludes[] = { "*.tmp" };
	char data[80];
	struct catalog_options options = { .directory = data,
					   .source = "/made/up",
					   .digest_set = DIGEST_DEFAULT };

	(void)snprintf(t->base, sizeof(t->base), "/tmp/kinfs-unit-XXXXXX");
	assert_non_null(mkdtemp(t->base));
	(void)snprintf(t->top, sizeof(t->top), "%s/top", t->base);
	(void)snprintf(data, sizeof(data), "%s/data", t->base);
	assert_int_equal(mkdir(t->top, 0755), 0);
	t->source = (struct source){
		.fd = open(t->top, O_PATH | O_DIRECTORY | O_CLOEXEC),
		.path = t->top,
		.rules = { .excludes = excludes, .exclude_count = 1 },
	};
	assert_int_equal(source_init(&t->source), 0);
	assert_int_equal(catalog_open(&options, &t->catalog), 0);
	assert_int_equal(pthread_mutex_init(&t->lock, NULL), 0);
	assert_int_equal(pthread_cond_init(&t->more, NULL), 0);
}

static inline void temp_tree_remove(struct temp_tree *t)
{
	catalog_free(t->catalog);
	close(t->source.fd);
	buf_release(&t->lines);
	pthread_cond_destroy(&t->more);
	pthread_mutex_destroy(&t->lock);
	remove_tree(t->base);
}

/* ---- files ---- */

static inline void path_in(const struct temp_tree *t, const char *name,
			   char *out, size_t size)
{
	(void)snprintf(out, size, "%s/%s", t->top, name);
}

static inline void make_directory(struct temp_tree *t, const char *name)
{
	char path[300];

	path_in(t, name, path, sizeof(path));
	assert_int_equal(mkdir(path, 0755), 0);
}

static inline void make_file(struct temp_tree *t, const char *name,
			     const char *data, size_t len)
{
	char path[300];
	FILE *out;

	path_in(t, name, path, sizeof(path));
	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(data, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

static inline void get_state(const struct temp_tree *t, const char *name,
			     struct file_key *key_out,
			     struct file_identity *identity_out)
{
	char path[300];
	struct stat st;
	int fd;

	path_in(t, name, path, sizeof(path));
	fd = open(path, O_PATH | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	source_get_key(&t->source, fd, &st, key_out);
	source_get_identity(&st, identity_out);
	close(fd);
}

static inline void get_key(const struct temp_tree *t, const char *name,
			   struct file_key *out)
{
	struct file_identity identity;

	get_state(t, name, out, &identity);
}

/* ---- lines ---- */

static inline void record(struct temp_tree *t, const char *line)
{
	pthread_mutex_lock(&t->lock);
	assert_int_equal(buf_append_format(&t->lines, "%s\n", line), 0);
	t->line_count++;
	pthread_cond_broadcast(&t->more);
	pthread_mutex_unlock(&t->lock);
}

static inline void wait_lines(struct temp_tree *t, size_t count)
{
	pthread_mutex_lock(&t->lock);
	while (t->line_count < count)
		pthread_cond_wait(&t->more, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

/* Waits for as many lines, then compares all of them and forgets them. */
static inline void expect(struct temp_tree *t, const char *lines)
{
	size_t count = 0;
	const char *p;

	for (p = lines; *p; p++)
		count += *p == '\n';
	wait_lines(t, count);
	pthread_mutex_lock(&t->lock);
	assert_string_equal(t->lines.data, lines);
	t->lines.len = 0;
	t->line_count = 0;
	pthread_mutex_unlock(&t->lock);
}

#endif
