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

/* ---- the query ---- */

/* NULL without memory.  No file is as large as a number of JSON can be. */
static json_t *make_query(const struct groups_wish *wish)
{
	uint64_t min_size = wish->filter.min_size < INT64_MAX ?
				    wish->filter.min_size :
				    INT64_MAX;
	json_t *query = json_pack("{s:s, s:b, s:b, s:I}", "relation", "groups",
				  "exact", wish->exact, "every", wish->every,
				  "min_size", (json_int_t)min_size);

	if (query &&
	    !(wish->within.count &&
	      json_object_set_new(
		      query, "within",
		      json_paths(wish->within.names, wish->within.count))) &&
	    !(wish->threshold &&
	      json_object_set_new(query, "threshold",
				  json_integer(wish->threshold))))
		return query;
	json_decref(query);
	return NULL;
}

int groups_ask(struct groups *g, const struct groups_wish *wish,
	       const char *root, const char *listings)
{
	*g = (struct groups){ .wish = wish,
			      .root = strdup(root),
			      .number = UINT64_MAX };
	if (!g->root)
		return -ENOMEM;
	return client_ask(&g->client, listings, make_query(wish));
}

void groups_read(struct groups *g, FILE *in)
{
	*g = (struct groups){ .file = { .in = in } };
}

void groups_close(struct groups *g)
{
	found_group_release(&g->group);
	found_group_release(&g->whole);
	client_close(&g->client);
	free(g->root);
	*g = (struct groups){ 0 };
}

/* ---- a line ---- */

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

static int64_t mtime_of(const json_t *object)
{
	const json_t *exact = json_object_get(object, "mtime_ns");

	return json_is_integer(exact) ?
		       json_integer_value(exact) :
		       time_of(json_object_get(object, "mtime"));
}

static int take_name(struct found_file *f, const json_t *object)
{
	char *name = json_get_path(object, "path");

	return name ? found_file_add_name(f, name) : -EINVAL;
}

