/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/base/json.h"
#include "core/digest/sketch/sketch.h"
#include "core/act/export/export.h"

/* 1: there is one; 0: the end of the file. */
static int read_line(struct export_reader *r)
{
	int more = lines_next(&r->lines, EXPORT_LINE_MAX);

	return more == -EIO ? -ENODATA : more;
}

/* ---- the first line ---- */

static int read_head(struct export_reader *r)
{
	const json_t *version;
	json_t *object;
	int err = read_line(r);

	if (err < 0)
		return err == -EFBIG ? -EMEDIUMTYPE : err;
	object = err ? json_loadb(r->lines.text, r->lines.len, 0, NULL) : NULL;
	version = json_object_get(object, "kinfs_export");
	if (!json_is_integer(version))
		err = -EMEDIUMTYPE;
	else if (json_integer_value(version) != EXPORT_VERSION)
		err = -EPROTONOSUPPORT;
	else
		err = 0;
	if (!err)
		r->content.root = json_get_path(object, "root");
	json_decref(object);
	return err;
}

int export_open(struct export_reader *r, FILE *in)
{
	int first = ungetc(getc(in), in);

	*r = (struct export_reader){ .lines.in = in };
	if (first != '{' && first != EOF) {
		r->text = r->lines.in = export_decompress(in);
		if (!r->text)
			return -errno;
	}
	return read_head(r);
}

int export_source_open(const struct export_source *s, struct export_reader *out)
{
	FILE *file = s->copy ? s->copy : fopen(s->path, "re");
	int err;

	*out = (struct export_reader){ 0 };
	if (!file)
		return -errno;
	rewind(file);
	err = export_open(out, file);
	out->file = s->copy ? NULL : file;
	return err;
}

void export_close(struct export_reader *r)
{
	groups_close(&r->content);
	digests_release(&r->digests);
	if (r->text)
		(void)fclose(r->text);
	if (r->file)
		(void)fclose(r->file);
	lines_release(&r->lines);
	*r = (struct export_reader){ 0 };
}

/* ---- a content ---- */

static int take_content(struct export_reader *r)
{
	const struct found_group *group = &r->content.group;
	const struct found_member *m = group->members;
	struct digests d = { 0 };
	int err;

	if (group->count != 1 || !m->has_size || !m->file_count ||
	    strlen(m->xxh128) != 32)
		return -EBADMSG;
	d.size = m->size;
	err = digests_from_json(m->digests, &d);
	if (err == -EINVAL)
		err = -EBADMSG;
	if (!err && (hex_decode(m->xxh128, 32, d.xxh128, 16) ||
		     (r->contents && export_order(&r->digests, &d) >= 0)))
		err = -EBADMSG;
	d.set |= DIGEST_BIT(DIGEST_XXH128);
	digests_release(&r->digests);
	r->digests = d;
	r->contents++;
	r->files += m->file_count;
	return err ? err : 1;
}

static int take_end(struct export_reader *r)
{
	const struct groups_totals *t = &r->content.totals;
	int err;

	if (t->groups != r->contents || t->files != r->files)
		return -EBADMSG;
	r->is_complete = !t->incomplete;
	r->ended = true;
	err = read_line(r);
	return err > 0 ? -EBADMSG : err;
}

int export_next(struct export_reader *r)
{
	json_t *object;
	int err;

	if (r->ended)
		return 0;
	err = read_line(r);
	if (err <= 0)
		return err ? err : -ENODATA;
	found_group_release(&r->content.group);
	object = json_loadb(r->lines.text, r->lines.len, 0, NULL);
	err = groups_take_line(&r->content, object);
	json_decref(object);
	if (err < 0)
		return err == -EINVAL ? -EBADMSG : err;
	return err == GROUPS_GROUP ? take_content(r) : take_end(r);
}
