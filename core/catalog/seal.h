/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_SEAL_H
#define CORE_CATALOG_SEAL_H

#include <stdatomic.h>

/*
 * The seal of a catalog: a digest of its whole data file, as a line of text in
 * a file of its own ("XXH128 SIZE").
 *
 * It is written after a catalog was closed and removed, durably, before the
 * first change after that.  So a data file with its seal holds, byte for byte,
 * what LMDB wrote, and LMDB can be trusted with it.  A data file without a seal
 * is one whose process was killed, or whose host lost power: see inspect.h.
 */
#define SEAL_FILE "sealed"

/* directory is that of the catalog, data the path of its data file. */
int seal_write(const char *directory, const char *data);
int seal_remove(const char *directory);

/* 0 when the data file is the sealed one, -ENOENT when there is no seal,
 * -EUCLEAN when the file is another one than was sealed, -ECANCELED once stop
 * is true. */
int seal_check(const char *directory, const char *data,
	       const atomic_bool *stop);

#endif
