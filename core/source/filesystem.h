/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SOURCE_FILESYSTEM_H
#define CORE_SOURCE_FILESYSTEM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/source/times.h"

/*
 * What the inode numbers and timestamps of a filesystem are worth, by its type.
 *
 * NUMBERS_KEPT: an inode number is on the disk, and each change of its file
 * sets a new ctime.  A record is believed as long as the filesystem is the same
 * one, also after it was mounted again.
 *
 * NUMBERS_OF_IMAGE: the numbers and the times were written by a program that
 * made the whole filesystem (squashfs, ISO 9660).  A newer image can give the
 * same number, size and times to another content.  A record is believed for
 * that image: if a loop device has it, for that state of its file; else for one
 * mount.
 *
 * NUMBERS_MADE_UP: the kernel or a daemon counts the files as it meets them
 * (FAT, FUSE, SMB), or the number is that of a file of another filesystem
 * (overlayfs), or it is not known where it comes from.  A record is believed
 * for one mount.  After that it is believed of a file with the same path, size
 * and times, if these times tell it from its neighbours (struct source_entry).
 */
enum inode_numbers { NUMBERS_MADE_UP, NUMBERS_KEPT, NUMBERS_OF_IMAGE };

struct filesystem {
	enum times_worth times;
	enum inode_numbers numbers;
	/* Another one where records are not believed any more.  Two filesystems
	 * with kept numbers may have the same id, but for the root's. */
	uint64_t id;
};

/* By the type alone: f_type of statfs(2).  id is 0. */
struct filesystem filesystem_of_type(uint64_t type);

/*
 * The filesystem of a directory (O_PATH will do).  The id of one with kept
 * numbers has the time of birth of the directory, because some filesystems have
 * no number of their own.
 *
 * One mount is known by its unique number (Linux 6.8).  Without that, each call
 * gives another id: older kernels use the numbers of mounts again.
 */
struct filesystem filesystem_of_root(int fd);

/*
 * The same of an entry of an open directory, or with name "" of fd itself, that
 * is on another filesystem than SOURCE.  The id has st_dev.  What was found is
 * kept until something is mounted or unmounted, as a later filesystem may have
 * the same st_dev.  The caller keeps a descriptor of the filesystem open
 * meanwhile.  Any thread.
 */
struct filesystem filesystem_of_entry(int fd, const char *name, dev_t device);

#endif
