/* SPDX-License-Identifier: Apache-2.0 */
#include "core/source/filesystem.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <xxhash.h>

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U /* Linux 6.8 */
#endif

/* ---- types ---- */

/* Local filesystems with a ctime.  The numbers are from <linux/magic.h> or from
 * the filesystem's sources.  has_id: f_fsid of statfs(2) is made of a number on
 * the disk; that of others is the number of the device. */
struct type {
	uint32_t number;
	enum inode_numbers inodes;
	bool has_id;
};

static const struct type types[] = {
	{ 0xef53, NUMBERS_KEPT, true },      /* ext2, ext3, ext4 */
	{ 0x58465342, NUMBERS_KEPT, false }, /* XFS */
	{ 0x9123683e, NUMBERS_KEPT, true },  /* btrfs */
	{ 0x01021994, NUMBERS_KEPT, false }, /* tmpfs */
	{ 0x858458f6, NUMBERS_KEPT, false }, /* ramfs */
	{ 0xf2f52010, NUMBERS_KEPT, false }, /* F2FS */
	{ 0xca451a4e, NUMBERS_KEPT, true },  /* bcachefs */
	{ 0x2fc12fc1, NUMBERS_KEPT, true },  /* ZFS */
	{ 0x3153464a, NUMBERS_KEPT, false }, /* JFS */
	{ 0x52654973, NUMBERS_KEPT, false }, /* ReiserFS */
	{ 0x3434, NUMBERS_KEPT, false },     /* NILFS2 */
	{ 0x24051905, NUMBERS_KEPT, true },  /* UBIFS */
	{ 0x7366746e, NUMBERS_KEPT, false }, /* NTFS, by ntfs3 */
	{ 0x482b, NUMBERS_KEPT, false },     /* HFS+ */
	/* The number is that of a layer, or counted. */
	{ 0x794c7630, NUMBERS_MADE_UP, false },  /* overlayfs */
	{ 0x73717368, NUMBERS_OF_IMAGE, false }, /* squashfs */
	{ 0xe0f5e1e2, NUMBERS_OF_IMAGE, false }, /* EROFS */
	{ 0x9660, NUMBERS_OF_IMAGE, false },     /* ISO 9660 */
	{ 0x15013346, NUMBERS_OF_IMAGE, false }, /* UDF */
};

static const struct type *find_type(uint64_t number)
{
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((uint32_t)number == types[i].number)
			return &types[i];
	return NULL;
}

struct filesystem filesystem_of_type(uint64_t number)
{
	const struct type *t = find_type(number);

	if (!t)
		return (struct filesystem){ TIMES_DOUBTFUL, NUMBERS_MADE_UP,
					    0 };
	return (struct filesystem){ TIMES_OWN, t->inodes, 0 };
}

/* ---- ids ---- */

static uint64_t mix(uint64_t id, const void *bytes, size_t len)
{
	return XXH3_64bits_withSeed(bytes, len, id);
}

static uint64_t mix_birth(uint64_t id, const struct statx *st)
{
	const int64_t birth[] = { st->stx_btime.tv_sec, st->stx_btime.tv_nsec };

	return st->stx_mask & STATX_BTIME ? mix(id, birth, sizeof(birth)) : id;
}

static ssize_t read_text(const char *path, char *out, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, room - 1);

	if (fd >= 0)
		close(fd);
	while (n > 0 && out[n - 1] == '\n')
		n--;
	out[n > 0 ? n : 0] = '\0';
	return n;
}

/* Of the mount that fd is on. */
static uint64_t id_of_mount(int fd)
{
	char boot[64];
	struct statx st;
	uint64_t id = 0;

	if (!statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID_UNIQUE, &st) &&
	    st.stx_mask & STATX_MNT_ID_UNIQUE &&
	    read_text("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)) >
		    0)
		id = mix(mix(0, boot, strlen(boot)), &st.stx_mnt_id,
			 sizeof(st.stx_mnt_id));
	else
		(void)!getrandom(&id, sizeof(id), 0);
	return id;
}

/* The file of a loop device.  False: the device is another one. */
static bool stat_image(dev_t device, struct statx *out)
{
	char link[96], path[PATH_MAX];

	(void)snprintf(link, sizeof(link),
		       "/sys/dev/block/%u:%u/loop/backing_file", major(device),
		       minor(device));
	return read_text(link, path, sizeof(path)) > 0 &&
	       !statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, out);
}

