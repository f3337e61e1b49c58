/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "core/base/landlock.h"
#include "core/extract/reader.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A descriptor that is received needs a number. */
enum { DESCRIPTORS_MAX = 16 };

static int limit(int what, rlim_t most)
{
	const struct rlimit r = { most, most };

	return setrlimit((__rlimit_resource_t)what, &r) ? -errno : 0;
}

int confine_limits(uint64_t memory)
{
	int err = limit(RLIMIT_AS, memory);

	if (!err)
		err = limit(RLIMIT_NOFILE, DESCRIPTORS_MAX);
	if (!err)
		err = limit(RLIMIT_CORE, 0);
	return err ? err : limit(RLIMIT_FSIZE, 0);
}

/* ---- system calls ---- */

static const int calls_allowed[] = {
	SCMP_SYS(brk),          SCMP_SYS(munmap),    SCMP_SYS(mremap),
	SCMP_SYS(madvise),      SCMP_SYS(pread64),   SCMP_SYS(close),
	SCMP_SYS(futex),        SCMP_SYS(getrandom), SCMP_SYS(clock_gettime),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(exit),      SCMP_SYS(exit_group),
};

/* Libraries look for files that they can do without. */
static const int calls_without_file[] = {
	SCMP_SYS(open),       SCMP_SYS(openat), SCMP_SYS(stat),
	SCMP_SYS(newfstatat), SCMP_SYS(access), SCMP_SYS(readlink),
};

/* Allowed when a masked argument has a value. */
static const struct {
	int call;
	unsigned arg;
	scmp_datum_t mask, value;
} calls_bounded[] = {
	{ SCMP_SYS(write), 0, UINT64_MAX, EXTRACT_ANSWER_FD },
	{ SCMP_SYS(recvmsg), 0, UINT64_MAX, EXTRACT_REQUEST_FD },
	{ SCMP_SYS(mmap), 2, PROT_EXEC, 0 },
	{ SCMP_SYS(mprotect), 2, PROT_EXEC, 0 },
};

static int fill_filter(scmp_filter_ctx filter)
{
	size_t i;
	int err = 0;

	for (i = 0; i < COUNT(calls_allowed) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls_allowed[i],
				       0);
	for (i = 0; i < COUNT(calls_without_file) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOENT),
				       calls_without_file[i], 0);
	for (i = 0; i < COUNT(calls_bounded) && !err; i++)
		err = seccomp_rule_add(
			filter, SCMP_ACT_ALLOW, calls_bounded[i].call, 1,
			SCMP_CMP64(calls_bounded[i].arg, SCMP_CMP_MASKED_EQ,
				   calls_bounded[i].mask,
				   calls_bounded[i].value));
	return err;
}

static int forbid_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int err = filter ? fill_filter(filter) : -ENOMEM;

	if (!err)
		err = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return err;
}

int confine_calls(void)
{
	struct landlock files;
	int err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	err = landlock_begin(&files, true);
	if (!err)
		err = landlock_end(&files);
	return err ? err : forbid_calls();
}
