/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/cli.h"
#include "core/extract/sketch.h"
#include "core/extract/sniff.h"

/* The text of a document, for a comparison without a mount. */

static bool is_document(int fd)
{
	uint8_t head[SNIFF_BYTES];
	ssize_t len = pread(fd, head, sizeof(head), 0);

	return len > 0 && sniff_is_document(head, (size_t)len);
}

static int add_sketch(int fd, struct extract_client *client, struct digests *d)
{
	struct extract_sketch *s = extract_sketch_new();
	const struct sketch *sketch = NULL;
	uint8_t packed[SKETCH_PACKED_MAX];
	struct extract_result result;
	struct stat st;
	int err = s && !fstat(fd, &st) ? 0 : -ENOMEM;

	if (!err)
		err = extract_sketch_read(s, client, fd, st.st_uid, &sketch,
					  &result);
	if (!err && sketch)
		err = digests_put_text(d, packed, sketch_pack(sketch, packed));
	extract_sketch_free(s);
	return err;
}

void cli_add_text(const char *path, struct digests *d)
{
	struct extract_client *client;
	int fd;

	if (reader_open(path, true, &fd))
		return;
	if (is_document(fd) && !extract_open(NULL, false, &client)) {
		(void)add_sketch(fd, client, d);
		extract_free(client);
	}
	close(fd);
}
