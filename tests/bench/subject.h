/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SUBJECT_H
#define TESTS_BENCH_SUBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/digest/digest.h"
#include "core/kernel/kernel.h"

/*
 * What is measured: all default digests in one pass, and each alone (with
 * XXH128, which is never left out).
 */
struct subject {
	const char *name;
	uint32_t set; /* DIGEST_BIT()s */
};

#define MAX_SUBJECTS (DIGEST_COUNT + 1)

size_t subjects_list(struct subject subjects_out[MAX_SUBJECTS]);

/* A subject's memory, and the variant of the kernels it works with: NULL for
 * the best.  Failures end the program. */
struct worker;

struct worker *worker_new(const struct subject *subject,
			  const struct kernel_ops *ops);
void worker_free(struct worker *w);

/* As a file is digested: begin, updates, final; text_out gets the text forms,
 * a line each, unless it is NULL. */
void worker_digest(struct worker *w, const uint8_t *data, size_t len,
		   struct buf *text_out);

/* The same step by step. */
void worker_begin(struct worker *w, uint64_t size);
void worker_update(struct worker *w, const uint8_t *data, size_t len);
void worker_final(struct worker *w, struct buf *text_out);

#endif
