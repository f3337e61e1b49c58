/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CHECK_CHECK_H
#define CORE_CHECK_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/catalog/catalog.h"

/*
 * Does a catalog agree with itself and with the tree it describes?
 *
 * What is wrong is a finding.  What any change of the tree leaves behind
 * until the next scan (new files, changed ones, names that are gone) is
 * counted and no more.
 *
 * The catalog may be written meanwhile: no transaction is held for long, and
 * nothing is believed before it was looked at again.
 */
enum audit_kind {
	AUDIT_RECORD, /* records contradict each other */
	AUDIT_ORPHAN, /* no name leads to a record */
	AUDIT_DIGEST, /* digests are not those of the content */
	AUDIT_INDEX,  /* the index in memory has other contents */
	AUDIT_KINDS
};

struct audit_finding {
	enum audit_kind kind;
	const char *path; /* relative to the root of the tree; or NULL */
	const char *text;
};

/* How findings are mended.  Each returns 0 or a negative errno. */
struct audit_mender {
	void *ctx;
	/* All contradictions between records; NULL: cannot be done. */
	int (*records)(void *ctx, const struct file_key *root);
	int (*forget)(void *ctx, const struct file_key *keys, size_t count);
	int (*rehash)(void *ctx, const struct file_key *key,
		      const struct file_identity *identity);
};

struct audit_options {
	struct catalog *catalog;
	int source_fd; /* O_PATH will do */
	bool read;     /* digest every file again whose digests are known */
	const struct audit_mender *mender; /* NULL: only look */
	const atomic_bool *stopping;       /* NULL, or true: -ECANCELED */
	/* NULL, or tells whether a file may change under its identity. */
	bool (*in_use)(void *arg, const struct stat *st);
	/* NULL, or waits until what is known by now is in the catalog. */
	int (*settle)(void *arg);
	/* NULL, or how many contents are in the index. */
	uint64_t (*indexed)(void *arg);
	/* Called for each finding, the first AUDIT_TOLD of a kind. */
	void (*found)(void *arg, const struct audit_finding *finding);
	void *arg;
};

enum { AUDIT_TOLD = 1000 };

struct audit_counts {
	uint64_t found[AUDIT_KINDS];
	uint64_t mended;      /* of these */
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
uint64_t audit_findings(const struct audit_counts *counts);

/* 0 with findings, too; out is filled after a failure as well.
 * -EXDEV: the catalog is of another tree; -EUCLEAN: it is damaged. */
int audit_run(const struct audit_options *options, struct audit_counts *out);

/* "record", "orphan", ... */
extern const char *const audit_kind_names[AUDIT_KINDS];

/* "found", "mended", "by_kind" and "counts" in a new object, or NULL; and
 * back.  What is not there is 0. */
struct json_t;
struct json_t *audit_to_json(const struct audit_counts *counts);
void audit_from_json(const struct json_t *value, struct audit_counts *out);

/* Mends through transactions of the calling thread: for who has the catalog
 * for itself.  ctx is the catalog. */
void audit_mender_init(struct catalog *catalog, struct audit_mender *out);

#endif
