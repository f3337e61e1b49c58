/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/err.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- capabilities ---- */

#define CAP_BIT(cap) (UINT64_C(1) << (cap))

/*
 * The capabilities that requests of root need, and those to act as another
 * user.  Not CAP_SYS_RESOURCE: it would stay effective while the daemon acts as
 * an ordinary user, who could then exceed quotas and use root's reserved
 * blocks.
 */
static const uint64_t capabilities_kept =
	CAP_BIT(CAP_CHOWN) | CAP_BIT(CAP_DAC_OVERRIDE) |
	CAP_BIT(CAP_DAC_READ_SEARCH) | /* open_by_handle_at() */
	CAP_BIT(CAP_FOWNER) | CAP_BIT(CAP_FSETID) | CAP_BIT(CAP_SETGID) |
	CAP_BIT(CAP_SETUID) |
	CAP_BIT(CAP_SYS_ADMIN) | /* umount(), trusted.*, passthrough */
	CAP_BIT(CAP_MKNOD) | CAP_BIT(CAP_SETFCAP) |
	CAP_BIT(CAP_LINUX_IMMUTABLE) | /* chattr(1) */
	CAP_BIT(CAP_LEASE); /* of other users' files, see core/base/file.h */

/* For the calling thread; threads that it starts inherit that. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	/* Fails without CAP_SETPCAP, which is ignored: only execve() uses the
	 * set. */
	for (int cap = 0; cap < 64; cap++)
		if (!(capabilities_kept & CAP_BIT(cap)))
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (syscall(SYS_capget, &head, sets) != 0)
		return -errno;
	for (unsigned i = 0; i < COUNT(sets); i++) {
		uint32_t kept = (uint32_t)(capabilities_kept >> (32 * i));

		sets[i].permitted &= kept;
		sets[i].effective &= kept;
		sets[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, sets) == 0 ? 0 : -errno;
}

/* ---- system calls ---- */

static const char *const calls_refused[] = {
	/* programs and other processes */
	"execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv",
	"process_vm_writev", "process_madvise", "pidfd_open", "pidfd_getfd",
	"pidfd_send_signal", "kcmp", "perf_event_open",
	/* another user for good, or another root directory */
	"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid",
	"chroot", "pivot_root", "setns",
	/* mounting; umount2() stays: the daemon unmounts with it */
	"mount", "fsopen", "fspick", "fsmount", "move_mount", "mount_setattr",
	"swapon", "swapoff",
	/* a server, which we are not */
	"bind", "listen", "accept", "accept4",
	/* the kernel */
	"bpf", "init_module", "finit_module", "delete_module", "kexec_load",
	"kexec_file_load", "reboot", "acct", "quotactl", "quotactl_fd",
	"syslog", "userfaultfd",
	"io_uring_setup", /* its calls pass every filter by */
	"io_uring_enter", "io_uring_register", "add_key", "request_key",
	"keyctl",
	/* the machine */
	"iopl", "ioperm", "modify_ldt", "settimeofday", "clock_settime",
	"clock_adjtime", "adjtimex", "sethostname", "setdomainname", "vhangup"
};

/* A system call that is refused if the comparison of an argument is true. */
struct call_rule {
	const char *name;
	unsigned arg;
	enum scmp_compare compare;
	scmp_datum_t a, b; /* b: of masked comparisons */
};

#ifdef __s390__
enum { CLONE_FLAGS = 1 }; /* the second argument, after the stack */
#else
enum { CLONE_FLAGS = 0 };
#endif

/* Threads need clone(), and syslog() needs a datagram socket. */
static const struct call_rule rules[] = {
	{ "clone", CLONE_FLAGS, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0 },
	{ "unshare", 0, SCMP_CMP_NE, CLONE_FS, 0 },
	{ "socket", 0, SCMP_CMP_NE, AF_UNIX, 0 },
	{ "socket", 1, SCMP_CMP_MASKED_EQ, 0xf, SOCK_STREAM },
	{ "socket", 1, SCMP_CMP_MASKED_EQ, 0xf, SOCK_SEQPACKET },
	{ "ioctl", 1, SCMP_CMP_EQ, TIOCSTI, 0 },
};

static int refuse_when(scmp_filter_ctx filter, const struct call_rule *rule)
{
	struct scmp_arg_cmp when = {
		.arg = rule->arg,
		.op = rule->compare,
		.datum_a = rule->a,
		.datum_b = rule->b,
	};

	return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM),
				      seccomp_syscall_resolve_name(rule->name),
				      1, &when);
}

