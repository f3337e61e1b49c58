/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DEDUP_DEDUP_IMPL_H
#define CORE_DEDUP_DEDUP_IMPL_H

#include <jansson.h>
#include <limits.h>

#include "core/act/dedup/dedup.h"
#include "core/digest/fingerprint.h"

/* ---- open.c ---- */

/* The path of the file below the mount that it is in, to be freed; NULL: it is
 * in none, or not to be reached there. */
char *dedup_real_path(struct dedup_mount *m, const char *path);
void dedup_mount_release(struct dedup_mount *m);

/* Absolute, without "", "." or ".." between the slashes. */
bool dedup_is_plain_path(const char *path);

/* Opens the directory of a plain path (O_PATH); the name in it to name_out.
 * -ELOOP when a directory on the way is a symbolic link. */
int dedup_open_parent(const char *path, const char **name_out);

/* Opens a regular file for reading; -ESTALE when it is none. */
int dedup_open_at(int directory, const char *name);

/* dedup_open_at() by a plain path. */
int dedup_open_file(const char *path);

/* Where a name of a file is, and the name beside it that a step uses. */
struct dedup_spot {
	int directory;    /* open; or a negative errno */
	const char *name; /* borrowed from the path */
	char beside[NAME_MAX + 1];
};

/* The spots of all paths of a step; close them.  Fails when a directory cannot
 * be opened, unless lenient. */
struct dedup_record;
int dedup_spots_open(const struct dedup_record *r, bool lenient,
		     struct dedup_spot **out);
void dedup_spots_close(struct dedup_spot *spots, size_t count);

bool dedup_has_inode(int directory, const char *name, ino_t inode);

/* ---- step.c ---- */

/* Says by an errno why a step was not done; 0 for 0, else -ECANCELED, which has
 * been explained.  action: "cannot be opened", ... */
int dedup_explain(struct dedup_result *r, const char *action, int err);

/* ---- content.c ---- */

/* pread() of all there is: less than len only at the end of the file. */
int64_t dedup_read(int fd, void *buffer, size_t len, uint64_t at);
int dedup_write(int fd, const void *buffer, size_t len, uint64_t at);

/* XXH128 is what the groups have; SHA-256 is what another user cannot forge.  In
 * hex; "" for a SHA-256 that was not wanted. */
int dedup_hash_begin(bool sha256, struct fingerprint **out);
int dedup_hash_end(struct fingerprint *fp, char xxh128[33], char sha256[65]);

#define DEDUP_CAPABILITY "security.capability"

/* The attributes of an open file but for those that are derived: a new object
 * of hexadecimal values. */
int dedup_read_attributes(int fd, json_t **out);
int dedup_write_attributes(int fd, const json_t *attributes);

/* Copies a file, if that has still the content with this SHA-256: what is
 * written is hashed.  -ESTALE. */
int dedup_copy(int from, int to, const char sha256[65]);

/* ---- journal.c ---- */

/* What the names of temporary links begin with. */
#define DEDUP_TEMPORARY ".kin-dedup-"

struct dedup_record {
	json_int_t step;
	enum dedup_method method; /* DEDUP_HARDLINK or DEDUP_REMOVE */
	char **paths;             /* owned; absolute: all names of the file */
	size_t path_count;        /* 1 or more */
	char *keep;               /* owned; absolute */
	char *temporary;          /* owned; a name beside a path */
	struct stat st; /* of what was replaced: mode, owner, times, inode */
	ino_t keep_inode;
	char sha256[65];
	json_t *attributes; /* owned */
	bool ended, done;   /* the journal says so */
};

/* Writes that the step begins, and syncs it; sets r->step. */
int dedup_journal_begin(struct dedup_journal *j, struct dedup_record *r);

/* That it has ended.  Not synced: undo finds out by itself. */
int dedup_journal_end(struct dedup_journal *j, const struct dedup_record *r,
		      bool done);

/* ---- blocks.c ---- */

/* Shares the equal blocks of two open files.  directory: on the filesystem of
 * the second one.  equal: the contents are, else -EILSEQ.  Without apply it is
 * only counted. */
int dedup_share(int keep, int replace, int directory, bool equal, bool apply,
		struct dedup_sharing *out);

/* Whether blocks of two files could be shared: 0, -EOPNOTSUPP, -EXDEV, -EPERM.
 * Asks for a range that no filesystem can share. */
int dedup_share_probe(int keep_fd, int replace_fd);

#endif
