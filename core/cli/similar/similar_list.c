/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/cli/similar/content.h"

const char *const similar_relation_names[SIMILAR_RELATIONS] = {
	[SIMILAR_COPY] = "copy",
	[SIMILAR_VERSION] = "version",
	[SIMILAR_PICTURE] = "picture",
	[SIMILAR_WITHIN] = "within",
	[SIMILAR_CONTAINS] = "contains",
	[SIMILAR_SHARES] = "shares",
	[SIMILAR_BOILERPLATE] = "boilerplate",
};

const enum index_relation similar_found_by[SIMILAR_RELATIONS] = {
	[SIMILAR_COPY] = INDEX_ALIKE,        [SIMILAR_VERSION] = INDEX_ALIKE,
	[SIMILAR_PICTURE] = INDEX_ALIKE,     [SIMILAR_WITHIN] = INDEX_WITHIN,
	[SIMILAR_CONTAINS] = INDEX_CONTAINS, [SIMILAR_SHARES] = INDEX_SHARES,
	[SIMILAR_BOILERPLATE] = INDEX_ALL,
};

enum similar_relation similar_relation_of(enum index_relation found_by,
					  const struct verdict *v)
{
	if (found_by == INDEX_ALL && v->reason == VERDICT_BOILERPLATE)
		return SIMILAR_BOILERPLATE;
	switch (found_by) {
	case INDEX_WITHIN:
		return SIMILAR_WITHIN;
	case INDEX_CONTAINS:
		return SIMILAR_CONTAINS;
	case INDEX_SHARES:
		return SIMILAR_SHARES;
	default:
		return v->score == 100          ? SIMILAR_COPY :
		       v->by == SUBJECT_PICTURE ? SIMILAR_PICTURE :
						  SIMILAR_VERSION;
	}
}

/* ---- rows ---- */

void similar_row_release(struct similar_row *row)
{
	free(row->path);
	free(row->host);
	*row = (struct similar_row){ .path = NULL };
}

void similar_set_measures(struct similar_job *job, const struct digests *d,
			  struct similar_row *row)
{
	row->has_measures =
		job->table.output.verbose &&
		!measures_take(similar_own_digests(job), d, &row->measures);
}

/* Sets what the file system knows of a path of the mount. */
static void look_at(struct similar_job *job, struct similar_row *row)
{
	char *path = path_shown(row->root, row->path, false);
	struct digests d = { 0 };
	struct stat st;

	row->size = row->on_disk = -1;
	row->mtime_ns = INT64_MAX;
	if (path && !stat(path, &st)) {
		row->mtime_ns = timespec_to_ns(&st.st_mtim);
		if (S_ISREG(st.st_mode)) {
			row->size = st.st_size;
			row->on_disk = st.st_blocks * 512;
		}
		if (S_ISREG(st.st_mode) && job->table.output.verbose) {
			(void)mount_told_digests(&job->mount, row->path,
						 DIGEST_DEFAULT, &d);
			similar_set_measures(job, &d, row);
			digests_release(&d);
		}
	}
	free(path);
}

int similar_add(struct similar_job *job, const struct similar_row *row)
{
	struct similar_row new = *row, *rows;
	int err = new.path ? 0 : -ENOMEM;

	if (!err &&
	    !(job->is_directory && new.verdict.score < job->best.threshold) &&
	    (job->relation == SIMILAR_RELATIONS ||
	     job->relation == new.relation) &&
	    (!job->within || new.host || path_below(new.path, job->within))) {
		if (!job->in && !new.host)
			look_at(job, &new);
		if (filter_takes(&job->filter, new.path, (uint64_t) new.size)) {
			rows = array_with_room(job->rows, job->row_count,
					       sizeof(*rows));
			if (rows) {
				job->rows = rows;
				rows[job->row_count++] = new;
				return 0;
			}
			err = -ENOMEM;
		}
	}
	similar_row_release(&new);
	return err;
}

