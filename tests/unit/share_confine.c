/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/share.h"

#include "tests/support/remove_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What kin-share may do once it is confined: each attempt in a process of its
 * own, whose exit status is the errno. */

static char top[] = "/tmp/share_confine.XXXXXX";

/* Until the next but three. */
static char *join(const char *name)
{
	static char paths[4][128];
	static unsigned turn;
	char *path = paths[turn++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static void write_file(const char *path)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs("text", file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int make_files(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(mkdir(join("catalog"), 0700), 0);
	assert_int_equal(mkdir(join("home"), 0700), 0);
	write_file(join("outside"));
	write_file(join("catalog/file"));
	write_file(join("home/.pgpass"));
	assert_int_equal(chmod(join("home/.pgpass"), 0600), 0);
	write_file(join("home/secret"));
	write_file(join("root.pem"));
	assert_int_equal(setenv("HOME", join("home"), 1), 0);
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	remove_tree(top);
	return 0;
}

static int open_as(const char *path, int flags)
{
	return open(path, flags, 0600) < 0 ? errno : 0;
}

static int try_to(int (*attempt)(const char *path), const char *path)
{
	char conninfo[160];
	struct share_options o = { .conninfo = conninfo, .catalog_count = 1 };
	int status;
	pid_t pid;

	(void)snprintf(conninfo, sizeof(conninfo),
		       "dbname=x sslrootcert=%s/root.pem", top);
	o.catalogs[0] = join("catalog");
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(share_confine(&o) ? 255 : attempt(path));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int try_read(const char *path)
{
	return open_as(path, O_RDONLY);
}

static int try_write(const char *path)
{
	return open_as(path, O_WRONLY);
}

static int try_create(const char *path)
{
	return open_as(path, O_WRONLY | O_CREAT | O_EXCL);
}

static int try_truncate(const char *path)
{
	return truncate(path, 0) ? errno : 0;
}

static int try_remove(const char *path)
{
	return unlink(path) ? errno : 0;
}

static int try_mkdir(const char *path)
{
	return mkdir(path, 0700) ? errno : 0;
}

static int try_symlink(const char *path)
{
	return symlink("/etc", path) ? errno : 0;
}

static int try_run(const char *path)
{
	(void)execl(path, path, (char *)NULL);
	return errno;
}

static int count_capabilities(const char *path)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	(void)path;
	if (syscall(SYS_capget, &head, sets))
		return errno;
	return __builtin_popcount(sets[0].permitted | sets[0].effective) +
	       __builtin_popcount(sets[1].permitted | sets[1].effective);
}

static int has_privileges(const char *path)
{
	(void)path;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
}

static void need_landlock(void)
{
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 1)
		skip(); /* the kernel has no Landlock */
}

TEST(test_catalog)
{
	need_landlock();
	assert_int_equal(try_to(try_read, join("catalog/file")), 0);
	assert_int_equal(try_to(try_write, join("catalog/file")), 0);
	assert_int_equal(try_to(try_create, join("catalog/new")), 0);
	assert_int_equal(try_to(try_remove, join("catalog/new")), 0);
	assert_int_equal(try_to(try_symlink, join("catalog/link")), EACCES);
}

TEST(test_elsewhere)
{
	need_landlock();
	assert_int_equal(try_to(try_read, join("outside")), EACCES);
	assert_int_equal(try_to(try_read, join("home/secret")), EACCES);
	assert_int_equal(try_to(try_write, join("outside")), EACCES);
	assert_int_equal(try_to(try_create, join("new")), EACCES);
	assert_int_equal(try_to(try_remove, join("outside")), EACCES);
	assert_int_equal(try_to(try_mkdir, join("directory")), EACCES);
}

TEST(test_truncate)
{
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 3)
		skip(); /* the kernel's Landlock does not tell truncation */
	assert_int_equal(try_to(try_truncate, join("outside")), EACCES);
	assert_int_equal(try_to(try_truncate, join("catalog/file")), 0);
}

TEST(test_libpq)
{
	need_landlock();
	assert_int_equal(try_to(try_read, join("home/.pgpass")), 0);
	assert_int_equal(try_to(try_write, join("home/.pgpass")), EACCES);
	assert_int_equal(try_to(try_read, join("root.pem")), 0);
	assert_int_equal(try_to(try_read, "/etc/passwd"), 0);
}

TEST(test_programs)
{
	need_landlock();
	assert_int_equal(try_to(try_run, "/bin/true"), EACCES);
}

TEST(test_privileges)
{
	assert_int_equal(try_to(has_privileges, NULL), 0);
	assert_int_equal(try_to(count_capabilities, NULL), 0);
}

int main(void)
{
	return test_run(make_files, remove_files);
}
