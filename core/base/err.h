/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_ERR_H
#define CORE_BASE_ERR_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/*
 * Errors are negative errno values.  What they mean inside core/:
 *
 *   -ENOENT     no such record, file or name
 *   -ENODATA    the thing exists and has no value (yet)
 *   -EINVAL     malformed text or argument from outside
 *   -ENOMEM     allocation failed
 *   -EUCLEAN    stored bytes contradict themselves: damaged
 *   -EMEDIUMTYPE  a catalog of another version of LMDB or kinfs
 *   -EBUSY      another process has it (catalog lock, file open for writing)
 *   -ESTALE     the file is no longer the one that was asked for
 *   -EAGAIN     it changed while it was read; try again later; or the
 *               caller has too many requests under way
 *   -ETIMEDOUT  waited as long as allowed
 *   -ECANCELED  the owner withdrew the request, or we are shutting down
 *   -ENOTSUP    a library or kernel feature that is needed is missing
 *   -ENOSPC     no room for the catalog
 *
 * Any other errno is the system's own answer, passed through.
 */

/* Whether the system lacked something at that moment, or was interrupted: no
 * property of what was asked for, so that it is worth another try.  err: a
 * negative or positive errno. */
static inline bool err_is_lack(int err)
{
	const int error = err < 0 ? -err : err;

	return error == EMFILE || error == ENFILE || error == ENOMEM ||
	       error == EINTR;
}

/* Symbolic name of a negative or positive errno: "EIO".  Static storage;
 * "E?" when it is unknown. */
static inline const char *err_name(int err)
{
	const char *name = strerrorname_np(err < 0 ? -err : err);

	return name ? name : "E?";
}

/* Message of a negative or positive errno: "Input/output error".  Static
 * storage, thread-safe. */
static inline const char *err_text(int err)
{
	const char *text = strerrordesc_np(err < 0 ? -err : err);

	return text ? text : "unknown error";
}

#endif
