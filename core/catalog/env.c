/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/base/bytes.h"
#include "core/base/xxh3.h"

/* More than any data file will have, as the map cannot grow while transactions
 * are open; memory is used for what is read alone.  The small one is for a
 * process whose address space is limited. */
#define MAP_BYTES ((size_t)1 << 36)
#define MAP_BYTES_SMALL ((size_t)1 << 30)
#define READERS_MAX 1024

uint64_t catalog_bytes(const struct catalog *c)
{
	return atomic_load(&c->file_bytes);
}

/* ---- the root ---- */

/* The number of the filesystem, then the key. */
enum { ROOT_HEAD = 8 };

static int root_get(struct catalog_txn *txn, struct file_key *out,
		    uint64_t *filesystem_out)
{
	MDB_val value, key;
	int err = txn_get(txn, DB_META, ROOT_KEY, &value);

	if (err)
		return err;
	if (value.mv_size < ROOT_HEAD)
		return -EUCLEAN;
	*filesystem_out = load_le64(value.mv_data);
	key = (MDB_val){ value.mv_size - ROOT_HEAD,
			 (uint8_t *)value.mv_data + ROOT_HEAD };
	return file_key_decode(&key, out);
}

int catalog_root(struct catalog_txn *txn, struct file_key *out)
{
	uint64_t filesystem;

	return root_get(txn, out, &filesystem);
}

static int root_put(struct catalog_txn *txn)
{
	const struct catalog *c = txn->catalog;
	struct record_key key = key_of_file(&c->root);
	uint8_t value[ROOT_HEAD + FILE_KEY_BYTES_MAX];

	store_le64(value, c->filesystem);
	memcpy(value + ROOT_HEAD, key.bytes, key.len);
	return txn_put(txn, DB_META, ROOT_KEY, value, ROOT_HEAD + key.len);
}

int root_settle(struct catalog *c)
{
	struct file_record record;
	struct catalog_txn *txn;
	struct file_key former;
	uint64_t filesystem;
	int err = catalog_read(c, &txn);
	bool differs;

	if (err)
		return err;
	err = root_get(txn, &former, &filesystem);
	catalog_abort(txn);
	differs = !err && !file_key_equal(&former, &c->root);
	if (err ? err != -ENOENT : !differs && filesystem == c->filesystem)
		return err;
	err = catalog_write(c, &txn);
	if (err)
		return err;
	if (differs)
		err = catalog_file_get(txn, &former, &record) ?:
			      catalog_take_place(txn, &c->root, &former);
	if (!err || err == -ENOENT)
		err = root_put(txn);
	if (!err)
		err = catalog_commit(txn, NULL);
	else
		catalog_abort(txn);
	return err == -ENOSPC ? 0 : err; /* the next process does it */
}

/* ---- the tables ---- */

static uint64_t key_sum(const struct catalog *c)
{
	return XXH3_64bits(&c->key, sizeof(c->key));
}

static int meta_create(struct catalog_txn *txn)
{
	struct catalog *c = txn->catalog;
	struct catalog_meta m = { .magic = META_MAGIC,
				  .version = CATALOG_VERSION,
				  .digest_set = c->digest_set,
				  .next_content = atomic_load(&c->next_content),
				  .key_sum = key_sum(c) };

	return meta_put(txn, &m);
}

/* Another filesystem; inode numbers that are made up have a device. */
static bool has_moved(const struct catalog *c, uint64_t filesystem,
		      const struct file_key *root)
{
	return filesystem != c->filesystem && !(root->device && c->root.device);
}

static int meta_check(struct catalog_txn *txn)
{
	struct catalog *c = txn->catalog;
	struct catalog_meta m;
	struct file_key root;
	uint64_t filesystem;
	MDB_stat untold;
	int err = meta_get(txn, &m);

	if (!err)
		err = txn_stat(txn, DB_UNTOLD, &untold);
	if (err)
		return err;
	atomic_store(&c->next_content, m.next_content);
	atomic_store(&c->pending_texts, m.pending_texts);
	atomic_store(&c->untold_texts, untold.ms_entries);
	if (m.digest_set != c->digest_set || m.key_sum != key_sum(c))
		return -ESTALE;
	err = c->root.inode ? root_get(txn, &root, &filesystem) : -ENOENT;
	if (err)
		return err == -ENOENT ? 0 : err;
	return has_moved(c, filesystem, &root) ? -ESTALE : 0;
}

