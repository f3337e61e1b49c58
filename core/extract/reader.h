/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXTRACT_READER_H
#define CORE_EXTRACT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/extract/extract.h"
#include "core/extract/protocol.h"

/*
 * Inside of a process that extracts.  Functions that read return what became of
 * the document; EXTRACT_OK also means: go on.  Without memory it is
 * EXTRACT_LIMIT.  What they gave out before they failed is for nothing.
 */

/* ---- input: a descriptor, or memory ---- */

struct extract_input {
	int fd;              /* when there is no data */
	const uint8_t *data; /* borrowed */
	uint64_t size;
};

/* Bytes from a place on, fewer at the end.  A file that became shorter ends
 * there. */
size_t input_read(const struct extract_input *in, uint64_t at, void *to,
		  size_t len);

/* All of it, in memory that the caller frees when *owned_out is set. */
enum extract_status input_load(const struct extract_input *in,
			       const uint8_t **data_out, size_t *len_out,
			       uint8_t **owned_out);

/* ---- output: frames ---- */

struct extract_output {
	int fd; /* -1: nobody reads it */
	struct extract_limits limits;
	uint64_t inflated; /* so far */
	uint32_t members;
	uint32_t type; /* of the frame that is being filled */
	uint32_t len;
	struct {
		struct extract_frame head;
		uint8_t data[EXTRACT_FRAME_MAX];
	} frame;
};

void output_ready(int fd);

/* Text goes through document_text(). */
void output_data(struct extract_output *o, enum extract_frame_type type,
		 const void *data, size_t len);
void output_end(struct extract_output *o, const struct extract_result *result);

/* Counts what was decompressed.  Whether that is within the limit. */
bool output_may_inflate(struct extract_output *o, uint64_t bytes);

/* ---- a document ---- */

struct document {
	struct extract_output *out;
	struct extract_result result;
	uint32_t depth;
	bool is_visible; /* it has a character that can be seen */
	bool is_full;    /* the limit of text was reached */
	struct buf raw;  /* text that is not normalized yet */
};

struct document document_new(struct extract_output *out, uint32_t depth);
void document_release(struct document *d);

/* Well-formed UTF-8 in pieces of whole characters.  The output gets it in
 * canonical composition (NFC), without what is for the layout, and with plain
 * characters in place of compatible ones. */
enum extract_status document_text(struct document *d, const void *text,
				  size_t len);

/* Text that is normalized. */
enum extract_status document_put(struct document *d, const char *text,
				 size_t len);

/* The last of the text.  EXTRACT_NO_TEXT when there was none. */
enum extract_status document_flush(struct document *d);

/* Whether a character is for the layout only: soft hyphens, marks without
 * width. */
bool text_is_layout(uint32_t c);

/* Whether a character is another one in a shape of its own, which the same text
 * may have or not have: ligatures, shapes of Arabic, wide letters, spaces.
 * Unicode has more that are compatible; an author means these. */
bool text_is_compatible(uint32_t c);

/* ---- what each of the programs defines ---- */

/* Bytes of memory that its process may have. */
extern const uint64_t reader_memory;

/* Before the process is confined: loads what is loaded when it is used. */
int reader_warm_up(void);

/* Reads one file and ends its output. */
void reader_read(struct extract_output *o, const struct extract_input *in);

/* ---- serve.c, confine.c ---- */

/* Serves requests until there are no more; an exit code. */
int serve_requests(void);

/* From here on the process computes, reads descriptors that it is given, and
 * writes to one pipe.  It opens, connects, starts and traces nothing: the kernel
 * kills it, or tells it that there is no such file.  -ENOSYS or -EOPNOTSUPP: the
 * kernel has no Landlock.  Limits of memory are for confine_limits(), as a test
 * has none. */
int confine_calls(void);
int confine_limits(uint64_t memory);

/* glib_quiet.c: glib's warnings would be calls that are not allowed. */
void glib_be_quiet(void);

#endif
