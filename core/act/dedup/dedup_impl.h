/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DEDUP_DEDUP_IMPL_H
#define CORE_DEDUP_DEDUP_IMPL_H

#include <jansson.h>
#include <limits.h>

#include "core/act/dedup/dedup.h"

/* ---- file.c ---- */

/* Absolute, without "", "." or ".." between the slashes. */
bool dedup_is_plain_path(const char *path);

/* Opens a plain path.  -ELOOP when a directory on the way is a symbolic link. */
int dedup_open(const char *path, int flags);

/* ... for reading, whatever it is. */
#define DEDUP_READ (O_RDONLY | O_NONBLOCK | O_NOCTTY)

/* The directory of a plain path (O_PATH), and the name in it. */
int dedup_open_parent(const char *path, const char **name_out);

/* Names of temporary links begin with it. */
#define DEDUP_TEMPORARY ".kin-dedup-"

/* Where a name of a file is, and the name beside it that a step uses. */
struct dedup_spot {
	int directory;    /* open; or a negative errno */
	const char *name; /* borrowed from the path */
	char beside[NAME_MAX + 1];
};

/* The spots of all names of a file; NULL without memory. */
struct dedup_spot *dedup_spots_open(const char *const *paths, size_t count,
				    const char *temporary);
void dedup_spots_close(struct dedup_spot *spots, size_t count);

/* Zeroed: there is none. */
struct stat dedup_look(int directory, const char *name);

/* Renames, and takes it back unless the names are of these inodes then, which is
 * -ESTALE.  want_from: 0: it is not looked at. */
int dedup_swap(int directory, const char *from, const char *to, unsigned how,
	       ino_t want_to, ino_t want_from);

/* An open file. */
struct dedup_view {
	int fd;         /* for reading; negative: there is none */
	struct stat st; /* when it was opened */
	bool leased;
};

/* Whether another program opened one of them for writing, or waits for that. */
bool dedup_is_broken(const struct dedup_view *views, size_t count);

/* In hex.  XXH128 is what the groups have; SHA-256 is what another user cannot
 * forge. */
struct dedup_hashes {
	bool wants_sha256; /* else it is "" */
	char xxh128[33], sha256[65];
};

/* pread() of all there is: less than len only at the end of the file. */
int64_t dedup_read(int fd, void *buffer, size_t len, uint64_t at);

/* Reads the first of the views to its end and hashes it; copies it into other
 * before, if that is wanted.  -EILSEQ: other has not the same bytes; -ETXTBSY:
 * a view is broken. */
int dedup_pass(const struct dedup_view *views, size_t count, int other,
	       bool copy, struct dedup_hashes *io);

#define DEDUP_CAPABILITY "security.capability"

/* The attributes of an open file but for those that are derived: a new object
 * of hexadecimal values. */
int dedup_read_attributes(int fd, json_t **out);
int dedup_write_attributes(int fd, json_t *attributes);

/* ---- step.c ---- */

/* Says by an errno why a step was not done; 0 for 0, else -ECANCELED, which has
 * been explained.  action: "cannot be opened", ... */
int dedup_explain(struct dedup_result *r, const char *action, int err);

/* Whether a file and its keep are two, and have the same bytes.  As
 * dedup_apply(); no rights are needed but to read. */
int dedup_compare(const struct dedup_file *replace, struct dedup_result *out);

/* ---- journal.c ---- */

/* A step that begins, for json_pack() and json_unpack(): method, temporary,
 * sha256, attributes, names; inode, keep_inode, size, mode, uid, gid, mtime,
 * atime; and keep is a path. */
#define DEDUP_RECORD                                                        \
	"{s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:[I,I], " \
	"s:[I,I]}"

/* Takes line, of a step or {"done": whether it ended well}.  The latter need not
 * be synced: undo finds out by itself. */
int dedup_journal_write(FILE *journal, json_t *line, bool sync);

/* ---- blocks.c ---- */

/* Shares the equal blocks of two open files.  path: of the second one, as it was
 * opened.  equal: the contents are, else -EILSEQ.  Without apply it is only
 * counted, in out. */
int dedup_share(int keep, int replace, const char *path, bool equal, bool apply,
		struct dedup_result *out);

/* Whether blocks of two files could be shared: 0, -EOPNOTSUPP, -EXDEV, -EPERM.
 * Asks for a range that no filesystem can share. */
int dedup_share_probe(int keep_fd, int replace_fd);

#endif
