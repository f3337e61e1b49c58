/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_BUF_H
#define CORE_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

/*
 * A growing byte string.  A zeroed struct buf is empty and valid.  data is
 * always followed by a NUL once anything was appended.  After a failed append
 * (-ENOMEM) the content is as before.
 */
struct buf {
	char *data;
	size_t len;
	size_t capacity;
};

void buf_release(struct buf *b);
void buf_clear(struct buf *b);               /* keeps the memory */
int buf_reserve(struct buf *b, size_t more); /* room for more bytes */
int buf_append(struct buf *b, const void *data, size_t len);
int buf_append_text(struct buf *b, const char *text);
int buf_append_format(struct buf *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Gives the content away; the caller frees it.  b is empty afterwards. */
char *buf_take(struct buf *b);

#endif
