/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPTIONS_H
#define FS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/digest.h"

enum xattrs_mode {
	XATTRS_LIST,   /* derived attributes are listed as far as a copy fits */
	XATTRS_ALL,    /* all of them are listed */
	XATTRS_HIDE,   /* never listed */
	XATTRS_STRICT, /* as XATTRS_LIST; setting or removing one is refused */
};

enum similar_mode {
	SIMILAR_HIDE, /* found by lookup, not by readdir */
	SIMILAR_SHOW,
	SIMILAR_OFF,
};

/* Whether sketches of texts are kept: as digests= says, or in any case. */
enum text_mode {
	TEXT_BY_DIGESTS,
	TEXT_KEPT,
	TEXT_NOT_KEPT,
};

struct options {
	char *source;     /* as given; NULL when missing */
	char *mountpoint; /* as given; NULL when missing */

	/* DIGEST_BIT()s: that there are, and that are kept */
	uint32_t digest_set, kept_digests;
	enum text_mode text;
	enum xattrs_mode xattrs;
	enum similar_mode similar;
	char *similar_name;
	enum digest_id measure; /* DIGEST_COUNT: the best */
	int threshold;          /* 1..100 */
	uint64_t share_min;     /* of .shares */
	size_t limit;
	uint64_t min_size;
	uint64_t max_size; /* 0: no limit */
	char **excludes;
	size_t exclude_count;
	unsigned wait_s;
	unsigned workers; /* 0: one per processor */
	uint64_t rate;    /* bytes a second in the background; 0: no limit */
	char *db;         /* NULL: the default place */
	double timeout_s; /* of attributes and entries in the kernel */
	bool timeout_given;
	bool watch; /* changes behind the mount, where that is possible */
	unsigned max_threads;

	bool cross;
	bool ac_only; /* nothing in the background on battery */
	bool no_passthrough;
	bool allow_other; /* users other than the mount's own and root */
	bool foreground;
	bool debug;
	bool single_thread;
	bool clone_fd;
	bool help, help_all;
	bool version;

	bool fsname_given;
	bool sandbox; /* give up what serving needs no more */

	/* For libfuse: "kinfs -o ..." */
	int fuse_argc;
	char **fuse_argv;
};

/* Fills out from the command line.  -EINVAL after a message to standard
 * error, -ENOMEM.  The caller releases out in either case. */
int options_parse(int argc, char **argv, struct options *out);
void options_release(struct options *options);

/* Prints the usage text to standard output, with all options or with those
 * that most mounts need. */
void options_print_help(bool all);

#endif
