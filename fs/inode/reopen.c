/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/inode/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fs/inode/inode.h"

struct lower_mount {
	struct lower_mount *next;
	int id;
	int fd; /* not O_PATH; -1: handles cannot be opened here */
};

/* ---- descriptors ---- */

unsigned descriptors_raise(void)
{
	FILE *f = fopen("/proc/sys/fs/nr_open", "re");
	struct rlimit limit, more;
	char text[32] = "";
	rlim_t most; /* the kernel's limit for a process; 0: not known */

	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		(void)fclose(f);
	most = strtoul(text, NULL, 10);
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

int fd_paths_enable(void)
{
	return chdir("/proc/self/fd") == 0 ? 0 : -errno;
}

struct fd_path fd_path(int fd)
{
	struct fd_path path;

	(void)snprintf(path.text, sizeof(path.text), "%d", fd);
	return path;
}

int fd_reopen(int fd, int flags)
{
	int again = open(fd_path(fd).text, flags | O_CLOEXEC);

	return again < 0 ? -errno : again;
}

/* Tries "." first, which is faster but needs search permission. */
int directory_reopen(int fd)
{
	enum { FLAGS = O_RDONLY | O_DIRECTORY };
	int again = openat(fd, ".", FLAGS | O_CLOEXEC);

	return again < 0 ? fd_reopen(fd, FLAGS) : again;
}

/* ---- file handles ---- */

union handle_space {
	struct file_handle head;
	unsigned char bytes[sizeof(struct file_handle) + FILE_HANDLE_MAX];
};

void file_handle_read(int fd, struct file_handle_copy *out)
{
	union handle_space space;

	memset(&space, 0, sizeof(space));
	space.head.handle_bytes = FILE_HANDLE_MAX;
	out->read = true;
	out->bytes = 0;
	out->mount_id = -1;
	out->type = 0;
	if (name_to_handle_at(fd, "", &space.head, &out->mount_id,
			      AT_EMPTY_PATH) != 0)
		return;
	out->type = space.head.handle_type;
	out->bytes = space.head.handle_bytes;
	memcpy(out->data, space.head.f_handle, out->bytes);
}

static int open_handle(int mount_fd, int type, const unsigned char *data,
		       unsigned bytes)
{
	union handle_space space;
	int fd;

	space.head.handle_type = type;
	space.head.handle_bytes = bytes;
	memcpy(space.head.f_handle, data, bytes);
	fd = open_by_handle_at(mount_fd, &space.head,
			       O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int reopen_by_handle(const struct reopen *reopen)
{
	return open_handle(reopen->mount->fd, reopen->handle_type,
			   reopen->handle, reopen->handle_bytes);
}

/* ---- mounts ---- */

/* A descriptor for open_by_handle_at(); -1: handles cannot be opened. */
static int mount_fd_open(int dir_fd, const struct file_handle_copy *handle)
{
	int fd = fd_reopen(dir_fd, O_RDONLY | O_DIRECTORY);
	int probe = -1;

	if (fd >= 0)
		probe = open_handle(fd, handle->type, handle->data,
				    handle->bytes);
	if (probe >= 0)
		close(probe);
	else if (fd >= 0)
		close(fd);
	return probe >= 0 ? fd : -1;
}

/* NULL: files on the mount of the found one are opened by name. */
static struct lower_mount *mount_get(struct reopener *r,
				     const struct found *found,
				     const struct file_handle_copy *handle)
{
	struct file_handle_copy parent;
	struct lower_mount *m;
	int dir_fd = found->fd;

	pthread_mutex_lock(&r->lock);
	for (m = r->mounts; m && m->id != handle->mount_id;)
		m = m->next;
	if (!m && !S_ISDIR(found->st->st_mode)) {
		file_handle_read(found->parent_fd, &parent);
		dir_fd = parent.mount_id == handle->mount_id ?
				 found->parent_fd :
				 -1;
	}
	if (!m && dir_fd >= 0) {
		m = calloc(1, sizeof(*m));
		if (m) {
			m->id = handle->mount_id;
			m->fd = mount_fd_open(dir_fd, handle);
			m->next = r->mounts;
			r->mounts = m;
		}
	}
	pthread_mutex_unlock(&r->lock);
	return m && m->fd >= 0 ? m : NULL;
}

/* ---- the reopener ---- */

int reopener_new(int source_fd, struct reopener **out)
{
	struct reopener *r = calloc(1, sizeof(*r));
	struct file_handle_copy handle;
	int fd = -1;

	if (!r)
		return -ENOMEM;
	file_handle_read(source_fd, &handle);
	if (handle.bytes)
		fd = mount_fd_open(source_fd, &handle);
	r->privileged = fd >= 0;
	if (fd >= 0)
		close(fd);
	pthread_mutex_init(&r->lock, NULL);
	pthread_rwlock_init(&r->names, NULL);
	*out = r;
	return 0;
}

void reopener_free(struct reopener *r)
{
	struct lower_mount *m;

	if (!r)
		return;
	while ((m = r->mounts)) {
		r->mounts = m->next;
		if (m->fd >= 0)
			close(m->fd);
		free(m);
	}
	pthread_mutex_destroy(&r->lock);
	pthread_rwlock_destroy(&r->names);
	free(r);
}

/* ---- one inode ---- */

int reopen_new(struct reopener *r, const struct found *found,
	       const struct file_handle_copy *handle, struct reopen **out)
{
	struct reopen *reopen = calloc(1, sizeof(*reopen) + handle->bytes);

	if (!reopen)
		return -ENOMEM;
	reopen->handle_type = handle->type;
	reopen->handle_bytes = handle->bytes;
	memcpy(reopen->handle, handle->data, handle->bytes);
	if (r->privileged && handle->bytes)
		reopen->mount = mount_get(r, found, handle);
	if (!reopen->mount) {
		reopen->name = strdup(found->name);
		if (!reopen->name) {
			free(reopen);
			return -ENOMEM;
		}
		reopen->parent = found->parent;
		inode_ref(found->parent);
		atomic_fetch_add(&r->named, 1);
	}
	*out = reopen;
	return 0;
}

struct inode *reopen_free(struct reopener *r, struct reopen *reopen)
{
	struct inode *parent;

	if (!reopen)
		return NULL;
	parent = reopen->parent;
	if (parent)
		atomic_fetch_sub(&r->named, 1);
	free(reopen->name);
	free(reopen);
	return parent;
}

bool reopen_same_handle(const struct reopen *reopen,
			const struct file_handle_copy *handle)
{
	return reopen->handle_bytes == handle->bytes &&
	       reopen->handle_type == handle->type &&
	       memcmp(reopen->handle, handle->data, handle->bytes) == 0;
}

/* ---- names ---- */

/* With the names lock, for writing. */
static struct inode *set_name(struct inode *inode, struct inode *parent,
			      const char *name)
{
	struct reopen *reopen = inode->reopen;
	struct inode *former;
	char *copy;

	if (!reopen || reopen->mount)
		return NULL;
	copy = strdup(name);
	if (!copy)
		return NULL; /* with the old name the error is -ESTALE */
	former = reopen->parent;
	inode_ref(parent);
	free(reopen->name);
	reopen->name = copy;
	reopen->parent = parent;
	return former;
}

struct inode *reopen_named(struct reopener *r, struct inode *inode,
			   struct inode *parent, const char *name)
{
	const struct reopen *reopen = inode->reopen;
	struct inode *former = NULL;
	bool differs;

	if (!reopen || reopen->mount || !parent || !name)
		return NULL;
	pthread_rwlock_rdlock(&r->names);
	differs = reopen->parent != parent || strcmp(reopen->name, name) != 0;
	pthread_rwlock_unlock(&r->names);
	if (differs) {
		pthread_rwlock_wrlock(&r->names);
		former = set_name(inode, parent, name);
		pthread_rwlock_unlock(&r->names);
	}
	return former;
}
