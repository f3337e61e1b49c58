/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/inode/cache.h"

#include <fuse_lowlevel.h>
#include <time.h>

#include "core/base/clock.h"
#include "fs/fs.h"
#include "fs/inode/inode.h"

/* ---- attributes ---- */

int64_t cache_clock_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}

int64_t cache_recent_ns(const struct fs *fs)
{
	double half_ns = fs->options.timeout_s * 5e8;
	int64_t now = cache_clock_ns();

	if (half_ns <= 0)
		return INT64_MAX;
	return half_ns < (double)now ? now - (int64_t)half_ns : 1;
}

double cache_attr_timeout(const struct fs *fs, const struct inode *inode,
			  const struct stat *st)
{
	bool setid = st->st_mode & (S_ISUID | S_ISGID);
	bool changes = S_ISREG(st->st_mode) &&
		       (atomic_load(&inode->mappers) ||
			(setid && atomic_load(&inode->writers)));

	return changes ? 0 : fs->options.timeout_s;
}

/* With a negative offset the kernel invalidates the attributes and no pages,
 * and takes no lock that a request may hold. */
int cache_forget_attributes(struct fs *fs, struct inode *inode)
{
	return fuse_lowlevel_notify_inval_inode(fs->session, node_of(fs, inode),
						-1, 0);
}

/* ---- pages ---- */

bool cache_keeps_pages(struct fs *fs, struct inode *inode,
		       const struct stat *st)
{
	struct open_seen now = {
		.size = st->st_size,
		.mtime_ns = timespec_to_ns(&st->st_mtim),
		.ctime_ns = timespec_to_ns(&st->st_ctim),
	};
	int64_t clock = clock_ns(CLOCK_REALTIME_COARSE);
	bool good;

	inode_lock(fs, inode);
	good = inode->seen.ctime_ns && now.size == inode->seen.size &&
	       now.mtime_ns == inode->seen.mtime_ns &&
	       now.ctime_ns == inode->seen.ctime_ns;
	if (clock - now.ctime_ns < CLOCK_GRAIN_NS)
		now.ctime_ns = 0;
	inode->seen = now;
	inode_unlock(fs, inode);
	return good;
}

void cache_forget_pages(struct fs *fs, struct inode *inode)
{
	inode_lock(fs, inode);
	inode->seen.ctime_ns = 0;
	inode_unlock(fs, inode);
}

/* ---- listings ---- */

void cache_count_lookup(const struct fs *fs, struct inode *dir)
{
	if (atomic_load(&dir->lookups_since_ns) < cache_recent_ns(fs)) {
		atomic_store(&dir->lookups, 0);
		atomic_store(&dir->lookups_since_ns, cache_clock_ns());
	}
	atomic_fetch_add(&dir->lookups, 1);
}

/* Whether the kernel has the attributes of most names: they were cached for long
 * when the listing was read, or it has looked them up recently. */
static bool has_most_attributes(const struct fs *fs, const struct inode *dir)
{
	unsigned half = atomic_load(&dir->listed) / 2;

	return atomic_load(&dir->listed_kept) > half ||
	       (atomic_load(&dir->lookups_since_ns) >= cache_recent_ns(fs) &&
		atomic_load(&dir->lookups) > half);
}

bool cache_keeps_listing(struct fs *fs, struct inode *inode,
			 const struct stat *st)
{
	struct open_seen *seen = &inode->seen;
	int64_t ctime_ns = timespec_to_ns(&st->st_ctim);
	int64_t now = clock_ns(CLOCK_REALTIME_COARSE);
	bool good;

	inode_lock(fs, inode);
	good = seen->ctime_ns == ctime_ns &&
	       seen->mtime_ns == timespec_to_ns(&st->st_mtim) &&
	       now >= seen->filled_ns;
	if (good &&
	    (double)(now - seen->filled_ns) >= fs->options.timeout_s * 1e9)
		/* A filesystem may count in whole seconds, and two changes
		 * within one have the same time then. */
		good = ctime_ns % 1000000000 != 0 &&
		       has_most_attributes(fs, inode);
	if (!good) {
		atomic_store(&inode->listed, 0);
		atomic_store(&inode->listed_kept, 0);
		seen->ctime_ns = now - ctime_ns < CLOCK_GRAIN_NS ? 0 : ctime_ns;
		seen->mtime_ns = timespec_to_ns(&st->st_mtim);
		seen->filled_ns = now;
	}
	inode_unlock(fs, inode);
	return good;
}
