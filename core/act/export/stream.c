/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "core/act/export/export.h"

struct stream {
	FILE *file;
	ZSTD_CCtx *compressor;
	ZSTD_DCtx *decompressor;
	ZSTD_inBuffer in;
	bool between_frames; /* where the file may end */
	size_t size;
	char buffer[];
};

static int stream_free(void *cookie)
{
	struct stream *s = cookie;

	ZSTD_freeCCtx(s->compressor);
	ZSTD_freeDCtx(s->decompressor);
	free(s);
	return 0;
}

static FILE *open_stream(FILE *file, size_t size, bool compress,
			 cookie_io_functions_t functions)
{
	struct stream *s = calloc(1, sizeof(*s) + size);
	FILE *stream = NULL;

	if (!s)
		return NULL;
	s->file = file;
	s->size = size;
	s->in.src = s->buffer;
	if (compress)
		s->compressor = ZSTD_createCCtx();
	else
		s->decompressor = ZSTD_createDCtx();
	if (s->compressor) {
		/* Digests look random: a higher level gains one percent. */
		(void)ZSTD_CCtx_setParameter(s->compressor,
					     ZSTD_c_compressionLevel, 1);
		(void)ZSTD_CCtx_setParameter(s->compressor, ZSTD_c_checksumFlag,
					     1);
	}
	if (s->compressor || s->decompressor)
		stream = fopencookie(s, compress ? "w" : "r", functions);
	if (!stream)
		(void)stream_free(s);
	return stream;
}

/* ---- compression ---- */

static int compress_some(struct stream *s, ZSTD_inBuffer *in,
			 ZSTD_EndDirective end)
{
	size_t left;

	do {
		ZSTD_outBuffer out = { s->buffer, s->size, 0 };

		left = ZSTD_compressStream2(s->compressor, &out, in, end);
		if (ZSTD_isError(left)) {
			errno = ENOMEM;
			return -1;
		}
		if (out.pos &&
		    fwrite(s->buffer, 1, out.pos, s->file) != out.pos)
			return -1;
	} while (end == ZSTD_e_end ? left > 0 : in->pos < in->size);
	return 0;
}

static ssize_t stream_write(void *cookie, const char *data, size_t len)
{
	ZSTD_inBuffer in = { data, len, 0 };

	return compress_some(cookie, &in, ZSTD_e_continue) ? 0 : (ssize_t)len;
}

static int stream_end(void *cookie)
{
	struct stream *s = cookie;
	ZSTD_inBuffer in = { NULL, 0, 0 };
	int failed = compress_some(s, &in, ZSTD_e_end) || fflush(s->file);
	int err = errno;

	(void)stream_free(s);
	errno = err;
	return failed ? EOF : 0;
}

FILE *export_compress(FILE *out)
{
	FILE *stream =
		open_stream(out, ZSTD_CStreamOutSize(), true,
			    (cookie_io_functions_t){ .write = stream_write,
						     .close = stream_end });

	if (stream)
		(void)setvbuf(stream, NULL, _IOFBF, ZSTD_CStreamInSize());
	return stream;
}

/* ---- decompression ---- */

static ssize_t stream_read(void *cookie, char *data, size_t len)
{
	struct stream *s = cookie;
	ZSTD_outBuffer out = { data, len, 0 };
	size_t left;

	while (len && !out.pos) {
		if (s->in.pos == s->in.size) {
			s->in.size = fread(s->buffer, 1, s->size, s->file);
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

FILE *export_decompress(FILE *in)
{
	return open_stream(in, ZSTD_DStreamInSize(), false,
			   (cookie_io_functions_t){ .read = stream_read,
						    .close = stream_free });
}
