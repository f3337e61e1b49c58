/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "core/client/client.h"

static int reserve(struct lines *l)
{
	size_t room = 2 * l->room + 4096;
	char *text = l->len + 1 < l->room ? l->text : realloc(l->text, room);

	if (!text)
		return -ENOMEM;
	l->room = l->len + 1 < l->room ? l->room : room;
	l->text = text;
	return 0;
}

int lines_next(struct lines *l, size_t most)
{
	int c;

	l->len = 0;
	errno = 0;
	do {
		c = getc_unlocked(l->in);
		if (c == EOF || c == '\n')
			break;
		if (l->len == most)
			return -EFBIG;
		if (reserve(l))
			return -ENOMEM;
		l->text[l->len++] = (char)c;
	} while (true);
	if (ferror(l->in))
		return errno ? -errno : -EIO;
	if (c == EOF && !l->len)
		return 0;
	if (reserve(l))
		return -ENOMEM;
	l->text[l->len] = '\0';
	l->number++;
	return 1;
}

void lines_release(struct lines *l)
{
	free(l->text);
	*l = (struct lines){ 0 };
}
