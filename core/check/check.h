/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CHECK_CHECK_H
#define CORE_CHECK_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/catalog/catalog.h"

/*
 * Does a catalog agree with itself and with the tree that it describes?
 *
 * A check makes four passes: it compares all records with each other
 * (catalog_check()), looks for records that no name leads to, compares the
 * number of contents with that of the index, and walks the tree.  The walk
 * compares what is on disk with the records and, when it is told to read,
 * digests every file again whose digests are known.
 *
 * A contradiction is a finding.  What any change of the tree leaves behind
 * until the next scan (new files, changed files, names that are gone) is only
 * counted.  A check changes nothing.  A catalog is a cache, so there is no
 * repair: the data file is removed or set aside, and the next mount hashes the
 * files again.
 *
 * The catalog may be written meanwhile.  Each pass works with short read
 * transactions, and what looks wrong is looked at again after the committer
 * has caught up (settle) before it becomes a finding.  The one exception is
 * the comparison of all records, which holds one snapshot until it ends.
 *
 * check_run() works in the calling thread and has no state besides its
 * arguments.  checker.h runs it for a daemon, on a thread of its own.
 *
 * A check never writes to the catalog or to the tree, opens no special file
 * and follows no symbolic link.
 */
enum check_kind {
	CHECK_RECORD, /* records contradict each other */
	CHECK_ORPHAN, /* no name leads to a record */
	CHECK_DIGEST, /* digests are not those of the content */
	CHECK_INDEX,  /* the index in memory has other contents */
	CHECK_KINDS
};

struct check_finding {
	enum check_kind kind;
	const char *path; /* relative to the root of the tree; or NULL */
	const char *text;
};

struct check_options {
	struct catalog *catalog;
	int source_fd; /* O_PATH will do */
	bool read;     /* digest every file again whose digests are known */
	const atomic_bool *stopping; /* NULL, or true: -ECANCELED */
	/* NULL, or tells whether a file may change under its identity. */
	bool (*in_use)(void *arg, const struct stat *st);
	/* NULL, or waits until what is known by now is in the catalog. */
	int (*settle)(void *arg);
	/* NULL, or how many contents are in the index. */
	uint64_t (*indexed)(void *arg);
	/* Called for each finding, the first CHECK_TOLD of a kind. */
	void (*found)(void *arg, const struct check_finding *finding);
	void *arg;
};

enum { CHECK_TOLD = 1000 };

struct check_counts {
	uint64_t found[CHECK_KINDS];
	uint64_t directories; /* on disk */
	uint64_t files;
	uint64_t fresh; /* of the files, digests are known */
	uint64_t pending;
	uint64_t failed;
	uint64_t stale;   /* changed since they were recorded */
	uint64_t unknown; /* not recorded */
	uint64_t gone;    /* recorded names that are not on disk */
	uint64_t unread;  /* files and directories that cannot be read */
	uint64_t read;    /* files digested again */
	uint64_t read_bytes;
};

/* The sum of counts->found. */
uint64_t check_count_findings(const struct check_counts *counts);

/* 0 with findings, too; out is filled after a failure as well.
 * -EXDEV: the catalog is of another tree; -EUCLEAN: it is damaged. */
int check_run(const struct check_options *options, struct check_counts *out);

/* "record", "orphan", ... */
extern const char *const check_kind_names[CHECK_KINDS];

/* "found", "by_kind" and "counts" in a new object, or NULL; and back.  What is
 * missing there is 0. */
struct json_t;
struct json_t *check_counts_to_json(const struct check_counts *counts);
void check_counts_from_json(const struct json_t *value,
			    struct check_counts *out);

#endif
