/* SPDX-License-Identifier: Apache-2.0 */

#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Changes single records of a catalog that nobody has open, behind the back
 * of everything that keeps them consistent, and breaks its seal, so that it
 * looks as if the daemon had done so and was killed.
 *
 *   spoil DIR drop TABLE N         deletes the Nth record, from 0
 *   spoil DIR flip TABLE N OFFSET  changes a byte of its value
 *   spoil DIR nameless NAME        deletes a name, not the file
 */

static MDB_env *env;
static MDB_txn *txn;

static void must(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "spoil: %s: %s\n", what, mdb_strerror(rc));
	exit(1);
}

static MDB_dbi table(const char *name)
{
	MDB_dbi dbi;

	must(mdb_dbi_open(txn, name, 0, &dbi), name);
	return dbi;
}

static void find(MDB_dbi dbi, long n, MDB_cursor **cursor, MDB_val *key,
		 MDB_val *value)
{
	MDB_cursor_op op = MDB_FIRST;

	must(mdb_cursor_open(txn, dbi, cursor), "cursor");
	do {
		must(mdb_cursor_get(*cursor, key, value, op), "no such record");
		op = MDB_NEXT;
	} while (n--);
}

static void drop(const char *name, long n)
{
	MDB_cursor *cursor;
	MDB_val key, value;

	find(table(name), n, &cursor, &key, &value);
	must(mdb_cursor_del(cursor, 0), "delete");
	mdb_cursor_close(cursor);
}

static void flip(const char *name, long n, long offset)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	char *copy;

	find(table(name), n, &cursor, &key, &value);
	if (offset < 0 || (size_t)offset >= value.mv_size)
		must(MDB_BAD_VALSIZE, "offset");
	copy = malloc(value.mv_size);
	if (!copy)
		exit(1);
	memcpy(copy, value.mv_data, value.mv_size);
	copy[offset] ^= 1;
	value.mv_data = copy;
	must(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT), "write");
	mdb_cursor_close(cursor);
	free(copy);
}

/* The names of both directions end with the name itself. */
static void nameless(const char *name)
{
	const char *const tables[] = { "names", "links" };
	size_t len = strlen(name);
	int i;

	for (i = 0; i < 2; i++) {
		MDB_cursor_op op = MDB_FIRST;
		MDB_cursor *cursor;
		MDB_val key, value;

		must(mdb_cursor_open(txn, table(tables[i]), &cursor), "cursor");
		do {
			must(mdb_cursor_get(cursor, &key, &value, op), name);
			op = MDB_NEXT;
		} while (key.mv_size < len ||
			 memcmp((char *)key.mv_data + key.mv_size - len, name,
				len) != 0);
		must(mdb_cursor_del(cursor, 0), "delete");
		mdb_cursor_close(cursor);
	}
}

static void break_seal(const char *directory)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/sealed", directory);
	(void)unlink(path);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	break_seal(argv[1]);
	must(mdb_env_create(&env), "environment");
	must(mdb_env_set_maxdbs(env, 16), "environment");
	must(mdb_env_set_mapsize(env, (size_t)1 << 30), "environment");
	must(mdb_env_open(env, argv[1], 0, 0600), argv[1]);
	must(mdb_txn_begin(env, NULL, 0, &txn), "begin");
	if (!strcmp(argv[2], "drop") && argc == 5)
		drop(argv[3], atol(argv[4]));
	else if (!strcmp(argv[2], "flip") && argc == 6)
		flip(argv[3], atol(argv[4]), atol(argv[5]));
	else if (!strcmp(argv[2], "nameless") && argc == 4)
		nameless(argv[3]);
	else
		return 2;
	must(mdb_txn_commit(txn), "commit");
	mdb_env_close(env);
	return 0;
}
