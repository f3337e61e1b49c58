/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_GUARD_H
#define CORE_CATALOG_GUARD_H

#include <setjmp.h>

/*
 * Reading LMDB's map without dying of it.
 *
 * The map is the data file itself.  Where the kernel cannot read the file, an
 * access to the map raises SIGBUS: a bad block of the disk, or a file that
 * another program has cut short.  That would end the process, and with it the
 * mount.
 *
 * So every access to the map is in a guarded section.  A SIGBUS in it jumps
 * back to where the section was entered:
 *
 *	struct map_guard guard;
 *
 *	if (map_guard_enter(&guard))
 *		return an error;
 *	... access the map ...
 *	map_guard_leave(&guard);
 *
 * A section calls LMDB, or copies from the map to memory of its own, and
 * nothing else: no lock of ours is held and no memory of ours is allocated in
 * it, since the jump would leave both.  LMDB's own state is lost after a jump,
 * so that environment is never used again (env_close()).
 *
 * A SIGBUS outside of a section, or sent by a process, has the effect that it
 * had before guard_install(): as a rule the process dies and dumps core.
 */
struct map_guard {
	sigjmp_buf back;
	struct map_guard *outer; /* sections can be nested */
};

/* Sets the handler if it is not set.  The catalog calls it when it opens. */
void guard_install(void);

/* Nonzero: the section was left by a SIGBUS.  A macro, because sigsetjmp() must
 * be called by the function that has the section. */
#define map_guard_enter(g) (map_guard_push(g), sigsetjmp((g)->back, 0))

void map_guard_push(struct map_guard *g);
void map_guard_leave(struct map_guard *g);

#endif