/* Stores the path of the source if it is another one than before. */
static int source_put(struct catalog_txn *txn, bool *writes)
{
	const char *source = txn->catalog->source;
	const size_t len = strlen(source);
	MDB_val old;
	int err = txn_get(txn, DB_META, SOURCE_KEY, &old);

	if (!err && old.mv_size == len && !memcmp(old.mv_data, source, len))
		return 0;
	*writes = true;
	return err && err != -ENOENT ?
		       err :
		       txn_put(txn, DB_META, SOURCE_KEY, source, len);
}

/* Without tables the file is new, or the process that made it was killed before
 * its first commit.  The seal stays if there is nothing to write. */
int env_open_tables(struct catalog *c, bool follows)
{
	struct catalog_txn txn = { .catalog = c };
	bool writes = false;
	MDB_stat st;
	int i, err = catalog_errno(mdb_txn_begin(
		       c->env, NULL, follows ? MDB_RDONLY : 0, &txn.mdb));

	if (err)
		return err;
	err = catalog_errno(mdb_env_stat(c->env, &st));
	if (!err)
		writes = !follows && st.ms_entries == 0;
	for (i = 0; !err && i < DB_COUNT; i++)
		err = catalog_errno(mdb_dbi_open(txn.mdb, catalog_db_names[i],
						 writes ? MDB_CREATE : 0,
						 &c->dbs[i]));
	if (err == -ENOENT) /* an LMDB file of another program */
		err = -EUCLEAN;
	if (!err && !follows)
		err = (writes ? meta_create(&txn) : meta_check(&txn)) ?:
			      source_put(&txn, &writes);
	if (!err && writes && !st.ms_entries)
		err = text_put_version(&txn);
	if (!err && writes && !st.ms_entries && c->root.inode)
		err = root_put(&txn);
	if (!err && writes)
		err = catalog_unseal(c);
	buf_release(&txn.found);
	/* LMDB closes the tables if the transaction is aborted. */
	if (err)
		mdb_txn_abort(txn.mdb);
	else
		err = catalog_commit_errno(c, mdb_txn_commit(txn.mdb));
	return err;
}

/* ---- the guard ---- */

/*
 * Reading LMDB's map without dying of it.
 *
 * The map is the data file itself.  Where the kernel cannot read the file, an
 * access to the map raises SIGBUS: a bad block of the disk, or a file that
 * another program has cut short.  Where a page is not as LMDB wrote it, because
 * another program has overwritten it or the disk returns something else, LMDB
 * follows wrong offsets: it reads what is not mapped (SIGSEGV), or finds a
 * contradiction, for which it would abort().  Each would end the process, and
 * with it the mount.  So every access to the map is in a guarded section,
 * GUARDED(), and all three jump back to where the section was entered.
 *
 * Not so SIGSEGV in a section that writes, GUARDED_WRITE(): LMDB changes copies
 * of pages in memory, and by wrong offsets it may have changed other memory
 * before.  The process ends; the next one inspects the file and sets it aside.
 *
 * These signals outside of a section, or sent by a process, have the effect
 * that they had before guard_install(): as a rule the process dies and dumps
 * core.
 */

/* The innermost section of this thread. */
static _Thread_local struct map_guard *volatile innermost;

/* The actions of the signals before guard_install(). */
static struct sigaction before_bus, before_segv;

static void jump_back(struct map_guard *g)
{
	innermost = g->outer;
	siglongjmp(g->back, 1);
}

/* If the handler returns, the instruction that failed is repeated, and fails
 * again with the action from before.  A signal that was sent is not repeated by
 * itself. */
static void on_fault(int number, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;
	struct map_guard *g = innermost;

	if (g && info->si_code > 0 && /* of the kernel, not sent */
	    (number == SIGBUS || !g->writes)) {
		/* The jump does not restore what is blocked. */
		(void)pthread_sigmask(SIG_SETMASK, &interrupted->uc_sigmask,
				      NULL);
		jump_back(g);
	}
	(void)sigaction(number, number == SIGBUS ? &before_bus : &before_segv,
			NULL);
	if (info->si_code <= 0)
		(void)raise(number);
}

/* LMDB has found a contradiction; it aborts the process after this returns. */
static void on_assert(MDB_env *env, const char *message)
{
	(void)env;
	(void)message;
	if (innermost)
		jump_back(innermost);
}

static void guard_signal(int number, struct sigaction *before)
{
	const struct sigaction action = { .sa_sigaction = on_fault,
					  .sa_flags = SA_SIGINFO };
	struct sigaction now = { 0 };

	(void)sigaction(number, NULL, &now);
	if (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != on_fault)
		(void)sigaction(number, &action, before);
}

