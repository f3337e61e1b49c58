/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/groups/groups.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/hex.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/index/subject.h"

/* ---- the query ---- */

/* Whether what is internal is asked for, as a whole or by a directory of it. */
static bool takes_internal(const struct groups_wish *wish)
{
	bool asked = wish->internal || wish->every;
	size_t i;

	for (i = 0; i < wish->within.count && !asked; i++)
		asked = path_is_internal(wish->within.names[i]);
	for (i = 0; i < wish->across.count && !asked; i++)
		asked = path_is_internal(wish->across.names[i]);
	return asked;
}

/* NULL without memory.  No file is as large as a number of JSON can be. */
static json_t *make_query(const struct groups_wish *wish)
{
	uint64_t min_size = wish->filter.min_size < INT64_MAX ?
				    wish->filter.min_size :
				    INT64_MAX;

	return json_pack("{s:s, s:b, s:b, s:I, s:o, s:o*, s:o*}", "relation",
			 "groups", "exact", wish->exact, "every", wish->every,
			 "min_size", (json_int_t)min_size, "within",
			 json_paths(wish->within.names, wish->within.count),
			 "threshold",
			 wish->threshold ? json_integer(wish->threshold) : NULL,
			 "internal", takes_internal(wish) ? json_true() : NULL);
}

int groups_ask(struct groups *g, const struct groups_wish *wish,
	       const struct mount *mount)
{
	*g = (struct groups){ .wish = wish, .root = strdup(mount->root) };
	if (!g->root)
		return -ENOMEM;
	return client_ask(&g->lines, mount->listings, make_query(wish));
}

void groups_read(struct groups *g, FILE *in)
{
	*g = (struct groups){ .lines.in = in };
}

void groups_close(struct groups *g)
{
	found_group_release(&g->group);
	found_member_release(&g->next);
	lines_close(&g->lines);
	free(g->root);
	*g = (struct groups){ 0 };
}

/* ---- a line ---- */

/* Seconds; a date that nanoseconds cannot hold is none. */
static int64_t date_of(const json_t *value)
{
	int64_t seconds = json_integer_value(value);

	return seconds > -9200000000 && seconds < 9200000000 ? seconds : 0;
}

/* Nanoseconds; INT64_MAX: they cannot tell it, or it is not told. */
static int64_t mtime_of(const json_t *object)
{
	const json_t *exact = json_object_get(object, "mtime_ns"),
		     *told = json_object_get(object, "mtime");
	double seconds = json_number_value(told);

	return json_is_integer(exact)    ? json_integer_value(exact) :
	       !told || seconds >= 9.2e9 ? INT64_MAX :
	       seconds <= -9.2e9         ? INT64_MIN :
					   (int64_t)(seconds * 1e9);
}

/* Of a mount, which itself leaves out what is too small; NULL: of a file. */
static bool is_left_out(const struct groups_wish *wish, const char *path)
{
	if (!wish)
		return false;
	if (!wish->internal && !wish->every &&
	    name_list_is_internal(&wish->within, path) &&
	    name_list_is_internal(&wish->across, path))
		return true;
	return !filter_takes(&wish->filter, path, UINT64_MAX);
}

/* A name that is left out is as if it were not seen. */
static int take_name(struct found_file *f, const json_t *object,
		     const struct groups_wish *wish)
{
	char *name = json_get_path(object, "path");
	int err = name && (!wish || text_is_plain_path(name)) ? 0 : -EINVAL;

	if (!err && !is_left_out(wish, name))
		return array_add_string(&f->names, &f->name_count, name);
	free(name);
	return err;
}

/* Without a name that is taken the file is left out. */
static int take_file(struct found_member *m, const json_t *object,
		     const struct groups_wish *wish)
{
	const json_t *links = json_object_get(object, "links");
	/* disk: of an older kin, which did not tell it, the length. */
	struct found_file f = { .disk = m->size, .mtime_ns = mtime_of(object) };
	const struct json_place places[] = { { "nlink", &f.nlink },
					     { "on_disk", &f.disk },
					     { NULL, NULL } };
	int err = json_get_numbers(object, places);
	size_t i;

	if (!err)
		err = take_name(&f, object, wish);
	for (i = 0; !err && i < json_array_size(links); i++)
		err = take_name(&f, json_array_get(links, i), wish);
	if (!err && f.name_count)
		return found_member_add(m, &f);
	found_file_release(&f);
	return err;
}

/* A line that does not tell it is of an earlier version. */
static const char *by_of(const json_t *name)
{
	const char *text = json_string_value(name);
	size_t part;

	for (part = 0; text && part < SUBJECT_SPEAKERS; part++)
		if (!strcmp(text, subject_part_names[part]))
			return subject_part_names[part];
	return NULL;
}