int similar_keep_nearer(struct similar_row *best, const struct similar_row *row)
{
	struct similar_row new = *row;
	const struct verdict *v = &new.verdict, *old = &best->verdict;
	const bool nearer = new.relation == SIMILAR_SHARES ?
				    v->bytes > old->bytes :
				    v->score > old->score;

	if (!new.path)
		return -ENOMEM;
	if (!nearer) {
		similar_row_release(&new);
		return 0;
	}
	similar_row_release(best);
	*best = new;
	return 0;
}

json_t *similar_row_json(const struct similar_job *job,
			 const struct similar_row *row)
{
	const struct verdict *v = &row->verdict;
	const struct measures *m = &row->measures;
	/* Boilerplate is known where there is a mount. */
	const int distinctive = job->mount.root ? v->distinctive : -1;
	json_t *o = json_pack(
		"{s:s, s:i, s:o*, s:s, s:s, s:I, s:s*, s:o*, s:o*, s:o*}",
		"relation", similar_relation_names[row->relation], "score",
		v->score, "distinctive", row_number(distinctive), "reason",
		verdict_reason_names[v->reason], "by",
		subject_part_names[v->by], "shared", (json_int_t)v->bytes,
		"host", row->host, "size", row_number(row->size), "on_disk",
		row_number(row->on_disk), "mtime", row_time(row->mtime_ns));
	int id;

	for (id = 0; row->has_measures && id < DIGEST_COUNT; id++)
		if (m->by_digest[id] >= 0 && id != DIGEST_XXH128)
			(void)json_object_set_new(
				o, digest_table[id]->name,
				json_integer(m->by_digest[id]));
	if (row->has_measures && m->distance >= 0)
		(void)json_object_set_new(o, "simhash_distance",
					  json_integer(m->distance));
	if (row->has_measures && m->matches >= 0)
		(void)json_object_set_new(o, "rdc_matches",
					  json_integer(m->matches));
	o = json_with_path(o, "of", job->name);
	o = json_with_path(o, "path", row->path);
	return json_with_path(o, "root", row->root);
}

/* ---- the list ---- */

static int by_path(const void *a, const void *b)
{
	const struct similar_row *x = a, *y = b;
	int order = !!x->host - !!y->host;

	if (!order)
		order = strcmp(x->path, y->path);
	return order ? order : (int)x->relation - (int)y->relation;
}

/* Files here before those of other hosts. */
static int by_score(const void *a, const void *b)
{
	const struct similar_row *x = a, *y = b;
	const struct verdict *v = &x->verdict, *w = &y->verdict;

	if (x->relation != y->relation)
		return x->relation < y->relation ? -1 : 1;
	if (v->score != w->score)
		return v->score > w->score ? -1 : 1;
	if (x->relation == SIMILAR_SHARES && v->bytes != w->bytes)
		return v->bytes > w->bytes ? -1 : 1;
	return by_path(a, b);
}

/* Each file once, by the first of its relations. */
static void sort_rows(struct similar_job *job)
{
	struct similar_row *rows = job->rows;
	size_t kept = 0, i;

	if (!job->row_count)
		return;
	qsort(rows, job->row_count, sizeof(*rows), by_path);
	for (i = 1; i < job->row_count; i++)
		if (!rows[i].host == !rows[kept].host &&
		    !strcmp(rows[i].path, rows[kept].path))
			similar_row_release(&rows[i]);
		else
			rows[++kept] = rows[i];
	job->row_count = kept + 1;
	qsort(rows, job->row_count, sizeof(*rows), by_score);
}

/* Sets how many bytes of a file are in passages that a row's file has, too; of one
 * that cannot be read 0. */
static int count_shared(const struct content *own, size_t least,
			struct similar_row *row)
{
	char *path = path_shown(row->root, row->path, false);
	struct content other = { 0 };
	struct passage *all = NULL;
	size_t count = 0;
	int err =
		path ? content_compare(own, path, least, &other, &all, &count) :
		       -ENOMEM;

	for (row->verdict.bytes = 0; count--;)
		row->verdict.bytes += all[count].a_end - all[count].a;
	free(all);
	free(path);
	content_release(&other);
	return err == -ENOMEM ? err : 0;
}

