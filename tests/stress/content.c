/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stress/stress.h"

#include <errno.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <xxhash.h>

struct outcome failed_with(int error)
{
	return (struct outcome){ .error = error };
}

struct outcome came_to(int64_t value)
{
	return (struct outcome){ .value = value };
}

/* Bytes beyond what operations write show as a size that differs. */
int hash_file(int fd, struct outcome *out)
{
	static unsigned char data[2 * FILE_MOST];
	size_t len = 0;
	ssize_t got;
	XXH128_hash_t h;

	do {
		got = pread(fd, data + len, sizeof(data) - len, (off_t)len);
		if (got < 0)
			return errno;
		len += (size_t)got;
	} while (got > 0);
	h = XXH3_128bits(data, len);
	*out = (struct outcome){
		.value = (int64_t)len,
		.hash = { h.high64, h.low64 },
	};
	return 0;
}

int digest_attribute(int fd, uint64_t hash_out[2])
{
	char text[33] = "";
	unsigned long long high, low;
	ssize_t len = fgetxattr(fd, "user.xxh128", text, sizeof(text) - 1);

	if (len < 0)
		return errno;
	if (len != 32 || sscanf(text, "%16llx%16llx", &high, &low) != 2)
		return DIGEST_IS_STALE;
	hash_out[0] = high;
	hash_out[1] = low;
	return 0;
}
