/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_LMDB_FORMAT_H
#define CORE_CATALOG_LMDB_FORMAT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/*
 * The file of LMDB 0.9 (data version 1) on a 64-bit host, in host byte order:
 *
 *   page  number 8, pad 2, flags 2, end of offsets 2, start of nodes 2,
 *         offsets 2 each; of an overflow run: number 8, pad 2, flags 2,
 *         pages 4, the value
 *   node  number 4, flags 2, key size 2, key, value; the number is the
 *         value's size, in a branch (with the flags) the child's page
 *   meta  page header, magic 4, version 4, address 8, map size 8, free tree
 *         48, main tree 48, last page 8, transaction 8
 *   tree  pad 4 (of the free tree: page size), flags 2, depth 2, branch
 *         pages 8, leaf pages 8, overflow pages 8, entries 8, root page 8
 */
#define LMDB_MAGIC 0xBEEFC0DEu
#define LMDB_VERSION 1
#define LMDB_META_PAGES 2
#define LMDB_TREE_BYTES 48
#define LMDB_PAGE_HEADER_BYTES 16
#define LMDB_NODE_HEADER_BYTES 8
#define LMDB_PAGE_SIZE_MAX 32768
#define LMDB_DEPTH_MAX 32
#define LMDB_KEY_BYTES_MAX 511
#define LMDB_NO_PAGE UINT64_MAX

enum { LMDB_BRANCH = 1, LMDB_LEAF = 2, LMDB_OVERFLOW = 4, LMDB_META = 8 };
enum { LMDB_NODE_BIG = 1, LMDB_NODE_TREE = 2 };

static inline uint16_t host16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t host32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t host64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

struct lmdb_tree {
	uint16_t flags;
	uint16_t depth;
	uint64_t branch_pages;
	uint64_t leaf_pages;
	uint64_t overflow_pages;
	uint64_t entries;
	uint64_t root;
};

static inline void lmdb_tree_load(const uint8_t *p, struct lmdb_tree *out)
{
	out->flags = host16(p + 4);
	out->depth = host16(p + 6);
	out->branch_pages = host64(p + 8);
	out->leaf_pages = host64(p + 16);
	out->overflow_pages = host64(p + 24);
	out->entries = host64(p + 32);
	out->root = host64(p + 40);
}

/* That LMDB gives its files here. */
static inline uint64_t lmdb_page_size(void)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	return size < LMDB_PAGE_SIZE_MAX ? size : LMDB_PAGE_SIZE_MAX;
}

/* Pages of an overflow run that holds so many bytes. */
static inline uint64_t lmdb_run_pages(uint64_t bytes, uint64_t page_size)
{
	return (LMDB_PAGE_HEADER_BYTES + bytes - 1) / page_size + 1;
}

/* Whether that is the first page of such a run. */
static inline bool lmdb_is_run(const uint8_t *page, uint64_t number,
			       uint64_t pages)
{
	return host64(page) == number && host16(page + 10) == LMDB_OVERFLOW &&
	       host32(page + 12) == pages;
}

#endif