static int take_content(struct found_member *m, const json_t *object)
{
	const json_t *hash = json_object_get(object, "xxh128");
	const char *text = json_string_value(hash);
	uint8_t bytes[16];
	uint64_t score = 0;
	int err = json_get_number(object, "size", INT64_MAX, &m->size);

	m->has_size = json_object_get(object, "size") != NULL;
	m->digests = json_incref(json_object_get(object, "digests"));
	m->document_date = date_of(json_object_get(object, "document_date"));
	if (!err)
		err = json_get_number(object, "score", 100, &score);
	m->score = (int)score;
	m->by = by_of(json_object_get(object, "by"));
	if (err || !hash)
		return err;
	if (!text || hex_decode(text, strlen(text), bytes, 16))
		return -EINVAL;
	memcpy(m->xxh128, text, sizeof(m->xxh128));
	return 0;
}

/* To be released in any case. */
static int take_member(struct found_member *m, const json_t *object,
		       const struct groups_wish *wish)
{
	const json_t *files = json_object_get(object, "files");
	int err = json_array_size(files) ? take_content(m, object) : -EINVAL;
	size_t i;

	for (i = 0; !err && i < json_array_size(files); i++)
		err = take_file(m, json_array_get(files, i), wish);
	return err;
}

static int take_group(struct groups *g, const json_t *object)
{
	const json_t *members = json_object_get(object, "members");
	struct found_group *group = &g->group;
	const struct json_place places[] = {
		{ "saved_exact", &group->saved_exact },
		{ "saved_near", &group->saved_near },
		{ NULL, NULL }
	};
	size_t i;
	int err = json_get_numbers(object, places);

	if (json_object_get(object, "root") ||
	    json_object_get(object, "root_hex")) {
		free(g->root);
		g->root = json_get_path(object, "root");
		if (!g->root || *g->root != '/')
			err = -EINVAL;
	}
	for (i = 0; !err && i < json_array_size(members); i++) {
		const json_t *member = json_array_get(members, i);
		struct found_member m = { 0 };

		err = take_member(&m, member, NULL);
		group->files += m.file_count;
		if (found_group_add(group, &m))
			err = -ENOMEM;
		if (err || !json_is_true(json_object_get(member, "head")))
			continue;
		/* It becomes the first. */
		m = group->members[group->count - 1];
		memmove(group->members + 1, group->members,
			(group->count - 1) * sizeof(m));
		group->members[0] = m;
	}
	return err ? err : GROUPS_GROUP;
}

static int take_failed(const json_t *object, struct groups_totals *t)
{
	const struct json_place places[] = { { "failed", &t->failed },
					     { "failed_texts",
					       &t->failed_texts },
					     { NULL, NULL } };

	return json_get_numbers(object, places);
}

static int take_totals(const json_t *object, struct groups_totals *t)
{
	const json_t *complete = json_object_get(object, "complete");
	const struct json_place places[] = { { "groups", &t->groups },
					     { "files", &t->files },
					     { "exact_bytes", &t->exact_bytes },
					     { "near_bytes", &t->near_bytes },
					     { NULL, NULL } };

	int err = json_get_numbers(object, places);

	t->incomplete = complete && !json_is_true(complete);
	return err ? err : take_failed(object, t);
}

int groups_take_line(struct groups *g, const json_t *object)
{
	const json_t *totals = json_object_get(object, "totals");

	if (json_is_array(json_object_get(object, "members")))
		return take_group(g, object);
	g->has_totals |= json_is_object(totals);
	return json_is_object(totals) ? take_totals(totals, &g->totals) :
					-EINVAL;
}

static json_t *file_json(const struct found_file *f, bool brief)
{
	json_t *mtime = f->mtime_ns == INT64_MAX ?
				NULL :
				json_real((double)f->mtime_ns / 1e9);
	json_t *file =
		brief ? json_pack("{s:o*}", "mtime", mtime) :
			json_pack("{s:o*, s:I, s:o*, s:o*, s:o*}", "mtime",
				  mtime, "on_disk", (json_int_t)f->disk,
				  "removable", f->goes ? json_true() : NULL,
				  "keep", f->keep ? json_true() : NULL, "nlink",
				  f->nlink > 1 ?
					  json_integer((json_int_t)f->nlink) :
					  NULL);

	return json_with_names(file, f->names, brief ? 1 : f->name_count);
}

static json_t *member_json(const struct found_member *m, bool brief)
{
	json_t *files = json_array();
	size_t i;

	for (i = 0; i < m->file_count; i++)
		files = json_with_item(files, file_json(&m->files[i], brief));
	return json_pack(
		"{s:i, s:s*, s:o*, s:I, s:s, s:o*, s:o, s:O*}", "score",
		m->score, "by", m->score == 100 || brief ? NULL : m->by, "head",
		m->score == 100 && !brief ? json_true() : NULL, "size",
		(json_int_t)m->size, "xxh128", m->xxh128, "document_date",
		m->document_date && !brief ? json_integer(m->document_date) :
					     NULL,
		"files", files, "digests", m->digests);
}

