/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/attachment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/xxh3.h"
#include "core/catalog/catalog_impl.h"
#include "core/catalog/seal.h"

static XXH128_canonical_t digest_of(const char *bytes, size_t len)
{
	XXH128_canonical_t digest;

	XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes, len));
	return digest;
}

/* Whether the file begins with the seal and has a digest that is right. */
static bool belongs_to(const char *file, size_t len, const struct buf *seal)
{
	XXH128_canonical_t digest;

	if (len < seal->len + sizeof(digest))
		return false;
	len -= sizeof(digest);
	digest = digest_of(file, len);
	return memcmp(file, seal->data, seal->len) == 0 &&
	       memcmp(file + len, &digest, sizeof(digest)) == 0;
}

static int read_all(int fd, char *to, size_t len)
{
	ssize_t n = 1;

	for (; len && n > 0; to += n, len -= (size_t)n) {
		n = read(fd, to, len);
		if (n < 0)
			return -errno;
	}
	return len ? -ENOENT : 0;
}

/* The memory is mapped, because after malloc() had so much back it would keep
 * as much later on. */
static int read_fd(int fd, const struct buf *seal, catalog_attachment_fn *use,
		   void *arg)
{
	struct stat st;
	size_t len;
	char *file;
	int result;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > ATTACHMENT_MAX)
		return -ENOENT;
	len = (size_t)st.st_size;
	file = mmap(NULL, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (file == MAP_FAILED)
		return -errno;
	result = read_all(fd, file, len);
	if (!result && !belongs_to(file, len, seal))
		result = -ENOENT;
	if (!result)
		result = use(arg, (const uint8_t *)file + seal->len,
			     len - seal->len - sizeof(XXH128_canonical_t));
	(void)munmap(file, len);
	return result;
}

int attachment_read(const char *directory, catalog_attachment_fn *use,
		    void *arg)
{
	struct buf seal = { 0 };
	int fd, result = seal_read(directory, &seal);

	if (!result) {
		fd = data_dir_open(directory, ATTACHMENT_FILE,
				   O_RDONLY | O_NONBLOCK);
		result = fd < 0 ? fd : read_fd(fd, &seal, use, arg);
		if (fd >= 0)
			(void)close(fd);
	}
	buf_release(&seal);
	return result;
}

static int write_file(const char *directory, const struct buf *bytes)
{
	struct buf file = { 0 };
	XXH128_canonical_t digest;
	int err = seal_read(directory, &file);

	if (!err)
		err = buf_reserve(&file, bytes->len + sizeof(digest));
	if (!err)
		err = buf_append(&file, bytes->data, bytes->len);
	if (!err) {
		digest = digest_of(file.data, file.len);
		err = buf_append(&file, &digest, sizeof(digest));
	}
	if (!err)
		err = data_dir_write(directory, ATTACHMENT_FILE, &file);
	buf_release(&file);
	return err;
}

/* 0: they are the same. */
static int compare(void *arg, const uint8_t *bytes, size_t len)
{
	const struct buf *other = arg;

	return len != other->len || memcmp(bytes, other->data, len) != 0;
}

int attachment_write(const char *directory, const struct buf *bytes)
{
	if (!attachment_read(directory, compare, (void *)bytes))
		return 0;
	return write_file(directory, bytes);
}

void attachment_remove(const char *directory)
{
	struct buf path = { 0 };

	if (!buf_append_format(&path, "%s/%s", directory, ATTACHMENT_FILE))
		(void)unlink(path.data);
	buf_release(&path);
}
