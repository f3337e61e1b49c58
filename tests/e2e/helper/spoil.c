/* SPDX-License-Identifier: Apache-2.0 */

#include <lmdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/*
 * spoil DIR TABLE N OFFSET
 *
 * Changes a byte in the value of the Nth record, from 0, of a catalog that
 * nobody has open, and its sum too, and breaks the seal: as if the daemon had
 * written that and was killed.  With OFFSET -1 the sum alone becomes wrong.
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

static void spoil(MDB_dbi dbi, long n, long offset)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	uint8_t *copy;
	uint16_t sum;
	size_t len;

	find(dbi, n, &cursor, &key, &value);
	len = value.mv_size - 2;
	if (offset >= (long)len)
		must(MDB_BAD_VALSIZE, "offset");
	copy = malloc(value.mv_size);
	if (!copy)
		exit(1);
	memcpy(copy, value.mv_data, value.mv_size);
	if (offset >= 0)
		copy[offset] ^= 1;
	sum = (uint16_t)(XXH3_64bits(key.mv_data, key.mv_size) +
			 XXH3_64bits(copy, len));
	if (offset < 0)
		sum ^= 1;
	copy[len] = (uint8_t)sum;
	copy[len + 1] = (uint8_t)(sum >> 8);
	value.mv_data = copy;
	must(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT), "write");
	mdb_cursor_close(cursor);
	free(copy);
}

int main(int argc, char **argv)
{
	char path[4096];
	MDB_dbi dbi;

	if (argc != 5)
		return 2;
	(void)snprintf(path, sizeof(path), "%s/sealed", argv[1]);
	(void)unlink(path);
	must(mdb_env_create(&env), "environment");
	must(mdb_env_set_maxdbs(env, 32), "environment");
	must(mdb_env_set_mapsize(env, (size_t)1 << 30), "environment");
	must(mdb_env_open(env, argv[1], 0, 0600), argv[1]);
	must(mdb_txn_begin(env, NULL, 0, &txn), "begin");
	must(mdb_dbi_open(txn, argv[2], 0, &dbi), argv[2]);
	spoil(dbi, atol(argv[3]), atol(argv[4]));
	must(mdb_txn_commit(txn), "commit");
	mdb_env_close(env);
	return 0;
}