json_t *found_members_json(const struct found_group *group, bool brief)
{
	json_t *members = json_array();
	size_t i;

	for (i = 0; i < group->count; i++)
		members = json_with_item(
			members, member_json(&group->members[i], brief));
	return members;
}

/* ---- a group of a mount ---- */

/* Puts the files of next where others of its content are. */
static int merge_next(struct groups *g, struct found_member *same)
{
	int err = 0;

	while (!err && g->next.file_count)
		err = found_member_add(same,
				       &g->next.files[--g->next.file_count]);
	found_member_release(&g->next);
	return err;
}

/* The number is what tells: anybody can make two contents of one XXH128.  An older
 * daemon does not say it. */
static bool is_one_content(const struct found_member *a,
			   const struct found_member *b)
{
	return a->group == b->group && a->number == b->number &&
	       a->size == b->size && !strcmp(a->xxh128, b->xxh128);
}

/*
 * Reads a member into the group at hand.  If it begins another group, it stays
 * in next.  The head comes first; without it, nothing says that the members are
 * alike, and the copies of each are a group.  Either the head was left out, or
 * every file of it changed a moment ago.
 */
static int take_listed(struct groups *g, const json_t *line)
{
	struct found_group *group = &g->group;
	struct found_member *next = &g->next, *last, m = { 0 };
	const struct json_place places[] = { { "group", &m.group },
					     { "member", &m.number },
					     { NULL, NULL } };
	int err = json_get_numbers(line, places);
	const uint64_t number = m.group;

	if (!err)
		err = take_member(&m, line, g->wish);
	if (err || !*m.xxh128) {
		found_member_release(&m);
		return err ? err : -EINVAL;
	}
	/* The digests come with the first file, which may be left out. */
	if (!m.digests && is_one_content(next, &m)) {
		m.digests = next->digests;
		next->digests = NULL;
	}
	found_member_release(next);
	*next = m;
	if (m.file_count < json_array_size(json_object_get(line, "files")))
		g->left_out = number + 1;
	if (!m.file_count)
		return 0;
	if (group->count && number == g->number) {
		last = &group->members[group->count - 1];
		if (is_one_content(last, next))
			return merge_next(g, last);
		if (group->members[0].score == 100)
			return found_group_add(group, next);
	}
	if (next->score != 100 && g->left_out != number + 1)
		g->totals.incomplete = true;
	g->number = number;
	if (g->all)
		g->done = (double)number / (double)g->all;
	return 0;
}

/* 0, or an event. */
static int take_line(struct groups *g, const json_t *line)
{
	uint64_t threshold = 0, thousandths = 0;
	int err = -EINVAL;

	if (json_object_get(line, "group"))
		return take_listed(g, line);
	if (json_object_get(line, "groups")) {
		err = json_get_number(line, "threshold", 100, &threshold);
		if (!err)
			err = json_get_number(line, "groups", INT64_MAX,
					      &g->all);
		g->totals.threshold = (int)threshold;
		g->is_listing = true;
		g->done = 0;
	} else if (json_object_get(line, "progress")) {
		err = json_get_number(line, "progress", 1000, &thousandths);
		g->done = (double)thousandths / 1000;
	}
	/* Not amid a group, which the next call would release. */
	return err ? err : g->group.count ? 0 : GROUPS_PROGRESS;
}

/* Reads until next is there, the end, or an event. */
static int read_lines(struct groups *g)
{
	int event = 0, more;

	while (!event && !g->next.file_count && !g->lines.ended) {
		more = client_next(&g->lines);
		if (more < 0)
			return more;
		if (more) {
			event = take_line(g, g->lines.line);
			continue;
		}
		if (!json_is_true(json_object_get(g->lines.line, "complete")))
			g->totals.incomplete = true;
		event = take_failed(g->lines.line, &g->totals);
	}
	return event == -EINVAL ? -EBADMSG : event;
}

static int next_of_mount(struct groups *g)
{
	struct groups_totals *t = &g->totals;
	int event;

	do {
		found_group_release(&g->group);
		event = g->next.file_count ?
				found_group_add(&g->group, &g->next) :
				0;
		event = event ? event : read_lines(g);
		if (event)
			return event;
		if (found_group_finish(&g->group, g->wish)) {
			t->groups++;
			t->files += g->group.files;
			t->exact_bytes += g->group.saved_exact;
			t->near_bytes += g->group.saved_near;
			return GROUPS_GROUP;
		}
	} while (!g->lines.ended);
	return GROUPS_END;
}

/* ---- a group ---- */

int groups_next(struct groups *g)
{
	int event;

	if (g->wish)
		return next_of_mount(g);
	found_group_release(&g->group);
	while ((event = lines_next(&g->lines)) > 0) {
		event = groups_take_line(g, g->lines.line);
		if (event)
			break;
	}
	return event;
}
