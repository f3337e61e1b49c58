/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_SIMILAR_SIMILAR_TREE_H
#define CORE_CLI_SIMILAR_SIMILAR_TREE_H

#include <string.h>

#include "core/cli/similar/similar.h"

/*
 * The regular files below directories of a mount, and what two of these trees
 * have in common.  One query brings all files with their digests; files that
 * have none are found by walking.
 */

struct tree_content {
	uint64_t size;
	json_t *told; /* owned; the digests as the mount told them */
	struct digests digests;
	bool parsed;
	unsigned seen; /* bits: of the trees that are compared, by tree */
};

struct tree_file {
	char *path;     /* owned; relative to the root of the mount */
	size_t content; /* index, or TREE_UNKNOWN */
	uint64_t size;

	/* Of the last tree_compare(). */
	bool same;               /* the other tree has the content */
	struct tree_file *other; /* of that path, or that it resembles */
	int score;               /* with other; -1: not known */
};

#define TREE_UNKNOWN SIZE_MAX

/* All files, in byte order of the paths. */
struct tree_table {
	struct tree_content *contents;
	struct tree_file *files;
	size_t content_count, count;
	int threshold; /* of the mount */
};

/* Those of them that are below a directory. */
struct tree {
	const char *root; /* borrowed; relative to the root of the mount */
	struct tree_file *files;
	size_t count;
	size_t unknown; /* files without content */
};

/* Reads what is below the directories, which are relative to the root of the
 * mount.  0 or a negative errno; to be released in any case. */
int tree_table_read(struct similar_job *job, const char *const *roots,
		    size_t root_count, struct tree_table *out);
void tree_table_release(struct tree_table *t);

struct tree tree_below(const struct tree_table *t, const char *root);

/* The path below the root of the tree. */
static inline const char *tree_name(const struct tree *t,
				    const struct tree_file *file)
{
	return file->path + strlen(t->root) + 1;
}

/* Marks the files of both. */
int tree_compare(struct tree_table *t, struct tree *a, struct tree *b);

#endif
