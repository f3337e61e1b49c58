/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_release(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

int buf_reserve(struct buf *b, size_t more)
{
	size_t need, capacity;
	char *data;

	if (more > SIZE_MAX / 2 - b->len - 1)
		return -ENOMEM;
	need = b->len + more + 1;
	if (need <= b->capacity)
		return 0;
	capacity = b->capacity + b->capacity / 2;
	if (capacity < need)
		capacity = need < 64 ? 64 : need;
	data = realloc(b->data, capacity);
	if (!data)
		return -ENOMEM;
	data[b->len] = '\0';
	b->data = data;
	b->capacity = capacity;
	return 0;
}

int buf_append(struct buf *b, const void *data, size_t len)
{
	int err = buf_reserve(b, len);

	if (err)
		return err;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int buf_append_text(struct buf *b, const char *text)
{
	return buf_append(b, text, strlen(text));
}

/* Where there is room it is printed once, otherwise once more. */
int buf_append_format(struct buf *b, const char *format, ...)
{
	size_t room = b->data ? b->capacity - b->len : 0;
	va_list args;
	int len, err;

	va_start(args, format);
	len = vsnprintf(b->data ? b->data + b->len : NULL, room, format, args);
	va_end(args);
	if (len >= 0 && (size_t)len < room) {
		b->len += (size_t)len;
		return 0;
	}
	if (b->data)
		b->data[b->len] = '\0';
	if (len < 0)
		return -EINVAL;
	err = buf_reserve(b, (size_t)len);
	if (err)
		return err;
	va_start(args, format);
	(void)vsnprintf(b->data + b->len, (size_t)len + 1, format, args);
	va_end(args);
	b->len += (size_t)len;
	return 0;
}

char *buf_take(struct buf *b)
{
	char *data = b->data;

	*b = (struct buf){ 0 };
	return data;
}
