/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <signal.h>
#include <ucontext.h>

/*
 * Reading LMDB's map without dying of it.
 *
 * The map is the data file itself.  Where the kernel cannot read the file, an
 * access to the map raises SIGBUS: a bad block of the disk, or a file that
 * another program has cut short.  That would end the process, and with it the
 * mount.  So every access to the map is in a guarded section, GUARDED(); a
 * SIGBUS in it jumps back to where the section was entered.
 *
 * A SIGBUS outside of a section, or sent by a process, has the effect that it
 * had before guard_install(): as a rule the process dies and dumps core.
 */

/* The innermost section of this thread. */
static _Thread_local struct map_guard *volatile innermost;

static struct sigaction before; /* what SIGBUS did until guard_install() */

/* If the handler returns, the instruction that failed is repeated, and fails
 * again with the action from before.  A signal that was sent is not repeated by
 * itself. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;
	struct map_guard *g = innermost;

	if (g && info->si_code > 0) { /* of the kernel, not sent */
		innermost = g->outer;
		/* The jump does not restore what is blocked. */
		(void)pthread_sigmask(SIG_SETMASK, &interrupted->uc_sigmask,
				      NULL);
		siglongjmp(g->back, 1);
	}
	(void)sigaction(number, &before, NULL);
	if (info->si_code <= 0)
		(void)raise(number);
}

void guard_install(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const struct sigaction action = { .sa_sigaction = on_bus_error,
					  .sa_flags = SA_SIGINFO };
	struct sigaction now = { 0 };

	(void)pthread_mutex_lock(&lock);
	(void)sigaction(SIGBUS, NULL, &now);
	if (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != on_bus_error)
		(void)sigaction(SIGBUS, &action, &before);
	(void)pthread_mutex_unlock(&lock);
}

void map_guard_push(struct map_guard *g)
{
	g->outer = innermost;
	innermost = g;
}

void map_guard_leave(struct map_guard *g)
{
	innermost = g->outer;
}
