/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/inode.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fs/fs.h"
#include "fs/reopen.h"

#define DEVICE_SHIFT 48
#define DEVICES_MAX 0x7fff /* bits 48..62 */

/* ---- how many ---- */

/* What the kernel has room for in one process; 0 when it does not say. */
static rlim_t kernel_limit(void)
{
	char text[32] = "";
	FILE *f = fopen("/proc/sys/fs/nr_open", "re");

	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	(void)fclose(f);
	return strtoul(text, NULL, 10);
}

unsigned descriptors_raise(void)
{
	rlim_t most = kernel_limit();
	struct rlimit limit;
	struct rlimit more;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 1024;
	more = limit;
	if (more.rlim_max < most)
		more.rlim_max = most;
	more.rlim_cur = more.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &more) == 0)
		return (unsigned)more.rlim_cur;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	return (unsigned)limit.rlim_cur;
}

void descriptors_reserve(int fd, unsigned count)
{
	int last = fcntl(fd, F_DUPFD_CLOEXEC, (int)count - 1);

	if (last >= 0)
		close(last);
}

/* ---- descriptors ---- */

/* Of a handle, which reaches the file even when its name is gone. */
static int handle_dup(struct fs *fs, struct inode *inode)
{
	int fd = -ENOENT;

	inode_lock(fs, inode);
	if (inode->handles && inode->handles->fd >= 0) {
		fd = fcntl(inode->handles->fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			fd = -errno;
	}
	inode_unlock(fs, inode);
	return fd;
}

int inode_path_fd(struct fs *fs, struct inode *inode, struct path_fd *out)
{
	int fd;

	if (inode->fd >= 0) {
		out->fd = inode->fd;
		out->owned = false;
		return 0;
	}
	fd = handle_dup(fs, inode);
	if (fd == -ENOENT)
		fd = reopen_open(fs, inodes_reopener(fs), inode);
	if (fd < 0)
		return fd;
	out->fd = fd;
	out->owned = true;
	return 0;
}

void path_fd_close(struct path_fd *p)
{
	if (p->owned)
		close(p->fd);
	p->fd = -1;
	p->owned = false;
}

int fd_paths_enable(void)
{
	return chdir("/proc/self/fd") == 0 ? 0 : -errno;
}

void fd_path_make(int fd, struct fd_path *out)
{
	snprintf(out->text, sizeof(out->text), "%d", fd);
}

int fd_reopen(int fd, int flags)
{
	struct fd_path path;
	int again;

	fd_path_make(fd, &path);
	again = open(path.text, flags | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

/* "." is found faster, and needs search permission. */
int directory_reopen(int fd)
{
	enum { FLAGS = O_RDONLY | O_DIRECTORY };
	int again = openat(fd, ".", FLAGS | O_CLOEXEC);

	return again < 0 ? fd_reopen(fd, FLAGS) : again;
}

/* ---- numbers ---- */

/* The devices below SOURCE in the order they were met; never shrinks.  One
 * process has one mount. */
static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static dev_t devices[DEVICES_MAX];
static atomic_uint device_count;

static unsigned device_search(dev_t dev, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (devices[i] == dev)
			return i + 1;
	return 0;
}

/* 1.. */
static unsigned device_ordinal(dev_t dev)
{
	unsigned ordinal = device_search(dev, atomic_load(&device_count));
	unsigned count;

	if (ordinal)
		return ordinal;
	pthread_mutex_lock(&device_lock);
	count = atomic_load(&device_count);
	ordinal = device_search(dev, count);
	if (!ordinal && count < DEVICES_MAX) {
		devices[count] = dev;
		atomic_store(&device_count, count + 1);
		ordinal = count + 1;
	}
	pthread_mutex_unlock(&device_lock);
	return ordinal ? ordinal : DEVICES_MAX;
}

uint64_t inode_number(struct fs *fs, dev_t dev, ino_t ino)
{
	uint64_t low = (uint64_t)1 << DEVICE_SHIFT;
	uint64_t number = ino;

	if (dev == fs->device)
		return number & INT64_MAX;
	/* Numbers that wide are hashes already; folding keeps them apart. */
	if (number >= low)
		number = (number ^ (number >> DEVICE_SHIFT) * 0x9e3779b1u);
	return (number & (low - 1)) | (uint64_t)device_ordinal(dev)
					      << DEVICE_SHIFT;
}
