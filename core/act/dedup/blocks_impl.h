/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DEDUP_BLOCKS_IMPL_H
#define CORE_DEDUP_BLOCKS_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* pread() of all there is: less than len only at the end of the file. */
int64_t block_read(int fd, void *buffer, size_t len, uint64_t at);
int block_write(int fd, const void *buffer, size_t len, uint64_t at);

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

/* For a file of so many bytes; fd: it is read once. */
int block_table_fill(struct block_table *t, int fd, uint64_t size,
		     size_t slots_most);
void block_table_release(struct block_table *t);

/* A block that may be equal; only a comparison tells. */
bool block_table_find(const struct block_table *t, const void *block,
		      uint64_t *number_out);

#endif
