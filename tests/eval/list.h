/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_LIST_H
#define TESTS_EVAL_LIST_H

#include "tests/eval/corpus.h"
#include "tests/eval/material.h"

/* A list of files: a line each, path, tab, key.  Files with the same key are
 * versions of one file. */
struct list {
	struct listed {
		char *path;
		char *key;
	} * files;
	size_t count;
};

void list_read(struct list *l, const char *path);
void list_release(struct list *l);

/* All of them, as families by key. */
void list_add_files(const struct list *l, struct corpus *c);

/*
 * Stuff of one class, of that size or what there is: whole files, mixed, one
 * of a key.
 *
 * found-text    text that is not source
 * found-source  by the names of the files
 * found-elf     programs and libraries
 * found-packed  PNG, JPEG, PDF, gzip, xz and zip
 * found-binary  what is none of these
 */
#define FOUND_CLASSES 5
struct material material_collect(const struct list *l, size_t class,
				 size_t size);

#endif
