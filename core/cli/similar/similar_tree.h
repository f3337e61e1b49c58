/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_SIMILAR_SIMILAR_TREE_H
#define CORE_CLI_SIMILAR_SIMILAR_TREE_H

#include "core/cli/similar/similar.h"

/* The regular files below a directory of a mount, and what two such trees
 * have in common. */

struct tree_file {
	char *path; /* below the root of the tree */
	uint64_t size;
	bool has_content;
	uint8_t xxh128[16];
	struct similar_paths near; /* best first; after it was asked for */
	bool near_known;

	/* Of the last tree_compare(). */
	bool same;                     /* the other tree has the content */
	const struct tree_file *other; /* that resembles it */
	int score;                     /* of these two; 0: none */
};

struct tree {
	char *root;
	struct tree_file *files;     /* byte order of the paths */
	struct tree_file **contents; /* the same by content */
	size_t count;
	size_t unknown; /* files without has_content */
};

/* 0, a negative errno, or 1 after a message. */
int tree_read(const char *root, struct tree *out);
void tree_release(struct tree *t);

/* Marks the files of both.  Each has at most one that it resembles. */
int tree_compare(struct similar_job *job, struct tree *a, struct tree *b);

#endif
