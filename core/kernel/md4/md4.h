/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_MD4_MD4_H
#define CORE_KERNEL_MD4_MD4_H

#include <stddef.h>
#include <stdint.h>

/* MD4, RFC 1320. */

struct kernel_message {
	const uint8_t *data; /* borrowed */
	size_t len;
	/* Of what is hashed already, before data: how long, blocks of 64 bytes,
	 * and the state after it. */
	uint64_t done;
	uint32_t words[4];
};

/* Not for anything that must be secure. */
struct kernel_md4 {
	/*
	 * The MD4s of count messages, in order.  Long ones would be hashed
	 * alone in the end: they may be left with no more than leave bytes in
	 * all, for a later call with others.  Returns how many are left; these
	 * are the first of messages then, in order, as far as they have come.
	 */
	size_t (*many)(struct kernel_message *messages, size_t count,
		       size_t leave, uint8_t (*hashes_out)[16]);

	/*
	 * The MD4s of 16 messages for every prefix: message i is the prefix
	 * and one byte of value i + 1.  minima[i] is lowered to the least of
	 * the MD4s of messages i.  Only their first 8 bytes count, as numbers
	 * that sort as the bytes do (byte 0 on top).
	 */
	void (*suffixed)(const uint8_t (*prefixes)[16], size_t count,
			 uint64_t minima[16]);
};

extern const struct kernel_md4 md4_scalar;
#ifdef __x86_64__
extern const struct kernel_md4 md4_avx2;
extern const struct kernel_md4 md4_avx512;
#endif

#endif