static int add_file(struct found_member *m, const json_t *object)
{
	const json_t *links = json_object_get(object, "links");
	/* disk: of an older kin, which did not tell it, the length. */
	struct found_file f = { .disk = m->size, .mtime_ns = mtime_of(object) };
	int err =
		json_get_number(object, "nlink", INT64_MAX, &f.nlink) ?:
			json_get_number(object, "on_disk", INT64_MAX, &f.disk) ?:
			take_name(&f, object);
	size_t i;

	for (i = 0; !err && i < json_array_size(links); i++)
		err = take_name(&f, json_array_get(links, i));
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
	m->digests = json_incref(json_object_get(object, "digests"));
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
	int err = json_array_size(files) ? take_content(m, object) : -EINVAL;
	size_t i;

	for (i = 0; !err && i < json_array_size(files); i++)
		err = add_file(m, json_array_get(files, i));
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
	size_t i;
	int err = 0;

	if (json_object_get(object, "root") ||
	    json_object_get(object, "root_hex")) {
		free(g->root);
		g->root = json_get_path(object, "root");
		err = g->root && *g->root == '/' ? 0 : -EINVAL;
	}
	err = err ?:
		      json_get_number(object, "saved_exact", INT64_MAX, &g->group.saved_exact) ?:
		      json_get_number(object, "saved_near", INT64_MAX,
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

	t->incomplete = complete && !json_is_true(complete);
	return json_get_number(object, "groups", INT64_MAX, &t->groups)       ?:
		       json_get_number(object, "files", INT64_MAX, &t->files) ?:
		       json_get_number(object, "exact_bytes", INT64_MAX, &t->exact_bytes) ?:
		       json_get_number(object, "near_bytes", INT64_MAX,
				       &t->near_bytes);
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
	const double mtime = (double)f->mtime_ns / 1e9;
	json_t *file =
		brief ? json_pack("{s:f}", "mtime", mtime) :
			json_pack("{s:f, s:I, s:o*, s:o*, s:o*}", "mtime",
				  mtime, "on_disk", (json_int_t)f->disk,
				  "removable", f->goes ? json_true() : NULL,
				  "keep", f->keep ? json_true() : NULL, "nlink",
				  f->nlink > 1 ?
					  json_integer((json_int_t)f->nlink) :
					  NULL);

	file = json_with_path(file, "path", f->names[0]);
	if (file &&
	    (brief || f->name_count == 1 ||
	     !json_object_set_new(file, "links",
				  json_paths((const char *const *)f->names + 1,
					     f->name_count - 1))))
		return file;
	json_decref(file);
	return NULL;
}

/* The list with one more item, both taken; NULL without memory. */
static json_t *with_item(json_t *list, json_t *item)
{
	if (!json_array_append_new(list, item))
		return list;
	json_decref(list);
	return NULL;
}

static json_t *member_json(const struct found_member *m, bool brief)
{
	json_t *files = json_array();
	size_t i;

	for (i = 0; i < m->file_count; i++)
		files = with_item(files, file_json(&m->files[i], brief));
	return json_pack(
		"{s:i, s:o*, s:I, s:s, s:o*, s:o, s:O*}", "score", m->score,
		"head", m->score == 100 && !brief ? json_true() : NULL, "size",
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
		members = with_item(members,
				    member_json(&group->members[i], brief));
	return members;
}

/* ---- a group of a mount ---- */

/*
 * The next of what is whole into group.  Without its head, nothing says that
 * the members are alike: the copies of each are a group.  Either the head was
 * left out, or every file of it changed a moment ago.
 */
static int take_whole(struct groups *g)
{
	struct found_member alone;

	if (g->has_head) {
		g->group = g->whole;
		g->whole = (struct found_group){ 0 };
		return 0;
	}
	alone = g->whole.members[--g->whole.count];
	alone.score = 100;
	return found_group_add(&g->group, &alone);
}

static int hand_over(struct groups *g)
{
	struct groups_totals *t = &g->totals;
	int err = 0;

	while (!err && g->whole.count) {
		err = take_whole(g);
		if (!err && found_group_finish(&g->group, g->wish)) {
			t->groups++;
			t->files += g->group.files;
			t->exact_bytes += g->group.saved_exact;
			t->near_bytes += g->group.saved_near;
			return GROUPS_GROUP;
		}
		found_group_release(&g->group);
	}
	return err;
}

/* No more files of the group at hand come. */
static void end_group(struct groups *g)
{
	size_t i;

	g->is_whole = true;
	g->has_head = false;
	for (i = 0; i < g->whole.count && !g->has_head; i++)
		g->has_head = g->whole.members[i].score == 100;
	g->totals.incomplete |=
		g->whole.count && !g->has_head && !g->has_left_out;
	g->has_left_out = false;
}

static bool is_left_out(const struct groups *g, const char *path)
{
	return (!g->wish->vcs && !g->wish->every && keep_is_internal(path)) ||
	       /* The mount leaves out what is too small. */
	       !filter_takes(&g->wish->filter, path, UINT64_MAX);
}

/* The first file of another group ends the one at hand; its line is read
 * again then. */
static int take_file(struct groups *g, const json_t *line)
{
	struct found_member m = { 0 };
	uint64_t number = UINT64_MAX;
	int err = json_get_number(line, "group", INT64_MAX, &number);

	if (!err && number != g->number) {
		end_group(g);
		g->number = number;
		if (g->all)
			g->done = (double)number / (double)g->all;
		return 0;
	}
	if (!err)
		err = take_content(&m, line);
	if (!err)
		err = add_file(&m, line);
	if (!err &&
	    (strlen(m.xxh128) != 32 || !text_is_plain_path(m.files->names[0])))
		err = -EINVAL;
	g->leaves_out = !err && is_left_out(g, m.files->names[0]);
	g->has_left_out |= g->leaves_out;
	if (!err && !g->leaves_out)
		return found_group_add(&g->whole, &m);
	found_member_release(&m);
	return err;
}

/* Another name of the file before. */
static int take_link(struct groups *g, const json_t *line)
{
	char *path = json_get_path(line, "link");
	struct found_member *m;

	if (!path || !text_is_plain_path(path) ||
	    (!g->leaves_out && !g->whole.count)) {
		free(path);
		return -EINVAL;
	}
	/* An internal name is as if it were not seen: the file stays. */
	if (g->leaves_out || is_left_out(g, path)) {
		free(path);
		return 0;
	}
	m = &g->whole.members[g->whole.count - 1];
	return found_file_add_name(&m->files[m->file_count - 1], path);
}

static int take_line(struct groups *g, const json_t *line)
{
	uint64_t threshold = 0, thousandths = 0;

	if (json_object_get(line, "group"))
		return take_file(g, line);
	if (json_object_get(line, "groups")) {
		if (json_get_number(line, "threshold", 100, &threshold) ||
		    json_get_number(line, "groups", INT64_MAX, &g->all))
			return -EINVAL;
		g->totals.threshold = (int)threshold;
		g->is_listing = true;
		g->done = 0;
		return GROUPS_PROGRESS;
	}
	if (!json_object_get(line, "progress"))
		return take_link(g, line);
	if (json_get_number(line, "progress", 1000, &thousandths))
		return -EINVAL;
	g->done = (double)thousandths / 1000;
	return GROUPS_PROGRESS;
}

static int next_of_mount(struct groups *g)
{
	int event, more;

	for (;;) {
		event = g->is_whole ? hand_over(g) : 0;
		if (event || (g->is_whole && g->client.ended))
			return event;
		more = g->is_whole ? 1 : client_next(&g->client);
		g->is_whole = false;
		if (more < 0)
			return more;
		if (!more) {
			if (!json_is_true(json_object_get(g->client.line,
							  "complete")))
				g->totals.incomplete = true;
			end_group(g);
			continue;
		}
		event = take_line(g, g->client.line);
		if (event)
			return event == -EINVAL ? -EBADMSG : event;
	}
}

/* ---- a group of a file ---- */

static int next_of_file(struct groups *g)
{
	json_t *object;
	int event;

	while ((event = lines_next(&g->file, &object)) > 0) {
		event = groups_take_line(g, object);
		json_decref(object);
		if (event)
			break;
	}
	return event;
}

int groups_next(struct groups *g)
{
	found_group_release(&g->group);
	return g->wish ? next_of_mount(g) : next_of_file(g);
}
