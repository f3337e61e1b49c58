/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_OPTIONS_H
#define FS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/digest.h"

enum xattrs_mode {
	XATTRS_LIST,   /* digests are listed if they fit, see XATTR_ROOM */
	XATTRS_ALL,    /* all digests are listed */
	XATTRS_HIDE,   /* digests are not listed */
	XATTRS_STRICT, /* as XATTRS_LIST; setting or removing one is refused */
};

enum similar_mode {
	SIMILAR_HIDE, /* found by lookup, not by readdir */
	SIMILAR_SHOW,
	SIMILAR_OFF,
};

struct options {
	char *source;     /* as given; NULL when missing */
	char *mountpoint; /* as given; NULL when missing */

	uint32_t digest_set;   /* DIGEST_BIT()s: attributes that exist */
	uint32_t kept_digests; /* DIGEST_BIT()s: stored in the catalog */
	enum xattrs_mode xattrs;
	enum similar_mode similar;
	char *similar_name;
	int threshold;      /* 1..100 */
	uint64_t share_min; /* of .shares */
	size_t limit;
	uint64_t min_size;
	uint64_t max_size; /* 0: no limit */
	const char **excludes;
	size_t exclude_count;
	unsigned wait_s;
	unsigned workers; /* 0: one per processor */
	uint64_t rate_mb; /* a second, in the background; 0: no limit */
	char *db;         /* NULL: the default directory */
	double timeout_s; /* of attributes and names in the kernel's cache */
	bool timeout_given;
	bool no_text;     /* else documents are alike by their texts */
	bool no_pictures; /* else pictures are by hashes; not without texts */
	bool no_watch;    /* else changes behind the mount are watched */

	bool cross;
	bool no_passthrough;
	bool allow_other; /* users other than the mount's own and root */
	bool nonempty;    /* what the mount hides is not told */
	bool foreground;
	bool debug;
	bool single_thread;
	bool help, help_all;
	bool version;

	bool fsname_given;
	bool no_sandbox; /* see sandbox_enter() */

	/* For libfuse: "kinfs -o ..." */
	int fuse_argc;
	char **fuse_argv;
};

/* Parses the command line.  -EINVAL after a message to standard error, -ENOMEM.
 * The caller releases out in either case. */
int options_parse(int argc, char **argv, struct options *out);
void options_release(struct options *options);

/* Prints the usage to standard output, with all options or the common ones. */
void options_print_help(bool all);

#endif
