/* SPDX-License-Identifier: Apache-2.0 */

/*
 * faulty SOURCE FAULTS -f MOUNTPOINT: SOURCE, but what the file FAULTS names
 * (words like "read,fsync,") fails with EIO.  With "future," every file was
 * changed an hour later than it was, as when the clock was set back; with
 * "mtime," when its content was.  Inode numbers are those of SOURCE; with
 * "numbers," from the start they count the files in the order in which they are
 * looked up.  Nothing is cached: every call comes here.  With "cached," data is cached, so that
 * files can be mapped; each open drops what is cached of the file.  With
 * "blocks," only the first GOOD_BYTES of a file can be read; with "blocks-N,"
 * of the one with inode number N.  With "stat-NAME," a file or directory of that
 * name cannot be looked at, with "list-NAME," a directory not be listed, and with
 * "half-NAME," not beyond half of its names.  With "unlinked," every file has a
 * link count of 0.  While FAULTS has "flush,", nobody gets an answer to the close
 * of a file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOOD_BYTES (32 << 10)

static int source = -1;
static const char *faults;

static bool fails(const char *call)
{
	char words[256] = "";
	int fd = open(faults, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	(void)!read(fd, words, sizeof(words) - 1);
	close(fd);
	return strstr(words, call) != NULL;
}

static bool fails_at(const char *call, const char *path)
{
	const char *slash = strrchr(path, '/');
	char word[300];

	(void)snprintf(word, sizeof(word), "%s-%s,", call,
		       slash ? slash + 1 : path);
	return fails(word);
}

static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int answer(ssize_t result)
{
	return result < 0 ? -errno : (int)result;
}

static int faulty_getattr(const char *path, struct stat *st,
			  struct fuse_file_info *fi)
{
	(void)fi;
	if ((path[1] && fails("getattr")) || fails_at("stat", path))
		return -EIO;
	if (fstatat(source, below(path), st, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	if (fails("future"))
		st->st_ctim.tv_sec += 3600;
	if (fails("mtime,"))
		st->st_ctim = st->st_mtim;
	if (S_ISREG(st->st_mode) && fails("unlinked,"))
		st->st_nlink = 0;
	return 0;
}

static int faulty_readdir(const char *path, void *buffer, fuse_fill_dir_t fill,
			  off_t offset, struct fuse_file_info *fi,
			  enum fuse_readdir_flags flags)
{
	int fd = openat(source, below(path), O_RDONLY | O_DIRECTORY);
	const bool half = fails_at("half", path);
	struct dirent *entry;
	off_t count = 0, i = 0;
	DIR *dir;

	(void)fi;
	(void)flags;
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	while (dir && readdir(dir))
		count++;
	if (dir)
		rewinddir(dir);
	/* Names with an offset are asked for again from the last one on. */
	while (dir && (entry = readdir(dir)) && (!half || i < count / 2))
		fill(buffer, entry->d_name, NULL, half ? ++i : 0, 0);
	if (dir)
		closedir(dir);
	return fails("readdir") || fails_at("list", path) || offset ? -EIO : 0;
}

static int open_file(const char *path, int flags, mode_t mode,
		     struct fuse_file_info *fi)
{
	int fd;

	if (fails("open"))
		return -EIO;
	fd = openat(source, below(path), (flags & ~O_NOFOLLOW) | O_CLOEXEC,
		    mode);
	if (fd < 0)
		return -errno;
	fi->fh = (uint64_t)fd;
	fi->direct_io = !fails("cached,");
	return 0;
}

static int faulty_open(const char *path, struct fuse_file_info *fi)
{
	return open_file(path, fi->flags, 0, fi);
}

static int faulty_create(const char *path, mode_t mode,
			 struct fuse_file_info *fi)
{
	return open_file(path, fi->flags | O_CREAT, mode, fi);
}

static bool has_bad_blocks(int fd)
{
	char word[32];
	struct stat st;

	if (fails("blocks,"))
		return true;
	if (fstat(fd, &st))
		return false;
	(void)snprintf(word, sizeof(word), "blocks-%lu,",
		       (unsigned long)st.st_ino);
	return fails(word);
}

static int faulty_read(const char *path, char *data, size_t size, off_t offset,
		       struct fuse_file_info *fi)
{
	(void)path;
	if (fails("read,") ||
	    (offset >= GOOD_BYTES && has_bad_blocks((int)fi->fh)))
		return -EIO;
	return answer(pread((int)fi->fh, data, size, offset));
}

static int faulty_write(const char *path, const char *data, size_t size,
			off_t offset, struct fuse_file_info *fi)
{
	(void)path;
	if (fails("write"))
		return -EIO;
	return answer(pwrite((int)fi->fh, data, size, offset));
}

static int faulty_fsync(const char *path, int data_only,
			struct fuse_file_info *fi)
{
	(void)path;
	(void)data_only;
	return fails("fsync") ? -EIO : answer(fsync((int)fi->fh));
}

static int faulty_flush(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	(void)fi;
	while (fails("flush,"))
		(void)usleep(10000);
	return 0;
}

static int faulty_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	return answer(close((int)fi->fh));
}

static int faulty_truncate(const char *path, off_t size,
			   struct fuse_file_info *fi)
{
	int fd = openat(source, below(path), O_WRONLY | O_CLOEXEC);
	int result;

	(void)fi;
	if (fd < 0)
		return -errno;
	result = answer(ftruncate(fd, size));
	close(fd);
	return result;
}

static int faulty_unlink(const char *path)
{
	return fails("unlink") ? -EIO :
				 answer(unlinkat(source, below(path), 0));
}

static int faulty_rename(const char *from, const char *to, unsigned flags)
{
	return answer(renameat2(source, below(from), source, below(to), flags));
}

static int faulty_mkdir(const char *path, mode_t mode)
{
	return answer(mkdirat(source, below(path), mode));
}

static void *faulty_init(struct fuse_conn_info *conn, struct fuse_config *cfg)
{
	(void)conn;
	cfg->use_ino = !fails("numbers,");
	return NULL;
}

static const struct fuse_operations operations = {
	.init = faulty_init,
	.getattr = faulty_getattr,
	.readdir = faulty_readdir,
	.open = faulty_open,
	.create = faulty_create,
	.read = faulty_read,
	.write = faulty_write,
	.fsync = faulty_fsync,
	.flush = faulty_flush,
	.release = faulty_release,
	.truncate = faulty_truncate,
	.unlink = faulty_unlink,
	.rename = faulty_rename,
	.mkdir = faulty_mkdir,
};

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	source = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	faults = argv[2];
	if (source < 0) {
		perror(argv[1]);
		return 1;
	}
	argv[2] = argv[0];
	return fuse_main(argc - 2, argv + 2, &operations, NULL);
}
