/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/hex.h"
#include "core/base/xxh3.h"
#include "core/catalog/catalog_impl.h"

#define CHUNK ((size_t)128 << 10) /* stays in the cache of the processor */
#define TEXT_MAX 128

/* ---- the digest of a file ---- */

static int digest_fd(int fd, const atomic_bool *stop, XXH3_state_t *state,
		     uint64_t *size_out)
{
	char *chunk = malloc(CHUNK);
	uint64_t size = 0;
	ssize_t n = 1;
	int err = chunk ? 0 : -ENOMEM;

	while (!err && n > 0) {
		if (stop && atomic_load(stop)) {
			err = -ECANCELED;
			break;
		}
		n = read(fd, chunk, CHUNK);
		if (n < 0)
			err = -errno;
		else
			(void)XXH3_128bits_update(state, chunk, (size_t)n);
		size += n > 0 ? (uint64_t)n : 0;
	}
	free(chunk);
	*size_out = size;
	return err;
}

/* Appends the text of the seal for the present data file. */
static int append_seal(const char *data, const atomic_bool *stop,
		       struct buf *out)
{
	XXH3_state_t *state = XXH3_createState();
	int fd = open(data, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[2 * sizeof(XXH128_canonical_t) + 1] = "";
	XXH128_canonical_t digest;
	uint64_t size = 0;
	int err = fd < 0 ? -errno : 0;

	if (!err && !state)
		err = -ENOMEM;
	if (!err) {
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
		(void)XXH3_128bits_reset(state);
		err = digest_fd(fd, stop, state, &size);
	}
	if (!err) {
		XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(state));
		hex_encode(digest.digest, sizeof(digest.digest), text);
		err = buf_append_format(out, "%.32s %" PRIu64 "\n", text, size);
	}
	(void)XXH3_freeState(state);
	if (fd >= 0)
		(void)close(fd);
	return err;
}

/* ---- the file of the seal ---- */

int seal_write(const char *directory, const char *data)
{
	struct buf text = { 0 };
	int err = append_seal(data, NULL, &text);

	if (!err)
		err = data_dir_write(directory, SEAL_FILE, text.data, text.len);
	buf_release(&text);
	return err;
}

int seal_remove(const char *directory)
{
	return data_dir_remove(directory, SEAL_FILE);
}

int seal_check(const char *directory, const char *data, const atomic_bool *stop)
{
	int fd = data_dir_open(directory, SEAL_FILE, O_RDONLY | O_NONBLOCK);
	struct buf text = { 0 };
	char kept[TEXT_MAX];
	ssize_t len;
	int err;

	if (fd < 0)
		return fd;
	len = read(fd, kept, sizeof(kept));
	err = len < 0 ? -errno : append_seal(data, stop, &text);
	(void)close(fd);
	if (err == -EIO)
		err = -EUCLEAN; /* a part of the file cannot be read */
	if (!err &&
	    (text.len != (size_t)len || memcmp(text.data, kept, text.len) != 0))
		err = -EUCLEAN;
	buf_release(&text);
	return err;
}
