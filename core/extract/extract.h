/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXTRACT_EXTRACT_H
#define CORE_EXTRACT_EXTRACT_H

#include <stdint.h>

#include "core/digest/pdq.h"

/*
 * The text inside documents and archives, and the hashes of pictures: the words that
 * all parts of it share.
 *
 * Parsers of many formats meet files of strangers here, so they run in
 * processes that can do nothing but compute:
 *
 *   caller (the daemon, or kin-extract FILE...)
 *     | client.h           asks for the text of a descriptor, reads pieces
 *   starter                a small process that starts and ends the others
 *     | protocol.h         descriptor and limits in, frames out
 *   kin-extract --serve    archives, Office files, mail, RTF, texts
 *   kin-extract-pdf        PDF: a program of its own, as poppler is under the
 *                          GPL
 *   kin-extract-picture    pictures: a program of its own with less memory
 *
 * Inside of these, serve.c receives requests; reader.h describes one
 * document; confine.c takes away all that is not needed, before the first
 * request; output.c makes frames.  A format has a file of its own.
 */

/* To be raised when other text comes out of a file than before: catalogs have
 * their texts made again then. */
enum { EXTRACT_VERSION = 2 };

/* What became of a file, or of a member of an archive. */
enum extract_status {
	EXTRACT_OK,
	EXTRACT_NO_TEXT,   /* pictures only, or nothing at all */
	EXTRACT_ENCRYPTED, /* a password is needed */
	EXTRACT_DAMAGED,   /* also: the process died of it */
	EXTRACT_LIMIT, /* a limit was reached, one of struct extract_limits */
	EXTRACT_UNSUPPORTED, /* no format that is known, or no program for it */
	EXTRACT_STATUS_COUNT
};

enum extract_flag {
	EXTRACT_GUESSED = 1,  /* the encoding is a guess */
	EXTRACT_PARTIAL = 2,  /* some members or pages could not be read */
	EXTRACT_DEGRADED = 4, /* its characters may be others: a library missed
				 one of its own files, or fonts do not tell */
	EXTRACT_PLAIN = 8,    /* the file itself is its text, byte for byte */
	EXTRACT_DIED = 16,    /* the process that read it died, or was killed */
	EXTRACT_CAPTION = 32, /* its text says too little, see sketch.h */
	EXTRACT_FLAGS = 6,    /* how many there are */
	/* What a user is told of a text, or of none. */
	EXTRACT_DOUBTS = EXTRACT_PARTIAL | EXTRACT_DEGRADED | EXTRACT_CAPTION,
};

enum extract_kind {
	EXTRACT_UNKNOWN,
	EXTRACT_TEXT,
	EXTRACT_HTML,
	EXTRACT_RTF,
	EXTRACT_MAIL,
	EXTRACT_PDF,
	EXTRACT_DOCX,
	EXTRACT_XLSX,
	EXTRACT_PPTX,
	EXTRACT_ODF,
	EXTRACT_EPUB,
	EXTRACT_OLE, /* Office files until 2003, and encrypted ones of today */
	EXTRACT_UNREAD, /* documents and archives that are not looked into */
	EXTRACT_JPEG,
	EXTRACT_PNG,
	EXTRACT_WEBP,
	EXTRACT_GIF,
	EXTRACT_ZIP, /* from here on: what libarchive reads */
	EXTRACT_TAR,
	EXTRACT_7Z,
	EXTRACT_GZIP,
	EXTRACT_XZ,
	EXTRACT_ZSTD,
	EXTRACT_BZIP2,
	EXTRACT_KIND_COUNT
};

/* For one file with all that is in it. */
struct extract_limits {
	uint64_t input;    /* bytes of the file */
	uint64_t text;     /* bytes of text of one document */
	uint64_t inflated; /* bytes that decompression gives, in total */
	uint32_t members;
	uint32_t depth;  /* archives in archives */
	uint32_t cpu_ms; /* processor time */
};

static const struct extract_limits extract_limits_default = {
	.input = 256 << 20,
	.text = 16 << 20,
	.inflated = 1 << 30,
	.members = 10000,
	.depth = 3,
	.cpu_ms = 20000,
};

struct extract_result {
	enum extract_status status;
	enum extract_kind kind;
	uint32_t flags;
	int64_t date;  /* that the document itself has, seconds since 1970;
			  EXTRACT_NO_DATE: it has none */
	uint64_t size; /* bytes of text; of a member without text: its bytes */
	uint64_t unread; /* bytes of pictures, forms, attachments without text,
			    as they stand in the file; a member has its own */
	struct picture_hashes picture; /* of a file that is one */
};

#define EXTRACT_NO_DATE INT64_MIN

/* "ok", "docx": as they are printed. */
const char *extract_status_name(enum extract_status status);
const char *extract_kind_name(enum extract_kind kind);
const char *extract_flag_name(unsigned bit); /* below EXTRACT_FLAGS */

#endif
