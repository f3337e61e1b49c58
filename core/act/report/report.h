/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_REPORT_REPORT_H
#define CORE_REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/act/groups/groups.h"
#include "core/base/buf.h"

/*
 * The page that kin report writes: one HTML file that needs no network.
 *
 * The caller adds groups, pairs of directories and files without digests to a
 * struct report, which keeps them as JSON, and report_page() makes the page.
 * Nothing here asks a mount.  One thread uses a report at a time.
 *
 *	report.c  the data of the page, and which directories are alike
 *	page.c    template.html with everything put in, and the files of the page,
 *	          which the build puts into the program: template.html, page.css,
 *	          *.js, and from Debian's packages d3-hierarchy and d3-array
 *
 * A path is bytes, chosen by any user that may create a file.  No path is ever
 * written as HTML or script: all that the page tells is one JSON value in base64,
 * which has no character that ends an element, and the page shows names as text
 * nodes alone.  A Content Security Policy names the page's own scripts and style
 * by their hashes, so that the browser runs nothing else and loads nothing.
 *
 * The format of the data is told in report.c and read in model.js.
 */
struct report {
	struct buf lines; /* of JSON */
	json_t *saved;    /* by paths of directories: bytes in copies below */
	json_t *alike; /* likewise: the directory that it stands for, if any */
};

/* Without memory the functions below fail.  exit() frees it. */
void report_init(struct report *r);

/* Functions that add take paths relative to the root of the mount and return
 * 0 or -ENOMEM. */
int report_add_group(struct report *r, const struct found_group *group);
int report_add_pair(struct report *r, int score, const char *a, const char *b);
int report_add_unread(struct report *r, const char *path, const char *state);

/*
 * The next of the directories to ask about, those with the most bytes that could
 * be saved within first: 1 and its path, borrowed until the next call; 0: there
 * are no more; -ENOMEM.  No group is added then.  Left out are the root,
 * directories with less than a thousandth of all, and those that resemble an
 * earlier one by a pair that was added meanwhile.
 */
int report_next_directory(struct report *r, const char **path_out);

/* At last: appends the page about the groups of g, which were added.  -ENOMEM. */
int report_page(struct report *r, const struct groups *g, struct buf *out);

/* Appends its data. */
int report_append_data(struct report *r, const struct groups *g,
		       struct buf *out);

#endif
