/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <libpq-fe.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/landlock.h"
#include "core/share/share.h"

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

#define IN_CATALOG                                                      \
	(LANDLOCK_READ | LANDLOCK_ACCESS_FS_WRITE_FILE |                \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |   \
	 LANDLOCK_ACCESS_FS_TRUNCATE)

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

/* libpq resolves services and variables when it starts to connect.  This
 * connection has no server: it is over at once. */
static void allow_files_of_libpq(struct landlock *l, const char *conninfo)
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
				landlock_allow(l, o->val, LANDLOCK_READ);
	for (i = 0; i < COUNT(variables); i++)
		landlock_allow(l, getenv(variables[i]), LANDLOCK_READ);
	for (i = 0; home && i < COUNT(home_places); i++) {
		buf_clear(&path);
		if (buf_append_format(&path, "%s/%s", home, home_places[i]))
			l->err = -ENOMEM;
		else
			landlock_allow(l, path.data, LANDLOCK_READ);
	}
	buf_release(&path);
	PQconninfoFree(all);
	PQfinish(conn);
}

static int restrict_files(const struct share_options *o)
{
	struct landlock l;
	size_t i;
	int err = landlock_begin(&l, false);

	if (err)
		return err;
	for (i = 0; i < COUNT(system_places); i++)
		landlock_allow(&l, system_places[i], LANDLOCK_READ);
	allow_files_of_libpq(&l, o->conninfo);
	for (i = 0; i < o->catalog_count; i++)
		landlock_allow(&l, o->catalogs[i], IN_CATALOG);
	return landlock_end(&l);
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
