/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_INODE_NUMBER_H
#define CORE_BASE_INODE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The inode numbers that a mount shows.  On the device of SOURCE it is the real
 * one, without the upper bit.  On other devices (mounts below SOURCE,
 * subvolumes) the lower 48 bits are those of inode_number_fold(), and bits
 * 48..62 have the number of the device, 1 or more, which may be another one
 * after the next mount.
 */
enum { INODE_NUMBER_SHIFT = 48 };
#define INODE_NUMBER_MASK (((uint64_t)1 << INODE_NUMBER_SHIFT) - 1)

/* A number that is so large is a hash; its upper bits are mixed in. */
static inline uint64_t inode_number_fold(uint64_t number)
{
	if (number > INODE_NUMBER_MASK)
		number ^= (number >> INODE_NUMBER_SHIFT) * 0x9e3779b1u;
	return number & INODE_NUMBER_MASK;
}

/* Whether a mount may show that number for a file with this one. */
static inline bool inode_number_may_be(uint64_t real, uint64_t shown)
{
	return shown == (real & INT64_MAX) ||
	       (shown > INODE_NUMBER_MASK &&
		(shown & INODE_NUMBER_MASK) == inode_number_fold(real));
}

/* Whether two numbers that were shown, perhaps by two mounts of one tree, may
 * be of one file. */
static inline bool inode_number_is_same(uint64_t a, uint64_t b)
{
	return a == b || (a > INODE_NUMBER_MASK && b > INODE_NUMBER_MASK &&
			  !((a ^ b) & INODE_NUMBER_MASK));
}

#endif
