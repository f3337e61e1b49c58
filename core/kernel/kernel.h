/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_KERNEL_H
#define CORE_KERNEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The inner loops that are worth writing once for each instruction set.  The
 * scalar variant defines the results; every variant gives the same bits, reads
 * nothing outside of what it is given and asks for no alignment.  All is
 * reentrant.
 */

/* ---- RDC, [MS-RDC] 3.1.5.1 ---- */

struct kernel_h3 {
	uint32_t values[256];
	uint8_t planes[4][256]; /* planes[k][i]: byte k of values[i] */
};

#define KERNEL_MAX_WINDOW 96

struct kernel_rolling {
	const struct kernel_h3 *h3; /* borrowed */
	uint32_t window;            /* up to KERNEL_MAX_WINDOW */
	uint32_t rotation;          /* 0..31 */
};

struct kernel_peak {
	uint32_t value;
	uint32_t offset; /* of the first such value */
	bool unique;
};

struct kernel_rdc {
	/*
	 * The rolling hash after each of count bytes; hash is that before
	 * them.  The window bytes before data leave the window: they are read
	 * too.
	 */
	void (*hash_block)(const struct kernel_rolling *rolling,
			   const uint8_t *data, size_t count, uint32_t hash,
			   uint32_t *hashes_out);

	/* The largest value; 0 at 0 and not unique when there is none. */
	struct kernel_peak (*block_maximum)(const uint32_t *values,
					    size_t count);
};

/* ---- MD4, RFC 1320 ---- */

struct kernel_message {
	const uint8_t *data; /* borrowed */
	size_t len;
};

/* Not for anything that must be secure. */
struct kernel_md4 {
	/* The MD4s of count messages. */
	void (*many)(const struct kernel_message *messages, size_t count,
		     uint8_t (*hashes_out)[16]);

	/*
	 * The MD4s of 16 messages for every prefix: message i is the prefix
	 * and one byte of value i + 1.  minima[i] is lowered to the least of
	 * the MD4s of messages i.  Only their first 8 bytes count, as numbers
	 * that sort as the bytes do (byte 0 on top).
	 */
	void (*suffixed)(const uint8_t (*prefixes)[16], size_t count,
			 uint64_t minima[16]);
};

/* ---- variants ---- */

struct kernel_ops {
	const char *name;
	const struct kernel_rdc *rdc;
	const struct kernel_md4 *md4;
};

/* The fastest that processor and operating system can run. */
const struct kernel_ops *kernel_best(void);

/* All that can be run here, for tests and benches: scalar first, then as they
 * get faster. */
const struct kernel_ops *kernel_all(size_t *count_out);

/* From now on kernel_best() says this, NULL: what it says by itself.  For
 * tests and benches only. */
void kernel_use(const struct kernel_ops *ops);

#endif
