/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/export/export.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/hex.h"
#include "core/base/json.h"

/* ---- writing ---- */

/* In place of all digests of a member, the sketch cut to a few values, some 30
 * bytes. */
static int keep_seed(struct found_member *m)
{
	struct digests d = { .size = m->size };
	struct sketch *sketch = calloc(1, sizeof(*sketch));
	struct buf text = { 0 };
	int err = sketch ? digests_from_json(m->digests, &d) : -ENOMEM;

	json_decref(m->digests);
	m->digests = NULL;
	if (!err)
		err = digests_sketch(&d, sketch);
	if (!err) {
		sketch_cut(sketch, EXPORT_SEED_VALUES);
		err = sketch_format(sketch, &text);
	}
	if (!err) {
		m->digests = json_pack("{s:s%}", "sif", text.data, text.len);
		err = m->digests ? 0 : -ENOMEM;
	}
	buf_release(&text);
	digests_release(&d);
	free(sketch);
	return err == -ENODATA ? 0 : err;
}

int export_write(FILE *out, struct groups *g, bool seeds)
{
	json_t *head = json_pack("{s:i, s:I}", "kinfs_export", EXPORT_VERSION,
				 "made", (json_int_t)time(NULL));
	const struct name_list *within = &g->wish->within;
	int event = 0, err;

	head = json_with_path(head, "root", g->root);
	err = json_write_line(
		out, json_with_path(head, "within",
				    within->count ? *within->names : NULL));

	while (!err && (event = groups_next(g)) > 0) {
		if (event == GROUPS_PROGRESS)
			continue;
		if (seeds)
			err = keep_seed(&g->group.members[0]);
		if (!err)
			err = json_write_line(
				out,
				json_pack("{s:o}", "members",
					  found_members_json(&g->group, true)));
	}
	if (err || event)
		return err ? err : event;
	return json_write_line(
		out, json_pack("{s:{s:I, s:I, s:I, s:I, s:b}}", "totals",
			       "groups", (json_int_t)g->totals.groups, "files",
			       (json_int_t)g->totals.files, "failed",
			       (json_int_t)g->totals.failed, "failed_texts",
			       (json_int_t)g->totals.failed_texts, "complete",
			       !g->totals.incomplete));
}

/* ---- reading: the first line ---- */

static int read_head(struct export_reader *r)
{
	const json_t *head, *version;
	int err = lines_next(&r->content.lines);

	if (err < 0 && err != -EINVAL)
		return err == -EFBIG ? -EMEDIUMTYPE : err;
	head = r->content.lines.line;
	version = json_object_get(head, "kinfs_export");
	r->content.root = json_get_path(head, "root");
	r->within = json_get_path(head, "within");
	r->wish.within = (struct name_list){ (const char **)&r->within,
					     r->within != NULL };
	return !json_is_integer(version) ? -EMEDIUMTYPE :
	       json_integer_value(version) != EXPORT_VERSION ?
					   -EPROTONOSUPPORT :
					   0;
}

static int open_file(struct export_reader *r)
{
	FILE *in = fopen(r->path, "re");
	int first;

	if (!in)
		return -errno;
	first = ungetc(getc(in), in);
	if (first != '{' && first != EOF) {
		r->compressed = in;
		in = export_stream(in, "r");
		if (!in)
			return -errno;
	}
	groups_read(&r->content, in);
	return read_head(r);
}

static int open_mount(struct export_reader *r)
{
	int err = mount_find(r->path, &r->mount);

	if (err)
		return err;
	if (!r->mount.listings)
		return -EOPNOTSUPP;
	r->within = strdup(r->mount.rel);
	if (!r->within)
		return -ENOMEM;
	r->wish.within = (struct name_list){ (const char **)&r->within,
					     *r->within != '\0' };
	return groups_ask(&r->content, &r->wish, &r->mount);
}

void export_open(struct export_reader *r, const char *path)
{
	struct stat st;

	*r = (struct export_reader){ .path = path, .wish.every = true };
	if (stat(path, &st))
		r->err = -errno;
	else
		r->err = S_ISDIR(st.st_mode) ? open_mount(r) : open_file(r);
}

void export_close(struct export_reader *r)
{
	groups_close(&r->content);
	digests_release(&r->digests);
	free(r->within);
	mount_release(&r->mount);
	if (r->compressed)
		(void)fclose(r->compressed);
	*r = (struct export_reader){ 0 };
}

/* ---- a content ---- */

static int take_content(struct export_reader *r)
{
	const struct found_group *group = &r->content.group;
	const struct found_member *m = group->members;
	struct digests d = { 0 };
	int err;

	if (group->count != 1 || !m->has_size)
		return -EINVAL;
	d.size = m->size;
	err = digests_from_json(m->digests, &d);
	if (!err && (hex_decode(m->xxh128, strlen(m->xxh128), d.xxh128, 16) ||
		     (r->contents && export_order(&r->digests, &d) >= 0)))
		err = -EINVAL;
	d.set |= DIGEST_BIT(DIGEST_XXH128);
	digests_release(&r->digests);
	r->digests = d;
	r->contents++;
	r->files += m->file_count;
	return err;
}

struct found_member export_take(struct export_reader *r)
{
	struct found_member *m = &r->content.group.members[0], taken = *m;

	json_decref(m->digests);
	taken.digests = NULL;
	*m = (struct found_member){ 0 };
	return taken;
}

bool export_next(struct export_reader *r)
{
	const struct groups *g = &r->content;
	int event = GROUPS_PROGRESS;

	if (r->err)
		return false;
	while (event == GROUPS_PROGRESS)
		event = groups_next(&r->content);
	if (event == GROUPS_GROUP)
		r->err = g->has_totals ? -EINVAL : take_content(r);
	else if (event < 0)
		r->err = event;
	else if (!g->wish && !g->has_totals)
		r->err = -ENODATA;
	else if (g->totals.groups != r->contents || g->totals.files != r->files)
		r->err = -EINVAL;
	r->is_complete =
		event == GROUPS_END && !r->err && !g->totals.incomplete;
	return event == GROUPS_GROUP && !r->err;
}
