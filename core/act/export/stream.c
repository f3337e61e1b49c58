/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "core/act/export/export.h"

struct stream {
	FILE *file;
	ZSTD_CCtx *compressor;   /* of one that is written */
	ZSTD_DCtx *decompressor; /* of one that is read */
	ZSTD_inBuffer in;
	bool between_frames; /* where the file may end */
	char buffer[1 << 17];
};

/* ---- compression ---- */

static int compress(struct stream *s, const char *data, size_t len,
		    ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { data, len, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { s->buffer, sizeof(s->buffer), 0 };

		left = ZSTD_compressStream2(s->compressor, &out, &in, end);
		if (ZSTD_isError(left)) {
			errno = ENOMEM;
			return -1;
		}
		if (out.pos &&
		    fwrite(s->buffer, 1, out.pos, s->file) != out.pos)
			return -1;
	} while (end == ZSTD_e_end ? left > 0 : in.pos < in.size);
	return 0;
}

static ssize_t stream_write(void *cookie, const char *data, size_t len)
{
	return compress(cookie, data, len, ZSTD_e_continue) ? 0 : (ssize_t)len;
}

/* ---- decompression ---- */

static ssize_t stream_read(void *cookie, char *data, size_t len)
{
	struct stream *s = cookie;
	ZSTD_outBuffer out = { data, len, 0 };
	size_t left;

	while (len && !out.pos) {
		if (s->in.pos == s->in.size) {
			s->in.size =
				fread(s->buffer, 1, sizeof(s->buffer), s->file);
			s->in.pos = 0;
		}
		if (!s->in.size) {
			if (!ferror(s->file) && s->between_frames)
				return 0;
			errno = EIO;
			return -1;
		}
		left = ZSTD_decompressStream(s->decompressor, &out, &s->in);
		if (ZSTD_isError(left)) {
			errno = ZSTD_getErrorCode(left) ==
						ZSTD_error_prefix_unknown ?
					EMEDIUMTYPE :
					EIO;
			return -1;
		}
		s->between_frames = left == 0;
	}
	return (ssize_t)out.pos;
}

/* ---- both ---- */

static void stream_free(struct stream *s)
{
	ZSTD_freeCCtx(s->compressor);
	ZSTD_freeDCtx(s->decompressor);
	free(s);
}

static int stream_close(void *cookie)
{
	struct stream *s = cookie;
	const bool failed =
		s->compressor &&
		(compress(s, NULL, 0, ZSTD_e_end) || fflush(s->file));

	stream_free(s);
	return failed ? EOF : 0;
}

FILE *export_stream(FILE *file, const char *mode)
{
	const cookie_io_functions_t functions = { .read = stream_read,
						  .write = stream_write,
						  .close = stream_close };
	struct stream *s = calloc(1, sizeof(*s));
	FILE *stream = NULL;

	if (!s)
		return NULL;
	s->file = file;
	s->in.src = s->buffer;
	if (*mode == 'r')
		s->decompressor = ZSTD_createDCtx();
	else
		s->compressor = ZSTD_createCCtx();
	/* Level 1: digests look random, a higher level gains one percent. */
	if (s->decompressor ||
	    (s->compressor &&
	     !ZSTD_isError(ZSTD_CCtx_setParameter(
		     s->compressor, ZSTD_c_compressionLevel, 1)) &&
	     !ZSTD_isError(ZSTD_CCtx_setParameter(s->compressor,
						  ZSTD_c_checksumFlag, 1))))
		stream = fopencookie(s, mode, functions);
	if (!stream)
		stream_free(s);
	return stream;
}
