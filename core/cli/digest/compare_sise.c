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

static int take_sise(void *arg, const void *data, size_t len)
{
	ctph_update(arg, data, len);
	return 0;
}

/* The signature of a file whose search starts at that block size. */
static int read_from(struct reader *r, const char *path, uint64_t block_size,
		     struct sise_signature *out)
{
	struct ctph *sise = malloc(sizeof(*sise));
	int fd = -1, err = sise ? sise_init_from(sise, block_size) : -ENOMEM;

	if (!err)
		err = reader_open(path, true, &fd);
	if (!err)
		err = reader_each(r, fd, take_sise, sise);
	if (!err)
		sise_read(sise, out);
	if (fd >= 0)
		close(fd);
	free(sise);
	return err;
}

/* The side that is cut anew, -1: none is. */
static int side_to_cut(const struct operand sides[2], const char *const *paths)
{
	const struct digests *a = &sides[0].digests, *b = &sides[1].digests;
	int side;

	if (sides[0].is_content && sides[1].is_content)
		side = a->size > b->size ? 0 : 1;
	else if (sides[0].is_content || sides[1].is_content)
		side = sides[0].is_content ? 0 : 1;
	else
		return -1;
	/* A content that came through a pipe is gone. */
	return strcmp(paths[side], "-") ? side : -1;
}

static int unpack(const struct operand *side, struct sise_signature *out)
{
	struct digest_value v = digest_value_of(&side->digests, DIGEST_SISE);

	return v.bytes ? sise_unpack(v, out) : -ENODATA;
}

static int compare(struct reader *r, const struct operand sides[2],
		   const char *const paths[2], int cut,
		   struct sise_signature signatures[2], int *score_out)
{
	uint64_t block_size;
	int err = unpack(&sides[0], &signatures[0]);

	if (!err)
		err = unpack(&sides[1], &signatures[1]);
	if (err)
		return err;
	block_size = signatures[!cut].leading.block_size;
	if (signatures[cut].leading.block_size != block_size)
		err = read_from(r, paths[cut], block_size, &signatures[cut]);
	if (!err)
		*score_out = sise_score(&signatures[0], &signatures[1]);
	return err;
}

int compare_by_sise(struct reader *r, const struct operand sides[2],
		    const char *const paths[2], int *score_out)
{
	int cut = side_to_cut(sides, paths), err;
	struct sise_signature *signatures;

	if (cut < 0)
		return -ENODATA;
	signatures = malloc(2 * sizeof(*signatures));
	if (!signatures)
		return -ENOMEM;
	err = compare(r, sides, paths, cut, signatures, score_out);
	free(signatures);
	/* The block size is one of a foreign signature that we cannot make. */
	return err == -EINVAL ? -ENODATA : err;
}
