/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_REPORT_REPORT_IMPL_H
#define CORE_REPORT_REPORT_IMPL_H

#include "core/base/buf.h"
#include "core/act/report/report.h"

/* ---- directories.c ---- */

struct report_directory {
	uint32_t parent; /* less than its own number; 0: the root, of itself */
	size_t name;     /* place in the names */
	uint64_t saved;  /* within it, by report_directories_sum() */
	uint64_t own;    /* ... in it alone */
	uint32_t alike;  /* the directory it stands for; 0: itself */
};

/* Number 0 is the root. */
struct report_directories {
	struct report_directory *all;
	size_t count;
	struct buf names; /* each with its NUL */
	uint32_t *slots;  /* open addressing; 0: free */
	size_t slot_count;
};

int report_directories_init(struct report_directories *d);
void report_directories_release(struct report_directories *d);

/* The number of the directory with that path, of len bytes; adds it. */
int report_directories_find(struct report_directories *d, const char *path,
			    size_t len, uint32_t *out);

/* The directory with that name, of len bytes, in parent. */
int report_directories_child(struct report_directories *d, uint32_t parent,
			     const char *name, size_t len, uint32_t *out);

void report_directories_sum(struct report_directories *d);

/* Appends the path of one. */
int report_directories_path(const struct report_directories *d, uint32_t number,
			    struct buf *out);

/* ---- report.c ---- */

/* A column of numbers, as they are written. */
struct report_column {
	struct buf bytes;
	size_t count;
};

struct report {
	struct report_directories directories;
	struct report_column member_counts;              /* of each group */
	struct report_column file_counts, scores, sizes; /* of each member */
	/* Of each file; keeps: 1 if it is to be kept, 2 if it could go. */
	struct report_column places, times, keeps, disks;
	struct report_column link_counts; /* other names of each file */
	struct report_column link_places; /* of each of them */
	struct report_column pair_scores, pair_as, pair_bs;
	struct report_column unread_places;
	struct buf names;  /* of files, each with its NUL */
	struct buf links;  /* other names of files, likewise */
	struct buf unread; /* name and state of each, each with its NUL */
	uint64_t exact_bytes, near_bytes;
	char *root; /* of the groups; or NULL */
	/* For report_next_directory(): owned. */
	struct report_ranked *ranked;
	size_t ranked_count, ranked_at;
};

/* Seven bits a byte, the least first; the top bit tells that more follow. */
int report_column_add(struct report_column *c, uint64_t value);

/* ---- data.c ---- */

/* Writes all of it as base64.  -ENOMEM, or as report_put(). */
int report_write_data(const struct report *r, FILE *out);

/* ---- page.c ---- */

/* The error of a stream that cannot be written to. */
int report_put(FILE *out, const void *data, size_t len);

/* ---- asset.c ---- */

/* A file of the page, in the program. */
struct report_asset {
	const char *start, *end;
};

extern const struct report_asset report_template, report_style, report_licence;

/* The scripts of the page in their order, each an element of its own. */
enum { REPORT_SCRIPTS = 12 };
extern const struct report_asset report_scripts[REPORT_SCRIPTS];

#endif