/* If it is not set. */
static void guard_install(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	(void)pthread_mutex_lock(&lock);
	guard_signal(SIGBUS, &before_bus);
	guard_signal(SIGSEGV, &before_segv);
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

/* ---- the environment ---- */

static int open_mapped(struct catalog *c, size_t map_bytes, unsigned flags)
{
	int err = catalog_errno(mdb_env_set_maxdbs(c->env, DB_COUNT));

	if (!err && !(flags & MDB_RDONLY))
		err = catalog_errno(
			mdb_env_set_maxreaders(c->env, READERS_MAX));
	if (!err)
		err = catalog_errno(mdb_env_set_mapsize(c->env, map_bytes));
	if (!err)
		err = catalog_errno(mdb_env_set_assert(c->env, on_assert));
	if (!err)
		err = catalog_errno(
			mdb_env_open(c->env, c->directory,
				     flags | MDB_NOTLS | MDB_NORDAHEAD, 0600));
	return err;
}

int env_map(struct catalog *c, unsigned flags)
{
	static const size_t sizes[] = { MAP_BYTES, MAP_BYTES_SMALL };
	int i, err = -ENOMEM;

	guard_install();
	for (i = 0; i < 2 && err == -ENOMEM; i++) {
		err = catalog_errno(mdb_env_create(&c->env));
		if (err)
			break;
		GUARDED(c, err, open_mapped(c, sizes[i], flags));
		if (err)
			env_close(c);
	}
	return err;
}

int env_open(struct catalog *c)
{
	struct stat st = { 0 };
	int err;

	if (fstatat(c->dir, CATALOG_DATA_FILE, &st, 0) && errno != ENOENT)
		return -errno;
	c->packed = (size_t)st.st_size;
	atomic_store(&c->lost, false);
	err = env_map(c, 0);
	if (!err) {
		GUARDED(c, err, env_open_tables(c, false));
		atomic_store(&c->file_bytes, env_file_bytes(c));
	}
	if (err)
		env_close(c);
	/* On a full disk a new file may be incomplete; it must not be taken for
	 * a damaged one. */
	if (err && st.st_size == 0)
		(void)unlinkat(c->dir, CATALOG_DATA_FILE, 0);
	return err;
}

uint64_t env_file_bytes(const struct catalog *c)
{
	struct stat st;
	int fd;

	if (mdb_env_get_fd(c->env, &fd) || fstat(fd, &st))
		return 0;
	return (uint64_t)st.st_size;
}

int catalog_lose(struct catalog *c)
{
	atomic_store(&c->lost, true);
	catalog_found_damage(c);
	return -EUCLEAN;
}

/* For tools that look for memory that nothing refers to. */
static void keep_for_ever(MDB_env *env)
{
	static MDB_env *_Atomic kept[64];
	static atomic_uint count;

	atomic_store(&kept[atomic_fetch_add(&count, 1) % 64], env);
}

static int close_mapped(MDB_env *env)
{
	mdb_env_close(env);
	return 0;
}

void env_close(struct catalog *c)
{
	int err = 0;

	if (c->env && !atomic_load(&c->lost))
		GUARDED(c, err, close_mapped(c->env));
	if (c->env && atomic_load(&c->lost))
		keep_for_ever(c->env);
	c->env = NULL;
	(void)err;
}

/* ---- memory ---- */

/* LMDB does not tell where its map is: an address in it is that of a record. */
int catalog_trim_rss(struct catalog *c)
{
	struct record_key meta = META_KEY;
	MDB_val key = { meta.len, meta.bytes }, value = { 0 };
	uintptr_t begin, end, at;
	struct catalog_txn *txn;
	FILE *maps = NULL;
	char *line = NULL;
	size_t room = 0;
	int err = catalog_read(c, &txn);

	if (err)
		return err;
	GUARDED(c, err,
		catalog_errno(
			mdb_get(txn->mdb, c->dbs[DB_META], &key, &value)));
	at = (uintptr_t)value.mv_data;
	if (!err) {
		maps = fopen("/proc/self/maps", "re");
		err = maps ? -ENOENT : -errno;
	}
	/* By whole lines, as a part of a path may look like a range. */
	while (err == -ENOENT && maps && getline(&line, &room, maps) > 0)
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 &&
		    begin <= at && at < end)
			err = madvise((void *)begin, end - begin,
				      MADV_DONTNEED) ?
				      -errno :
				      0;
	if (maps)
		(void)fclose(maps);
	free(line);
	catalog_abort(txn);
	return err;
}
