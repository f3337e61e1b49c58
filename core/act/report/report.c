/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/act/report/report_impl.h"

/* Groups and files are added to a report. */

struct report *report_new(void)
{
	struct report *r = calloc(1, sizeof(*r));

	if (r && report_directories_init(&r->directories)) {
		free(r);
		r = NULL;
	}
	return r;
}

void report_free(struct report *r)
{
	struct report_column *columns[] = {
		&r->member_counts, &r->file_counts, &r->scores,
		&r->sizes,         &r->places,      &r->times,
		&r->keeps,         &r->disks,       &r->pair_scores,
		&r->pair_as,       &r->pair_bs,     &r->unread_places,
		&r->link_counts,   &r->link_places,
	};
	size_t i;

	if (!r)
		return;
	for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		buf_release(&columns[i]->bytes);
	report_directories_release(&r->directories);
	buf_release(&r->names);
	buf_release(&r->links);
	buf_release(&r->unread);
	free(r->root);
	free(r->ranked);
	free(r);
}

int report_column_add(struct report_column *c, uint64_t value)
{
	uint8_t bytes[10];
	size_t len = 0;
	int err;

	do {
		bytes[len] = (uint8_t)((value & 127) | (value > 127) << 7);
		value >>= 7;
		len++;
	} while (value);
	err = buf_append(&c->bytes, bytes, len);
	c->count += !err;
	return err;
}

/* ---- groups ---- */

/* The directory of a path, and the name in it. */
static int split(struct report *r, const char *path, uint32_t *place_out,
		 const char **name_out)
{
	const char *slash = strrchr(path, '/');

	*name_out = slash ? slash + 1 : path;
	return report_directories_find(&r->directories, path,
				       slash ? (size_t)(slash - path) : 0,
				       place_out);
}

/* In whole seconds; 0: not known. */
static uint64_t seconds_of(int64_t ns)
{
	return ns > 0 ? (uint64_t)(ns / 1000000000) : 0;
}

/* *place_out: the directory of the file. */
static int add_file(struct report *r, const struct found_file *file,
		    uint32_t *place_out)
{
	const char *name;
	uint32_t place;
	size_t i;
	int err = split(r, file->path, place_out, &name);

	if (err || (err = report_column_add(&r->places, *place_out)) != 0 ||
	    (err = report_column_add(&r->times, seconds_of(file->mtime_ns))) !=
		    0 ||
	    (err = report_column_add(&r->keeps,
				     file->keep + 2U * file->goes)) != 0 ||
	    (err = report_column_add(&r->disks, file->disk)) != 0 ||
	    (err = report_column_add(&r->link_counts, file->link_count)) != 0)
		return err;
	err = buf_append(&r->names, name, strlen(name) + 1);
	for (i = 0; i < file->link_count && !err; i++) {
		err = split(r, file->links[i], &place, &name);
		if (!err)
			err = report_column_add(&r->link_places, place);
		if (!err)
			err = buf_append(&r->links, name, strlen(name) + 1);
	}
	return err;
}

/* Files that go are exact copies; the first of those that stay is a near copy,
 * unless it is the head. */
static int add_member(struct report *r, const struct found_member *m, bool head)
{
	size_t kept = 0, i;
	uint32_t place;
	int err = report_column_add(&r->file_counts, m->file_count);

	if (!err)
		err = report_column_add(&r->scores, (uint64_t)m->score);
	if (!err)
		err = report_column_add(&r->sizes, m->size);
	while (kept + 1 < m->file_count && m->files[kept].goes)
		kept++;
	for (i = 0; i < m->file_count && !err; i++) {
		const struct found_file *f = &m->files[i];

		err = add_file(r, f, &place);
		if (err || (!f->goes && (i != kept || head)))
			continue;
		r->directories.all[place].own += f->disk;
		*(f->goes ? &r->exact_bytes : &r->near_bytes) += f->disk;
	}
	return err;
}

/* Every content in the page has a file, and every group a content. */
int report_add_group(struct report *r, const struct found_group *group)
{
	size_t count = 0, i;
	int err = 0;

	for (i = 0; i < group->count && !err; i++)
		if (group->members[i].file_count)
			err = add_member(r, &group->members[i], !count++);
	return err || !count ? err :
			       report_column_add(&r->member_counts, count);
}

int report_take(struct report *r, const struct groups *g)
{
	if (g->root && r->root && strcmp(g->root, r->root) != 0)
		return -ENODEV;
	if (g->root && !r->root) {
		r->root = strdup(g->root);
		if (!r->root)
			return -ENOMEM;
	}
	return report_add_group(r, &g->group);
}

const char *report_root(const struct report *r)
{
	return r->root;
}

/* ---- files without digests ---- */

int report_add_unread(struct report *r, const char *path, const char *state)
{
	const char *name;
	uint32_t place;
	int err = split(r, path, &place, &name);

	if (!err)
		err = report_column_add(&r->unread_places, place);
	if (!err)
		err = buf_append(&r->unread, name, strlen(name) + 1);
	if (!err)
		err = buf_append(&r->unread, state, strlen(state) + 1);
	return err;
}
