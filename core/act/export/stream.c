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
	char *buffer;
	size_t size;
};

static void stream_free(struct stream *s)
{
	ZSTD_freeCCtx(s->compressor);
	ZSTD_freeDCtx(s->decompressor);
	free(s->buffer);
	free(s);
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

	stream_free(s);
	errno = err;
	return failed ? EOF : 0;
}

FILE *export_compress(FILE *out)
{
	const cookie_io_functions_t functions = { .write = stream_write,
						  .close = stream_end };
	struct stream *s = calloc(1, sizeof(*s));
	FILE *stream = NULL;

	if (!s)
		return NULL;
	s->file = out;
	s->size = ZSTD_CStreamOutSize();
	s->buffer = malloc(s->size);
	s->compressor = ZSTD_createCCtx();
	if (s->buffer && s->compressor) {
		/* Digests look random: a higher level gains one percent. */
		(void)ZSTD_CCtx_setParameter(s->compressor,
					     ZSTD_c_compressionLevel, 1);
		(void)ZSTD_CCtx_setParameter(s->compressor, ZSTD_c_checksumFlag,
					     1);
		stream = fopencookie(s, "w", functions);
	}
	if (stream)
		(void)setvbuf(stream, NULL, _IOFBF, ZSTD_CStreamInSize());
	else
		stream_free(s);
	return stream;
}

/* ---- decompression ---- */

/* 0 at the end of the file. */
static size_t fill(struct stream *s)
{
	if (s->in.pos == s->in.size) {
		s->in.size = fread(s->buffer, 1, s->size, s->file);
		s->in.pos = 0;
	}
	return s->in.size - s->in.pos;
}

static int error_of(size_t result)
{
	return ZSTD_getErrorCode(result) == ZSTD_error_prefix_unknown ?
		       EMEDIUMTYPE :
		       EIO;
}

static ssize_t stream_read(void *cookie, char *data, size_t len)
{
	struct stream *s = cookie;
	ZSTD_outBuffer out = { data, len, 0 };
	size_t left;

	while (len && !out.pos) {
		if (!fill(s)) {
			if (!ferror(s->file) && s->between_frames)
				return 0;
			errno = EIO;
			return -1;
		}
		left = ZSTD_decompressStream(s->decompressor, &out, &s->in);
		if (ZSTD_isError(left)) {
			errno = error_of(left);
			return -1;
		}
		s->between_frames = left == 0;
	}
	return (ssize_t)out.pos;
}

static ssize_t stream_pass(void *cookie, char *data, size_t len)
{
	struct stream *s = cookie;
	size_t got = fread(data, 1, len, s->file);

	return !got && ferror(s->file) ? -1 : (ssize_t)got;
}

static int stream_close(void *cookie)
{
	stream_free(cookie);
	return 0;
}

FILE *export_decompress(FILE *in)
{
	cookie_io_functions_t functions = { .read = stream_read,
					    .close = stream_close };
	struct stream *s = calloc(1, sizeof(*s));
	FILE *stream = NULL;
	int first = getc(in);

	if (!s)
		return NULL;
	if (first != EOF)
		(void)ungetc(first, in);
	if (first == '{' || first == EOF)
		functions.read = stream_pass;
	s->file = in;
	s->size = ZSTD_DStreamInSize();
	s->buffer = malloc(s->size);
	s->in.src = s->buffer;
	s->decompressor = ZSTD_createDCtx();
	if (s->buffer && s->decompressor)
		stream = fopencookie(s, "r", functions);
	if (!stream)
		stream_free(s);
	return stream;
}
