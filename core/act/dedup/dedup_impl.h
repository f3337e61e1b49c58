/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DEDUP_DEDUP_IMPL_H
#define CORE_DEDUP_DEDUP_IMPL_H

#include <jansson.h>
#include <limits.h>

#include "core/act/dedup/dedup.h"

/* ---- open.c ---- */

/* The path of the file below the mount, to be freed; NULL: it is in none. */
char *dedup_real_path(struct dedup_mount *m, const char *path);

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

/* The spots of count paths; close them.  Fails when a directory cannot be
 * opened, unless lenient. */
int dedup_spots_open(char *const *paths, size_t count, const char *temporary,
		     bool lenient, struct dedup_spot **out);
void dedup_spots_close(struct dedup_spot *spots, size_t count);

bool dedup_has_inode(int directory, const char *name, ino_t inode);

/* ---- inspect.c ---- */

struct dedup_view {
	int fd;         /* for reading; negative: there is none */
	struct stat st; /* before the files were compared */
	bool leased;
};

struct dedup_side {
	int directory;    /* that the first name is in */
	const char *name; /* in it; borrowed from the plan */
	/* The file by its path; and if that is in a kinfs mount, the one below,
	 * where the tree below can be reached. */
	struct dedup_view view[2];
};

/* Two open files that may be equal. */
struct dedup_pair {
	struct dedup_side keep, replace;
	char xxh128[33]; /* of the content, in hex, once compared */
	char sha256[65]; /* the same, if that was wanted */
};

/* Opens both files of a step and says why it must not be done; 0 when nothing
 * is against it.  sha256: work that out, too.  The pair is to be closed in any
 * case. */
int dedup_inspect(const struct dedup_file *keep,
		  const struct dedup_file *replace,
		  const struct dedup_rules *rules, bool sha256,
		  struct dedup_pair *pair, struct dedup_result *r);

/* Says why a step was not done.  Always -ECANCELED, for callers to return. */
int dedup_stop(struct dedup_result *r, enum dedup_outcome outcome,
	       const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Says by an errno why a step was not done; 0 for 0.  action: "cannot be
 * opened", ... */
int dedup_explain(struct dedup_result *r, const char *action, int err);

void dedup_pair_close(struct dedup_pair *pair);

/* Where content and metadata are, not where the kernel remembers them. */
const struct dedup_view *dedup_side_view(const struct dedup_side *s);

/* Another program opened one of them for writing, or waits for that. */
bool dedup_pair_is_broken(const struct dedup_pair *p);

/* Whether neither has changed since: -ESTALE, -ETXTBSY.  renamed: the second
 * was, which moves its ctime. */
int dedup_pair_check(const struct dedup_pair *p, bool renamed);

/* ---- compare.c ---- */

/* 0 when the contents are equal; -EILSEQ when not; -ETXTBSY when another
 * program opened one for writing; -ESTALE when one changed meanwhile.  sha256:
 * work that out, too. */
int dedup_compare_content(struct dedup_pair *p, bool sha256);

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
	enum dedup_method method;
	char **paths;      /* owned; absolute: all names of the file */
	size_t path_count; /* 1 or more */
	char *keep;        /* owned; absolute */
	char *temporary;   /* owned; a name beside a path; NULL: none */
	struct stat st;    /* of what was replaced: mode, owner, times, inode */
	ino_t keep_inode;
	char sha256[65];    /* "": not known */
	json_t *attributes; /* owned */
	bool ended, done;   /* the journal says so */
};

/* Writes that the step begins, and syncs it if there is anything to undo; sets
 * r->step. */
int dedup_journal_begin(struct dedup_journal *j, struct dedup_record *r);

/* That it has ended.  Not synced: undo finds out by itself. */
int dedup_journal_end(struct dedup_journal *j, const struct dedup_record *r,
		      bool done);

/* ---- blocks.c ---- */

/* Shares the equal blocks of two files; keep: the number of the kept one.
 * blocks_io: what is known of its blocks, made when it is NULL; blocks_io NULL:
 * the files are equal, and -EILSEQ when they are not.  apply: else it is only
 * counted. */
int dedup_share(const struct dedup_pair *pair, struct dedup_blocks **blocks_io,
		size_t keep, bool apply, struct dedup_sharing *counts);
void dedup_blocks_free(struct dedup_blocks *b);

/*
 * The parts of blocks.c.
 *
 *   extent.c       where the bytes of a file are on the disk; sharing them
 *   block_table.c  fingerprints of the blocks of one file
 *
 * A block is what the filesystem can share: BLOCK_BYTES bytes at a multiple of
 * it.  The last block of a file may be shorter, and is shared only with the
 * last one of a file of the same size.
 */
enum { BLOCK_BYTES = 4096 };

/* ---- extent.c ---- */

struct extent {
	uint64_t start, end; /* in the file, and not behind its end */
	uint64_t place;      /* of start, on the disk */
	bool shared; /* with another file, or another part of this one */
};

/* Those of a file, in order of start; holes are between them. */
struct extent_map {
	struct extent *extents; /* owned */
	size_t count;
};

/* Writes the file out first.  Replaces what out has.  -EOPNOTSUPP. */
int extent_map_read(int fd, uint64_t size, struct extent_map *out);
void extent_map_release(struct extent_map *m);

/* The place of a byte on the disk; 0: it is in a hole. */
uint64_t extent_map_place(const struct extent_map *m, uint64_t at);

/* Bytes from start to end that no other file refers to. */
uint64_t extent_map_unshared(const struct extent_map *m, uint64_t start,
			     uint64_t end);

/* Bytes that are unshared in a and have no place in b.  Sorts both by place:
 * extent_map_place() is of no use then. */
uint64_t extent_map_missing(struct extent_map *a, struct extent_map *b);

/* Makes a range of the second file refer to the blocks of the first one
 * (FIDEDUPERANGE).  -EILSEQ: the kernel found them different; -EOPNOTSUPP: not
 * on this filesystem.  done_out: bytes that are shared, also after an error. */
int extent_share(int keep_fd, uint64_t from, int replace_fd, uint64_t to,
		 uint64_t len, uint64_t *done_out);

/* Whether blocks of two files could be shared: 0, -EOPNOTSUPP, -EXDEV, -EPERM.
 * Asks for a range that no filesystem can share. */
int dedup_share_probe(int keep_fd, int replace_fd);

/* pread() of all there is: less than len only at the end of the file. */
int64_t block_read(int fd, void *buffer, size_t len, uint64_t at);
int block_write(int fd, const void *buffer, size_t len, uint64_t at);

/* ---- block_table.c ---- */

/*
 * The first block of each fingerprint (XXH3, 64 bits) of a file.  Blocks of
 * zeros are left out.  Of a file with more blocks than there is room for, those
 * stay whose fingerprints end in so many zero bits: a run of equal blocks is
 * then found from one of them on.
 */
struct block_table {
	uint64_t *slots; /* owned; part of a fingerprint, and the number */
	size_t slot_count;
	unsigned sample_bits;
};

/* The most memory a table takes: 64 MiB for 16 GiB without sampling. */
enum { BLOCK_TABLE_SLOTS = 1 << 23 };

/* For a file of so many bytes; fd: it is read once. */
int block_table_fill(struct block_table *t, int fd, uint64_t size,
		     size_t slots_most);
void block_table_release(struct block_table *t);

/* A block that may be equal; only a comparison tells. */
bool block_table_find(const struct block_table *t, const void *block,
		      uint64_t *number_out);

#endif
