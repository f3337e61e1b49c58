/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "core/digest/digest.h"

json_t *digests_to_json(const struct digests *d, uint32_t set)
{
	json_t *texts = json_object();
	struct buf text = { 0 };
	int id, err = texts ? 0 : -ENOMEM;

	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		if (!(d->set & set & DIGEST_BIT(id)))
			continue;
		buf_clear(&text);
		err = digest_format(d, (enum digest_id)id, &text);
		if (!err && json_object_set_new(texts, digest_table[id]->name,
						json_string(text.data)))
			err = -ENOMEM;
	}
	buf_clear(&text);
	if (!err && d->text.bytes)
		err = digests_format_text(d, &text);
	if (!err && text.len &&
	    json_object_set_new(texts, DIGEST_TEXT_NAME,
				json_stringn(text.data, text.len)))
		err = -ENOMEM;
	buf_release(&text);
	if (!err)
		return texts;
	json_decref(texts);
	return NULL;
}

int digests_from_json(json_t *texts, struct digests *d)
{
	const struct digest_ops *ops;
	json_t *text;
	const char *name;
	int err = 0;

	json_object_foreach(texts, name, text)
	{
		ops = digest_find(name);
		if (err || !json_is_string(text))
			continue;
		if (ops)
			err = digest_parse(ops->id, json_string_value(text),
					   json_string_length(text), d);
		else if (!strcmp(name, DIGEST_TEXT_NAME))
			err = digests_parse_text(d, json_string_value(text),
						 json_string_length(text));
	}
	return err;
}
