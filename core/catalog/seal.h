/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_SEAL_H
#define CORE_CATALOG_SEAL_H

#include <stdatomic.h>

#include "core/base/buf.h"

/*
 * The seal of a catalog: a file with the digest of the whole data file, as a
 * line of text ("XXH128 SIZE").
 *
 * The seal is written when the catalog is closed, and removed, durably, before
 * the next change.  So a data file that matches its seal is as LMDB wrote it,
 * and LMDB can open it safely.  A data file has no seal if its process was
 * killed or the host lost power; then it is inspected (inspect.h).
 */
#define SEAL_FILE "sealed"

/* directory is that of the catalog, data the path of its data file. */
int seal_write(const char *directory, const char *data);

int seal_remove(const char *directory);

/* 0: the data file matches its seal; -ENOENT: there is no seal; -EUCLEAN: the
 * data file differs; -ECANCELED: stop became true. */
int seal_check(const char *directory, const char *data,
	       const atomic_bool *stop);

#endif
