/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/query_text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/text.h"

struct query_words {
	const char *text;
	size_t len;
};

static bool words_equal(const struct query_words *w, const char *text)
{
	return w->len == strlen(text) && memcmp(w->text, text, w->len) == 0;
}

struct parsing {
	struct query_text *q;
	bool has_size, has_relation;
};

static int take_size(struct parsing *p, const struct query_words *value)
{
	const char *at = value->text, *end = at + value->len;

	if (p->has_size || !text_number(&at, end, &p->q->digests.size) ||
	    at != end)
		return -EINVAL;
	p->has_size = true;
	return 0;
}

static int take_relation(struct parsing *p, const struct query_words *value)
{
	size_t i;

	for (i = 0; i < INDEX_RELATIONS; i++) {
		if (!words_equal(value, index_relation_names[i]) ||
		    p->has_relation)
			continue;
		p->q->relation = (enum index_relation)i;
		p->has_relation = true;
		return 0;
	}
	return -EINVAL;
}

static int take_digest(struct parsing *p, const struct query_words *name,
		       const struct query_words *value)
{
	const struct digest_ops *info = digest_named(name->text, name->len);

	/* An sdhash is refused: it is compared with nothing, and long. */
	if (!info || info->id == DIGEST_SDHASH ||
	    p->q->digests.set & DIGEST_BIT(info->id))
		return -EINVAL;
	return digest_parse(info->id, value->text, value->len, &p->q->digests);
}

static int take_line(struct parsing *p, const char *line, size_t len)
{
	const char *equal = memchr(line, '=', len);
	struct query_words name, value;

	if (!equal)
		return -EINVAL;
	name = (struct query_words){ line, (size_t)(equal - line) };
	value = (struct query_words){ equal + 1, len - name.len - 1 };
	if (words_equal(&name, "size"))
		return take_size(p, &value);
	if (words_equal(&name, "relation"))
		return take_relation(p, &value);
	return take_digest(p, &name, &value);
}

static int take_lines(struct parsing *p, const char *text, size_t len)
{
	const char *end = text + len;
	int err = 0;

	while (text < end && !err) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		if (!stop)
			stop = end;
		err = take_line(p, text, (size_t)(stop - text));
		text = stop + 1;
	}
	return err;
}

int query_text_parse(const char *text, size_t len, struct query_text *out)
{
	struct query_text q = { .relation = INDEX_ALIKE };
	struct parsing p = { .q = &q };
	int err = take_lines(&p, text, len);

	if (!err && (!p.has_size || !q.digests.set))
		err = -EINVAL;
	if (err)
		query_text_release(&q);
	else
		*out = q;
	return err;
}

void query_text_release(struct query_text *q)
{
	digests_release(&q->digests);
}
