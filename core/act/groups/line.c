/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/buf.h"
#include "core/base/hex.h"
#include "core/base/json.h"
#include "core/act/groups/groups.h"

/* A line of what kin groups --json prints. */

/* ---- values ---- */

/* Seconds as nanoseconds, as timespec_to_ns(). */
static int64_t time_of(const json_t *value)
{
	double seconds = json_number_value(value);

	if (seconds >= 9.2e9)
		return INT64_MAX;
	return seconds <= -9.2e9 ? INT64_MIN : (int64_t)(seconds * 1e9);
}

/* Seconds; a date that nanoseconds cannot hold is none. */
static int64_t date_of(const json_t *value)
{
	int64_t seconds = json_integer_value(value);

	return seconds > -9200000000 && seconds < 9200000000 ? seconds : 0;
}

/* ---- a group ---- */

static int64_t mtime_of(const json_t *object)
{
	const json_t *exact = json_object_get(object, "mtime_ns");

	return json_is_integer(exact) ?
		       json_integer_value(exact) :
		       time_of(json_object_get(object, "mtime"));
}

static int add_file(struct found_member *m, const json_t *object)
{
	const json_t *links = json_object_get(object, "links");
	struct found_file f = {
		.path = json_get_path(object, "path"),
		.disk = m->size,
		.mtime_ns = mtime_of(object),
		.keep = json_is_true(json_object_get(object, "keep")),
		.goes = json_is_true(json_object_get(object, "removable")),
	};
	int err = json_get_number(object, "nlink", INT64_MAX, &f.nlink);
	size_t i;

	/* Of an older kin, which did not tell it, the length. */
	if (!err)
		err = json_get_number(object, "on_disk", INT64_MAX, &f.disk);
	for (i = 0; !err && i < json_array_size(links); i++) {
		char *path = json_get_path(json_array_get(links, i), "path");

		err = path ? found_file_add_link(&f, path) : -EINVAL;
	}
	if (!err && !f.path)
		err = -EINVAL;
	return found_member_add(m, &f) ? -ENOMEM : err;
}

static int take_content(struct found_member *m, const json_t *object)
{
	const json_t *hash = json_object_get(object, "xxh128");
	const char *text = json_string_value(hash);
	uint8_t bytes[16];
	uint64_t score = 0;
	int err = json_get_number(object, "size", INT64_MAX, &m->size);

	m->has_size = json_object_get(object, "size") != NULL;
	m->document_date = date_of(json_object_get(object, "document_date"));
	if (!err)
		err = json_get_number(object, "score", 100, &score);
	m->score = (int)score;
	if (err || !hash)
		return err;
	if (!text || strlen(text) != 32 || hex_decode(text, 32, bytes, 16))
		return -EINVAL;
	memcpy(m->xxh128, text, sizeof(m->xxh128));
	return 0;
}

static int parse_member(const json_t *object, struct found_member *m)
{
	const json_t *files = json_object_get(object, "files");
	int err = json_is_array(files) ? take_content(m, object) : -EINVAL;
	size_t i;

	for (i = 0; !err && i < json_array_size(files); i++)
		err = add_file(m, json_array_get(files, i));
	for (i = 0; i < m->file_count && !m->files[i].goes; i++)
		;
	if (!err && i == m->file_count) /* another program does not say it */
		found_member_choose(m, KEEP_OLDEST);
	m->digests = json_incref(json_object_get(object, "digests"));
	return err;
}

/* Not by found_group_add(): members stay apart as they are in the line. */
static int add_member(struct found_group *group, const json_t *object)
{
	struct found_member *all =
		array_with_room(group->members, group->count, sizeof(*all));
	int err;

	if (!all)
		return -ENOMEM;
	group->members = all;
	all += group->count++;
	*all = (struct found_member){ 0 };
	err = parse_member(object, all);
	group->files += all->file_count;
	return err;
}

int groups_line_file(const json_t *object, struct found_member *out)
{
	int err;

	*out = (struct found_member){ 0 };
	err = take_content(out, object);
	if (!err)
		err = add_file(out, object);
	out->digests = json_incref(json_object_get(object, "digests"));
	return err;
}

/* The last member becomes the first. */
static void head_first(struct found_group *group)
{
	struct found_member head = group->members[--group->count];

	memmove(group->members + 1, group->members,
		group->count++ * sizeof(head));
	group->members[0] = head;
}

static int take_group(struct groups *g, const json_t *object)
{
	const json_t *members = json_object_get(object, "members");
	uint64_t threshold = (uint64_t)g->totals.threshold;
	size_t i;
	int err = json_get_number(object, "threshold", 100, &threshold);

	g->totals.threshold = (int)threshold;
	if (!err && (json_object_get(object, "root") ||
		     json_object_get(object, "root_hex"))) {
		free(g->root);
		g->root = json_get_path(object, "root");
		err = g->root && *g->root == '/' ? 0 : -EINVAL;
	}
	if (!err)
		err = json_get_number(object, "saved_exact", INT64_MAX,
				      &g->group.saved_exact);
	if (!err)
		err = json_get_number(object, "saved_near", INT64_MAX,
				      &g->group.saved_near);
	for (i = 0; !err && i < json_array_size(members); i++) {
		const json_t *member = json_array_get(members, i);

		err = add_member(&g->group, member);
		if (!err && json_is_true(json_object_get(member, "head")))
			head_first(&g->group);
	}
	return err ? err : GROUPS_GROUP;
}

static int take_totals(const json_t *object, struct groups_totals *t)
{
	const json_t *complete = json_object_get(object, "complete");
	int err = json_get_number(object, "groups", INT64_MAX, &t->groups);

	t->incomplete = complete && !json_is_true(complete);
	if (!err)
		err = json_get_number(object, "files", INT64_MAX, &t->files);
	if (!err)
		err = json_get_number(object, "exact_bytes", INT64_MAX,
				      &t->exact_bytes);
	if (!err)
		err = json_get_number(object, "near_bytes", INT64_MAX,
				      &t->near_bytes);
	return err;
}

int groups_take_line(struct groups *g, const json_t *object)
{
	const json_t *totals = json_object_get(object, "totals");

	if (json_is_array(json_object_get(object, "members")))
		return take_group(g, object);
	return json_is_object(totals) ? take_totals(totals, &g->totals) :
					-EINVAL;
}
