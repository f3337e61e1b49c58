/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/share/share.h"

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

#define READING (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define IN_CATALOG                                                      \
	(READING | LANDLOCK_ACCESS_FS_WRITE_FILE |                      \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |   \
	 LANDLOCK_ACCESS_FS_TRUNCATE)
#define HANDLED                                                         \
	(IN_CATALOG | LANDLOCK_ACCESS_FS_EXECUTE |                      \
	 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_CHAR | \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | \
	 LANDLOCK_ACCESS_FS_MAKE_SYM)

/* What the C library, OpenSSL and name services read. */
static const char *const system_places[] = {
	"/etc", "/usr",  "/lib",         "/lib64", "/run",
	"/dev", "/proc", "/var/lib/sss", "/opt",
};

/* What libpq reads at home, and the options that name files. */
static const char *const home_places[] = { ".pgpass", ".pg_service.conf",
					   ".postgresql" };
static const char *const file_options[] = { "passfile", "sslcert",
					    "sslkey",   "sslrootcert",
					    "sslcrl",   "sslcrldir" };
static const char *const variables[] = { "PGSERVICEFILE", "PGSYSCONFDIR",
					 "OPENSSL_CONF" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct confinement {
	int rules;
	uint64_t handled;
	int err; /* the first one */
};

/* A place that is not there is none. */
static void allow(struct confinement *c, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr where = { 0 };
	struct stat st;

	where.parent_fd = path ? open(path, O_PATH | O_CLOEXEC) : -1;
	if (where.parent_fd < 0)
		return;
	if (fstat(where.parent_fd, &st) || !S_ISDIR(st.st_mode))
		access &= LANDLOCK_ACCESS_FS_READ_FILE;
	where.allowed_access = access & c->handled;
	if (syscall(SYS_landlock_add_rule, c->rules, LANDLOCK_RULE_PATH_BENEATH,
		    &where, 0) &&
	    !c->err)
		c->err = -errno;
	(void)close(where.parent_fd);
}

/* libpq resolves services and variables when it starts to connect.  This
 * connection has no server: it is over at once. */
static void allow_files_of_libpq(struct confinement *c, const char *conninfo)
{
	const char *const names[] = { "dbname", "host", "hostaddr", NULL };
	const char *const values[] = { conninfo, "/dev/null", "", NULL };
	const char *home = getenv("HOME");
	PGconn *conn = PQconnectStartParams(names, values, 1);
	PQconninfoOption *all = conn ? PQconninfo(conn) : NULL, *o;
	struct buf path = { 0 };
	size_t i;

	for (o = all; o && o->keyword; o++)
		for (i = 0; i < COUNT(file_options); i++)
			if (o->val && *o->val &&
			    !strcmp(o->keyword, file_options[i]))
				allow(c, o->val, READING);
	for (i = 0; i < COUNT(variables); i++)
		allow(c, getenv(variables[i]), READING);
	for (i = 0; home && i < COUNT(home_places); i++) {
		buf_clear(&path);
		if (buf_append_format(&path, "%s/%s", home, home_places[i]))
			c->err = -ENOMEM;
		else
			allow(c, path.data, READING);
	}
	buf_release(&path);
	PQconninfoFree(all);
	PQfinish(conn);
}

static int restrict_files(const struct share_options *o)
{
	int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0,
			       LANDLOCK_CREATE_RULESET_VERSION);
	struct confinement c = { .handled = HANDLED };
	struct landlock_ruleset_attr attr = { 0 };
	size_t i;

	if (abi < 3)
		c.handled &= ~LANDLOCK_ACCESS_FS_TRUNCATE;
	attr.handled_access_fs = c.handled;
	c.rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr),
			       0);
	if (c.rules < 0)
		return -errno;
	for (i = 0; i < COUNT(system_places); i++)
		allow(&c, system_places[i], READING);
	allow_files_of_libpq(&c, o->conninfo);
	for (i = 0; i < o->catalog_count; i++)
		allow(&c, o->catalogs[i], IN_CATALOG);
	if (!c.err && syscall(SYS_landlock_restrict_self, c.rules, 0))
		c.err = -errno;
	(void)close(c.rules);
	return c.err;
}

int share_confine(const struct share_options *o)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };
	uint32_t keep = 0;
	struct stat st;
	size_t i;
	int err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	err = restrict_files(o);
	/* Root keeps the right to enter the directories of others' catalogs. */
	for (i = 0; i < o->catalog_count && !geteuid(); i++)
		if (stat(o->catalogs[i], &st) || st.st_uid)
			keep = 1U << CAP_DAC_OVERRIDE;
	sets[0].effective = sets[0].permitted = keep;
	if (syscall(SYS_capset, &head, sets) && !err)
		err = -errno;
	return err;
}
