/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract/reader.h"

#include "tests/support/remove_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a process that reads documents may do once it is confined: each attempt
 * in a process of its own.  Its exit status is the errno; one that the kernel
 * killed gives KILLED. */

enum { KILLED = 200 };

static int try_to(int (*attempt)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		(void)dup2(open("/dev/null", O_RDWR), EXTRACT_ANSWER_FD);
		syscall(SYS_exit_group, confine_calls() ? 255 : attempt());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		return KILLED;
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The call itself: a sanitizer has wrappers of its own. */
#define ATTEMPT(name, ...)                                   \
	static int name(void)                                \
	{                                                    \
		return syscall(__VA_ARGS__) < 0 ? errno : 0; \
	}

static const struct sockaddr_in address = { .sin_family = AF_INET };

ATTEMPT(read_passwd, SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY)
ATTEMPT(create, SYS_openat, AT_FDCWD, "/tmp/kin-extract-was-here",
	O_WRONLY | O_CREAT, 0600)
ATTEMPT(look, SYS_newfstatat, AT_FDCWD, "/etc/passwd", NULL, 0)
ATTEMPT(remove_file, SYS_unlinkat, AT_FDCWD, "/tmp/none", 0)
ATTEMPT(list, SYS_getdents64, 0, NULL, 0)
ATTEMPT(connect_internet, SYS_socket, AF_INET, SOCK_STREAM, 0)
ATTEMPT(connect_unix, SYS_socket, AF_UNIX, SOCK_STREAM, 0)
ATTEMPT(connect_old, SYS_connect, 0, &address, sizeof(address))
ATTEMPT(send_packet, SYS_sendto, EXTRACT_REQUEST_FD, "x", 1, 0, NULL, 0)
ATTEMPT(fork_process, SYS_clone, SIGCHLD, 0, 0, 0, 0)
ATTEMPT(start_thread, SYS_clone3, NULL, 0)
ATTEMPT(run, SYS_execve, "/bin/true", NULL, NULL)
ATTEMPT(trace_parent, SYS_ptrace, PTRACE_ATTACH, 1, 0, 0)
ATTEMPT(read_parent, SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0)
ATTEMPT(signal_parent, SYS_kill, 1, SIGCONT)
ATTEMPT(control, SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0)
ATTEMPT(ring, SYS_io_uring_setup, 1, NULL)
ATTEMPT(write_elsewhere, SYS_write, 2, "", 0)
ATTEMPT(duplicate, SYS_dup, EXTRACT_ANSWER_FD)
ATTEMPT(map_code, SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC,
	MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
ATTEMPT(write_answer, SYS_write, EXTRACT_ANSWER_FD, "", 0)
ATTEMPT(map_memory, SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE,
	MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)

static int make_code(void)
{
	void *memory = (void *)syscall(SYS_mmap, NULL, 4096, PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return syscall(SYS_mprotect, memory, 4096, PROT_EXEC) < 0 ? errno : 0;
}

static void need_landlock(void)
{
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 1)
		skip(); /* the kernel has no Landlock */
}

TEST(test_files)
{
	need_landlock();
	assert_int_equal(try_to(read_passwd), ENOENT);
	assert_int_equal(try_to(create), ENOENT);
	assert_int_equal(try_to(look), ENOENT);
	assert_int_equal(try_to(remove_file), KILLED);
	assert_int_equal(try_to(list), KILLED);
	assert_int_not_equal(access("/tmp/kin-extract-was-here", F_OK), 0);
}

TEST(test_network)
{
	need_landlock();
	assert_int_equal(try_to(connect_internet), KILLED);
	assert_int_equal(try_to(connect_unix), KILLED);
	assert_int_equal(try_to(connect_old), KILLED);
	assert_int_equal(try_to(send_packet), KILLED);
}

TEST(test_processes)
{
	need_landlock();
	assert_int_equal(try_to(fork_process), KILLED);
	assert_int_equal(try_to(start_thread), KILLED);
	assert_int_equal(try_to(run), KILLED);
	assert_int_equal(try_to(trace_parent), KILLED);
	assert_int_equal(try_to(read_parent), KILLED);
	assert_int_equal(try_to(signal_parent), KILLED);
}

TEST(test_rest)
{
	need_landlock();
	assert_int_equal(try_to(control), KILLED);
	assert_int_equal(try_to(ring), KILLED);
	assert_int_equal(try_to(write_elsewhere), KILLED);
	assert_int_equal(try_to(duplicate), KILLED);
	assert_int_equal(try_to(map_code), KILLED);
	assert_int_equal(try_to(make_code), KILLED);
}

TEST(test_work)
{
	need_landlock();
	assert_int_equal(try_to(write_answer), 0);
	assert_int_equal(try_to(map_memory), 0);
}

TEST(test_limits)
{
	int status, fd;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		(void)signal(SIGXFSZ, SIG_IGN);
		fd = memfd_create("test", 0);
		_exit(confine_limits(1 << 30) || write(fd, "x", 1) != -1 ||
		      errno != EFBIG);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}
