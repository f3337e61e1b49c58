/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DEDUP_BLOCKS_IMPL_H
#define CORE_DEDUP_BLOCKS_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Equal blocks of two files that are not equal: what blocks.c is made of.
 *
 *   extent.c       where the bytes of a file are on the disk
 *   block_table.c  fingerprints of the blocks of one file
 *   leftover.c     what is left of an extent that is not needed any more
 *   block_match.c  a window of one file -> runs of blocks of the other
 *
 * A block is what the filesystem can share: BLOCK_BYTES bytes at a multiple of
 * it.  The last block of a file may be shorter, and is shared only with the
 * last one of a file of the same size.
 */
enum { BLOCK_BYTES = 4096 };

/* ---- extent.c ---- */

struct extent {
	uint64_t start, end; /* in the file */
	uint64_t place;      /* of start, on the disk */
	bool shared; /* with another file, or another part of this one */
};

/* Those of a part of a file, in order of start; holes are between them. */
struct extent_map {
	struct extent *extents; /* owned */
	size_t count;
};

/* Writes the file out first.  Reuses what out has.  -EOPNOTSUPP. */
int extent_map_read(int fd, uint64_t start, uint64_t end,
		    struct extent_map *out);
void extent_map_release(struct extent_map *m);

/* The extent that has the byte, or NULL: a hole. */
const struct extent *extent_map_find(const struct extent_map *m, uint64_t at);
uint64_t extent_place(const struct extent *e, uint64_t at);

/* Bytes from start to end that no other file refers to. */
uint64_t extent_map_unshared(const struct extent_map *m, uint64_t start,
			     uint64_t end);

/* Bytes that are unshared in a and have no place in b.  Sorts both by place:
 * extent_map_find() is of no use then. */
uint64_t extent_map_missing(struct extent_map *a, struct extent_map *b);

/* ---- block_table.c ---- */

/*
 * The first block of each fingerprint (XXH3, 64 bits) of a file.  Blocks of
 * zeros are left out.  Of a file with more blocks than there is room for, those
 * stay whose fingerprints end in so many zero bits: a run of equal blocks is
 * then found by one of them, and grows from there.
 */
struct block_table {
	uint64_t *slots; /* owned; part of a fingerprint, and the number */
	size_t slot_count;
	unsigned sample_bits;
};

/* The most memory a table takes: 64 MiB for 16 GiB without sampling. */
enum { BLOCK_TABLE_SLOTS = 1 << 23 };

/* For a file of so many blocks; fd: it is read once. */
int block_table_fill(struct block_table *t, int fd, uint64_t size,
		     size_t slots_most);
void block_table_release(struct block_table *t);

/* A block that may be equal; only a comparison tells. */
bool block_table_find(const struct block_table *t, const void *block,
		      uint64_t *number_out);

/* ---- block_match.c ---- */

/* So much of the replaced file is looked at and shared at a time. */
enum { WINDOW_SIZE = 256 << 20, WINDOW_BLOCKS = WINDOW_SIZE / BLOCK_BYTES };

/* len bytes at from in the kept file are those at to in the replaced one. */
struct block_run {
	uint64_t from, to, len;
};

/* Two open files, and what is kept from one window to the next. */
struct block_matcher {
	int keep_fd, replace_fd;
	int replace_directory; /* that the file is in */
	uint64_t keep_size, replace_size;
	struct block_table *table; /* of the kept file; filled when needed */
	bool *is_filled;           /* whether it is; borrowed, as the table */
	size_t slots_most;

	char *replace_chunk, *keep_chunk; /* owned */
	char *ahead; /* owned; of the kept file, anywhere */
	uint64_t ahead_at, ahead_len;
	uint64_t *sources; /* owned; for each block of the window: the number
			    * of the kept block and 1, or 0 */
	struct extent_map keep_map, replace_map;
};

struct block_window {
	struct block_run *runs; /* owned by the caller: free() */
	size_t run_count;
	uint64_t shared; /* bytes that have one place already */
};

int block_matcher_init(struct block_matcher *m);
void block_matcher_release(struct block_matcher *m);

/* Finds the runs of the window that begins at start.  m->replace_map is that
 * of the window afterwards. */
int block_matcher_window(struct block_matcher *m, uint64_t start,
			 struct block_window *out);

/* ---- leftover.c ---- */

/* Whether the filesystem of fd frees whole extents only. */
bool leftover_is_needed(int fd);

struct leftover {
	uint64_t moved;  /* bytes that have a new place */
	uint64_t pinned; /* shared bytes that stay allocated nevertheless */
};

/* After the runs of a window were shared: moves what is left of their extents,
 * where that is worth it.  Failures cost space and nothing else. */
void leftover_rewrite(int directory, int fd, uint64_t size,
		      const struct extent_map *before,
		      const struct block_window *w, struct leftover *out);

/* pread() of all there is: less than len only at the end of the file. */
int64_t block_read(int fd, void *buffer, size_t len, uint64_t at);

#endif
