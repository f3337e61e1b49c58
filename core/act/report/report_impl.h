/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_REPORT_REPORT_IMPL_H
#define CORE_REPORT_REPORT_IMPL_H

#include <jansson.h>

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
	json_t *numbers;  /* owned; by "PARENT/NAME" */
	struct buf key;   /* of the one that is looked for */
};

int report_directories_init(struct report_directories *d);
void report_directories_release(struct report_directories *d);

/* The number of the directory with that path, of len bytes; adds it. */
int report_directories_find(struct report_directories *d, const char *path,
			    size_t len, uint32_t *out);

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

/* The columns in the order of the page. */
enum report_columns {
	REPORT_MEMBER_COUNTS, /* of each group */
	REPORT_FILE_COUNTS,   /* of each member, and the next two */
	REPORT_SCORES,
	REPORT_SIZES,
	REPORT_PLACES, /* of each file, and the next four */
	REPORT_TIMES,
	REPORT_KEEPS, /* 1 if it is to be kept, 2 if it could go */
	REPORT_DISKS,
	REPORT_LINK_COUNTS, /* other names of each file */
	REPORT_LINK_PLACES, /* of each of them */
	REPORT_PAIR_SCORES,
	REPORT_PAIR_AS,
	REPORT_PAIR_BS,
	REPORT_UNREAD_PLACES,
	REPORT_COLUMNS
};

/* The texts behind them, each with its NUL. */
enum report_texts {
	REPORT_NAMES,  /* of files */
	REPORT_LINKS,  /* other names of files */
	REPORT_UNREAD, /* name and state of each */
	REPORT_TEXTS
};

struct report {
	struct report_directories directories;
	struct report_column columns[REPORT_COLUMNS];
	struct buf texts[REPORT_TEXTS];
	int err; /* the first one */
	uint64_t exact_bytes, near_bytes;
	char *root; /* of the groups; or NULL */
	/* For report_next_directory(): owned. */
	struct report_ranked *ranked;
	size_t ranked_count, ranked_at;
};

/* Adds a number to a column.  Sets r->err, does nothing after it. */
void report_add(struct report *r, enum report_columns column, uint64_t value);

/* Writes the data as base64.  -ENOMEM, or as report_put(). */
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