static int refuse_all(scmp_filter_ctx filter)
{
	/* Signals are allowed to this process only. */
	static const char *const signals[] = { "kill", "tgkill",
					       "rt_sigqueueinfo",
					       "rt_tgsigqueueinfo" };
	struct call_rule other = {
		.compare = SCMP_CMP_NE,
		.a = (scmp_datum_t)getpid(),
	};
	/* ENOSYS, so that the C library uses clone() instead: a filter cannot
	 * see the flags of clone3(). */
	int err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS),
				   SCMP_SYS(clone3), 0);
	size_t i;

	for (i = 0; i < COUNT(calls_refused) && !err; i++) {
		int call = seccomp_syscall_resolve_name(calls_refused[i]);

		/* libseccomp may be older than the system call. */
		if (call != __NR_SCMP_ERROR)
			err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM),
					       call, 0);
	}
	for (i = 0; i < COUNT(rules) && !err; i++)
		err = refuse_when(filter, &rules[i]);
	for (i = 0; i < COUNT(signals) && !err; i++) {
		other.name = signals[i];
		err = refuse_when(filter, &other);
	}
	return err ? err :
		     seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM),
				      SCMP_SYS(tkill), 0);
}

static int load_filter(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int err = filter ? 0 : -ENOMEM;

	if (!err)
		err = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH,
				       SCMP_ACT_ERRNO(EPERM));
	if (!err)
		err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 1);
	/* Do not switch on the mitigation of speculative store bypass, which
	 * makes all threads slower. */
	if (!err)
		err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	if (!err)
		err = refuse_all(filter);
	if (!err)
		err = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return err;
}

/* ---- the unmounter ---- */

/* -z: lazily, as libfuse does, because the daemon no longer answers. */
#define SCRIPT "read -r _ && exec fusermount3 -u -q -z -- \"$0\""

/* Ignores the signals that end the daemon, and keeps no directory busy. */
static void become_shell(const char *mountpoint, int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	if (null < 0 || dup2(fd, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0 ||
	    chdir("/") != 0)
		_exit(1);
	execl("/bin/sh", "sh", "-c", SCRIPT, mountpoint, (char *)NULL);
	_exit(1);
}

/* All descriptors above standard error must be CLOEXEC. */
static int start_unmounter(const char *mountpoint, struct unmounter *out)
{
	int ends[2];
	pid_t child;
	int err = 0;

	/* Not a pipe: MSG_NOSIGNAL avoids SIGPIPE if the shell has ended. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	child = fork();
	if (child == 0)
		become_shell(mountpoint, ends[1]);
	if (child < 0)
		err = -errno;
	close(ends[1]);
	if (err)
		close(ends[0]);
	else
		*out = (struct unmounter){ .pid = child, .fd = ends[0] };
	return err;
}

void sandbox_end_unmounter(struct fs *fs, bool unmount)
{
	struct unmounter *u = &fs->unmounter;
	int status;

	if (!u->pid)
		return;
	if (unmount)
		(void)send(u->fd, "\n", 1, MSG_NOSIGNAL);
	close(u->fd);
	while (waitpid(u->pid, &status, 0) < 0 && errno == EINTR)
		;
	u->pid = 0;
}

/* ---- the sandbox ---- */

static void warn_if_failed(const char *what, int err)
{
	if (err)
		log_warning("sandbox: %s: %s", what, err_text(err));
}

/* Also with auto_unmount: libfuse's process for that does not unmount without
 * allow_other. */
void sandbox_prepare(struct fs *fs)
{
	if (!fs->options.no_sandbox && !fs->root_user)
		warn_if_failed("unmounting",
			       start_unmounter(fs->mountpoint, &fs->unmounter));
}

bool sandbox_is_attached(const struct fs *fs)
{
	struct pollfd device = { .fd = fuse_session_fd(fs->session) };

	return poll(&device, 1, 0) == 0 || !(device.revents & POLLERR);
}

void sandbox_enter(const struct fs *fs)
{
	const struct rlimit none = { .rlim_cur = 0, .rlim_max = 0 };

	if (fs->options.no_sandbox)
		return;
	if (setrlimit(RLIMIT_CORE, &none) != 0)
		warn_if_failed("memory images", -errno);
	warn_if_failed("capabilities", drop_capabilities());
	if (fs->root_user || fs->unmounter.pid)
		warn_if_failed("system calls", load_filter());
}
