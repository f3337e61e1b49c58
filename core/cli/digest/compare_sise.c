/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cli/cli.h"
#include "core/digest/sise.h"

/*
 * The four modes of comparing by SiSe (paper, 4.1).  Signatures are what they
 * are; a content is cut into pieces of the size that the other side has: of
 * two contents the larger one as the smaller one.
 */

/* The signature of a file whose search starts at that block size. */
static int read_from(struct reader *r, const char *path, uint64_t block_size,
		     struct sise_signature *out)
{
	struct ctph *sise = malloc(sizeof(*sise));
	int fd = -1, err = sise ? sise_init_from(sise, block_size) : -ENOMEM;
	ssize_t n = 0;

	if (!err)
		err = reader_open(path, true, &fd);
	while (!err && (n = reader_next(r, fd, UINT64_MAX)) > 0)
		ctph_update(sise, r->buffer, (size_t)n);
	if (!err)
		err = (int)n;
	if (!err)
		sise_read(sise, out);
	if (fd >= 0)
		close(fd);
	free(sise);
	return err;
}

int compare_by_sise(struct reader *r, const struct operand sides[2],
		    const char *const paths[2], int *score_out)
{
	const uint64_t sizes[] = { sides[0].digests.size,
				   sides[1].digests.size };
	const bool both = sides[0].is_content && sides[1].is_content;
	/* The side that is cut anew. */
	const int cut = both ? sizes[0] <= sizes[1] : !sides[0].is_content;
	struct sise_signature *s;
	struct digest_value v;
	uint64_t block_size;
	int side, err = 0;

	/* A content that came through a pipe is gone. */
	if (!sides[cut].is_content || !strcmp(paths[cut], "-"))
		return -ENODATA;
	s = malloc(2 * sizeof(*s));
	if (!s)
		return -ENOMEM;
	for (side = 0; side < 2 && !err; side++) {
		v = digest_value_of(&sides[side].digests, DIGEST_SISE);
		err = v.bytes ? sise_unpack(v, &s[side]) : -ENODATA;
	}
	if (!err) {
		block_size = s[!cut].leading.block_size;
		if (s[cut].leading.block_size != block_size)
			err = read_from(r, paths[cut], block_size, &s[cut]);
	}
	if (!err)
		*score_out = sise_score(&s[0], &s[1]);
	free(s);
	/* The block size is one of a foreign signature that we cannot make. */
	return err == -EINVAL ? -ENODATA : err;
}
