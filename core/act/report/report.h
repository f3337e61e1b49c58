/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_REPORT_REPORT_H
#define CORE_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "core/act/groups/groups.h"
#include "core/base/buf.h"

/*
 * The page that kin report writes: one HTML file that needs no network.
 *
 * The caller adds groups, pairs of directories and files without digests to a
 * struct report, which keeps them as JSON, and report_write() writes the page.
 * Nothing here asks a mount.  One thread uses a report at a time.
 *
 *	report.c  the data of the page, and which directories are alike
 *	page.c    template.html with everything put in, and the files of the page,
 *	          which the build puts into the program: template.html, page.css,
 *	          *.js, and from Debian's packages d3-hierarchy and d3-array
 *	save.c    the file that the page is written to
 *
 * A path is bytes, chosen by any user that may create a file.  No path is ever
 * written as HTML or script: base64 has no character that ends an element, and
 * the page shows names as text nodes alone.  The one path in the page's HTML,
 * that of the root, has all but plain characters escaped.  A Content Security
 * Policy names the page's own scripts and style by their hashes, so that the
 * browser runs nothing else and loads nothing.
 *
 * The format of the data is told in report.c and read in model.js.
 */
struct report;

struct report *report_new(void); /* NULL without memory */
void report_free(struct report *r);

/* Functions that add take paths relative to the root of the mount and return
 * 0 or -ENOMEM.  The space that could be saved is counted again, not taken from
 * the group. */
int report_add_group(struct report *r, const struct found_group *group);

/* The group at hand.  -ENODEV: it is of another mount than one before. */
int report_take(struct report *r, const struct groups *g);
/* Of the mount of these groups; NULL: it was not told. */
const char *report_root(const struct report *r);
int report_add_pair(struct report *r, int score, const char *a, const char *b);
int report_add_unread(struct report *r, const char *path, const char *state);

/*
 * The next of the directories to ask about, those with the most bytes that could
 * be saved within first: 1 and its path, borrowed; 0: there are no more;
 * -ENOMEM.  Left out are the root, directories with less than a thousandth of
 * all, and those that resemble an earlier one by a pair that was added
 * meanwhile.
 */
int report_next_directory(struct report *r, const char **path_out);

struct report_about {
	const char *root;   /* of the mount; NULL: not known */
	const char *notice; /* why the page is not complete; NULL: it is */
	int threshold;      /* 0: not known */
	const struct groups_wish *wish; /* of the mount; NULL: of a list */
	time_t made;
	bool from_mount; /* pairs and files without digests were asked for */
};

/* -ENOMEM, or why out cannot be written to. */
int report_write(struct report *r, const struct report_about *about, FILE *out);

/*
 * Writes the page to a new file beside path, which takes the place of path when
 * it is complete; of the file that path leads to when it is a symbolic link.
 * The rights of an older file stay.  -EISDIR, -ENOTSUP: path is no regular
 * file.
 */
int report_save(struct report *r, const struct report_about *about,
		const char *path);

/* Fails where report_save() would for reasons that are known before. */
int report_check_place(const char *path);

#endif
