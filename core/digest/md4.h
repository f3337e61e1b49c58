/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_MD4_H
#define CORE_DIGEST_MD4_H

#include <stddef.h>
#include <stdint.h>

/*
 * MD4 (RFC 1320), which [MS-RDC] is made of; not for anything that must be
 * secure.  OpenSSL keeps it in a provider of its own that a system may lack.
 */
struct md4 {
	struct evp_md_ctx_st *ctx; /* owned */
};

/* -ENOTSUP when OpenSSL has no MD4; -ENOMEM. */
int md4_init(struct md4 *m);
void md4_release(struct md4 *m);

/* Any number of messages one after the other: begin, update..., final.
 * -EIO when OpenSSL fails. */
int md4_begin(struct md4 *m);
int md4_update(struct md4 *m, const void *data, size_t len);
int md4_final(struct md4 *m, uint8_t out[16]);

/*
 * The MD4s of 16 messages at once: message i is the prefix and one byte of
 * value i + 1.  Only their first 8 bytes are given, as numbers that sort as
 * the bytes do (byte 0 on top).
 *
 * Not by OpenSSL: RDC wants 16 of these 17-byte messages for every chunk, and
 * 16 calls into a provider cost more than all else RDC does with the chunk.
 */
void md4_suffixed(const uint8_t prefix[16], uint64_t out[16]);

#endif