/* whole: in that state of the file, which nobody writes to. */
static uint64_t mix_image(uint64_t id, const struct statx *st, bool whole)
{
	const uint64_t state[] = {
		st->stx_size,          (uint64_t)st->stx_mtime.tv_sec,
		st->stx_mtime.tv_nsec, (uint64_t)st->stx_ctime.tv_sec,
		st->stx_ctime.tv_nsec,
	};

	id = mix_birth(mix(id, &st->stx_ino, sizeof(st->stx_ino)), st);
	return whole ? mix(id, state, sizeof(state)) : id;
}

static struct filesystem find_filesystem(int fd, dev_t device)
{
	struct filesystem found = filesystem_of_type(0);
	const struct type *t = NULL;
	struct statfs fs;
	struct statx image;
	bool known = false;

	if (!fstatfs(fd, &fs)) {
		found = filesystem_of_type((uint64_t)fs.f_type);
		t = find_type((uint64_t)fs.f_type);
	}
	found.id = (uint64_t)found.numbers;
	if (found.numbers == NUMBERS_KEPT) {
		found.id = mix(found.id, &t->number, sizeof(t->number));
		if (t->has_id)
			found.id = mix(found.id, &fs.f_fsid, sizeof(fs.f_fsid));
		known = true;
	}
	if (found.numbers != NUMBERS_MADE_UP && stat_image(device, &image)) {
		found.id = mix_image(found.id, &image,
				     found.numbers == NUMBERS_OF_IMAGE ||
					     fs.f_flags & ST_RDONLY);
		known = true;
	}
	if (!known)
		found.id += id_of_mount(fd);
	return found;
}

struct filesystem filesystem_of_root(int fd)
{
	struct filesystem found;
	struct statx st = { 0 };

	(void)statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st);
	found = find_filesystem(fd,
				makedev(st.stx_dev_major, st.stx_dev_minor));
	if (found.numbers == NUMBERS_KEPT)
		found.id = mix_birth(found.id, &st);
	return found;
}

/* ---- below SOURCE ---- */

/* Those that were found since something was mounted or unmounted last.  If
 * there are more, the first are found again. */
static struct {
	pthread_mutex_t lock; /* guards the fields */
	int mounts;           /* /proc/self/mountinfo; 0: not opened yet */
	size_t count;
	struct {
		dev_t device;
		struct filesystem filesystem;
	} all[64];
} below = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void forget_unmounted_locked(void)
{
	struct pollfd mounts = { .events = POLLPRI };

	if (below.mounts <= 0)
		below.mounts =
			open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	mounts.fd = below.mounts;
	if (below.mounts < 0 || poll(&mounts, 1, 0) != 0)
		below.count = 0;
}

static bool find_kept(dev_t device, struct filesystem *out)
{
	size_t i;

	pthread_mutex_lock(&below.lock);
	forget_unmounted_locked();
	for (i = 0; i < below.count && below.all[i].device != device; i++)
		;
	if (i < below.count)
		*out = below.all[i].filesystem;
	pthread_mutex_unlock(&below.lock);
	return i < below.count;
}

static void keep(dev_t device, const struct filesystem *found)
{
	const size_t most = sizeof(below.all) / sizeof(below.all[0]);
	size_t at;

	pthread_mutex_lock(&below.lock);
	forget_unmounted_locked();
	at = below.count % most;
	below.all[at].device = device;
	below.all[at].filesystem = *found;
	below.count = at + 1;
	pthread_mutex_unlock(&below.lock);
}

struct filesystem filesystem_of_entry(int fd, const char *name, dev_t device)
{
	struct filesystem found;
	struct stat st;
	int own = -1;

	if (find_kept(device, &found))
		return found;
	if (*name)
		own = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	found = find_filesystem(*name ? own : fd, device);
	found.id = mix(found.id, &device, sizeof(device));
	/* Another entry may have taken the name. */
	if (!fstat(*name ? own : fd, &st) && st.st_dev == device)
		keep(device, &found);
	if (own >= 0)
		close(own);
	return found;
}