/* Drops those that have no passage as long as asked for. */
static int verify_passages(struct similar_job *job)
{
	struct content own = { 0 };
	size_t kept = 0, i;
	int err = content_read(job->path, &own);

	for (i = 0; i < job->row_count; i++) {
		struct similar_row *row = &job->rows[i];
		const bool shares = row->relation == SIMILAR_SHARES;

		if (shares && !err)
			err = count_shared(&own, job->share_min, row);
		if (err || (shares && !row->verdict.bytes))
			similar_row_release(row);
		else
			job->rows[kept++] = *row;
	}
	job->row_count = kept;
	content_release(&own);
	return err;
}

/* With several operands each has a list of its own. */
static void print_heading(struct similar_job *job)
{
	if (!job->several || job->table.output.json || job->table.output.nul)
		return;
	if (job->table.rows)
		putchar('\n');
	utf8_print_safe(stdout, job->path);
	puts(":");
	job->table.has_titles = false;
}

int similar_print(struct similar_job *job)
{
	size_t count, i;
	int err = 0;

	sort_rows(job);
	if (similar_verifies(job))
		err = verify_passages(job);
	count = job->row_count;
	if (job->best.limit && count > job->best.limit) {
		count = job->best.limit;
		job->cut = true;
	}
	if (count && !err)
		print_heading(job);
	for (i = 0; i < count && !err; i++)
		err = table_row(&job->table,
				similar_row_json(job, &job->rows[i]));
	return err;
}

/* ---- what is not in it ---- */

/* Appends the nearest file, and why it is not listed. */
static void append_nearest(const struct similar_job *job, const char *path,
			   struct buf *out)
{
	const struct similar_row *row = &job->nearest;
	const struct filter *f = &job->filter;
	const bool is_boilerplate = row->relation == SIMILAR_BOILERPLATE;
	const bool by_threshold = job->relation == SIMILAR_RELATIONS &&
				  !f->include.count && !f->exclude.count &&
				  !f->min_size;
	const int score = row->verdict.score;

	if (!path) {
		(void)buf_append_text(out, "nothing here resembles it");
		return;
	}
	if (score < job->rules.threshold)
		(void)buf_append_format(out, "nothing here is %d %% alike",
					job->rules.threshold);
	else
		(void)buf_append_text(out, "nothing here is listed");
	(void)buf_append_format(out, "; the nearest, %s, is %d %%", path,
				score);
	if (is_boilerplate)
		(void)buf_append_text(out, ", but mere boilerplate "
					   "(--relation boilerplate)");
	else if (score < job->rules.threshold && by_threshold)
		(void)buf_append_format(out, " (--threshold %d lists it)",
					score);
	else if (score >= job->rules.threshold)
		(void)buf_append_text(out, ", and an option or kin ignore "
					   "leaves it out");
}

void similar_complain_near(struct similar_job *job)
{
	const struct similar_row *rows[] = { &job->nearest, &job->longest };
	char *paths[2] = { NULL }, size[TEXT_SIZE_ROOM], least[TEXT_SIZE_ROOM];
	struct buf text = { 0 };
	struct sketch sketch;
	int i;

	for (i = 0; i < 2; i++)
		if (rows[i]->path)
			paths[i] = path_shown(job->mount.root, rows[i]->path,
					      job->table.relative);
	append_nearest(job, paths[0], &text);
	(void)size_text(job->rules.share_min, least);
	if (!similar_asks(job, INDEX_SHARES))
		;
	else if (paths[1])
		(void)buf_append_format(
			&text,
			"; the longest passage in common has %s, "
			"--share-min is %s: %s",
			size_text(job->longest.verdict.bytes, size), least,
			paths[1]);
	else if (!digests_sketch(similar_own_digests(job), &sketch))
		(void)buf_append_format(
			&text,
			"; no passage of %s or more is in common, --share-min %s",
			text_format_size((double)judge_least_passage(&sketch),
					 TEXT_UNITS_FULL, size),
			least);
	cli_complain(job->name, "%s", text.data ? text.data : "");
	buf_release(&text);
	free(paths[0]);
	free(paths[1]);
}
