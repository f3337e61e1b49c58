/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXTRACT_PROTOCOL_H
#define CORE_EXTRACT_PROTOCOL_H

#include <stdint.h>

#include "core/extract/extract.h"

/*
 * Between the caller and a process that extracts, both of one build on one
 * machine: structs as they are.  A request is one packet of a socket with the
 * file's descriptor; the answer is frames in a pipe, of which the last is an
 * end at depth 0.  The caller believes nothing of an answer: not its lengths,
 * its order, or that its text is UTF-8.
 */
enum { EXTRACT_REQUEST_FD = 3, EXTRACT_ANSWER_FD = 4 };

struct extract_request {
	uint64_t size; /* of the file */
	struct extract_limits limits;
};

enum extract_frame_type {
	EXTRACT_FRAME_READY,  /* empty, the first: the process is confined */
	EXTRACT_FRAME_TEXT,   /* whole characters of UTF-8 */
	EXTRACT_FRAME_BYTES,  /* of a member that has no text */
	EXTRACT_FRAME_PDF,    /* of a member that kin-extract-pdf is to read */
	EXTRACT_FRAME_MEMBER, /* its name; what follows belongs to it */
	/* A kind that is EXTRACT_PDF in an end means that kin-extract-pdf is to
	 * be asked: for what came as that, or the file itself, unless it is
	 * too long. */
	EXTRACT_FRAME_END /* struct extract_result: of the last member that
				 has not ended, or of the file */
};

struct extract_frame {
	uint32_t type;
	uint32_t len;
};

enum { EXTRACT_FRAME_MAX = 32768 };

/* Members in members: more than any limit of depth that makes sense. */
enum { EXTRACT_DEPTH_MAX = 16 };

#endif
