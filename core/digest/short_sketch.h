/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SHORT_SKETCH_H
#define CORE_DIGEST_SHORT_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/digest/simhash.h"

/*
 * A sample of the distinct windows of 8 bytes, beside sif's of 16 bytes.  Where
 * single bytes were changed all over a file, fewer windows of 8 bytes are lost
 * than of 16; where a passage is new, hardly fewer.  So both shares together
 * tell scattered edits from new content (core/index/scattered.h).
 *
 * The sample is SimHash's own: the windows with the smallest keys, without
 * those that repeat one byte.  It costs no pass over the file.
 *
 * Values are the upper 48 bits of the keys, and of these as many as distinguish
 * a value from its neighbours: a slot is 1/64 to 1/128 of the average distance
 * of two values, and what lies in one slot counts as equal.  So one value takes
 * about one byte, and an accidental match is corrected for.
 */
#define SHORT_SKETCH_VALUES SIMHASH_SAMPLE
#define SHORT_SKETCH_BITS 48
/* A record: two numbers, and at most 9 bits a value. */
#define SHORT_SKETCH_BYTES (13 + (9 * SHORT_SKETCH_VALUES + 10) / 8)

struct short_sketch {
	/* Windows of the file; estimated if > count, else all are known. */
	uint64_t distinct;
	size_t count;
	uint32_t slots[SHORT_SKETCH_VALUES]; /* ascending, with repeats */
};

/* After simhash_final(). */
void short_sketch_read(struct simhash *s, struct short_sketch *out);

/* The bytes of a record; the number of them. */
size_t short_sketch_store(const struct short_sketch *sketch,
			  uint8_t bytes[static SHORT_SKETCH_BYTES]);
/* The reverse: false when the bytes are no record. */
bool short_sketch_load(const uint8_t *bytes, size_t len,
		       struct short_sketch *out);

/* Appends "sif8:" and the record in base64, without padding.  -ENOMEM. */
int short_sketch_format(const struct short_sketch *sketch, struct buf *out);

/* -EINVAL when text is no sketch; out is not specified then. */
int short_sketch_parse(const char *text, size_t len, struct short_sketch *out);

/* The record in a text of short_sketch_format(); it is not checked.  Returns
 * the number of bytes; 0: it is no such text. */
size_t short_sketch_pack_text(const char *text, size_t len,
			      uint8_t bytes_out[SHORT_SKETCH_BYTES]);

/* The share of the windows of each that the other has, 0..1, and how many
 * values it rests on: 0 where nothing can be said. */
struct short_relation {
	double a_in_b, b_in_a;
	size_t a_samples, b_samples;
};

void short_sketch_compare(const struct short_sketch *a,
			  const struct short_sketch *b,
			  struct short_relation *out);

#endif
