/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/text.h"

const char *const similar_relation_names[SIMILAR_RELATIONS] = {
	[SIMILAR_COPY] = "copy",         [SIMILAR_VERSION] = "version",
	[SIMILAR_CONTAINS] = "contains", [SIMILAR_WITHIN] = "within",
	[SIMILAR_SHARES] = "shares",     [SIMILAR_BOILERPLATE] = "boilerplate",
};

/* ---- relations ---- */

/* Whether a hit of that kind is to be listed. */
static bool is_wanted(const struct similar_job *job, enum similar_relation r)
{
	return job->relation ?
		       !strcmp(job->relation, similar_relation_names[r]) :
		       r != SIMILAR_BOILERPLATE;
}

bool similar_next(const struct similar_job *job, int *at_io,
		  enum index_relation *out)
{
	static const struct {
		enum index_relation relation;
		enum similar_relation first, second; /* that it finds */
	} all[] = {
		{ INDEX_ALIKE, SIMILAR_COPY, SIMILAR_VERSION },
		{ INDEX_WITHIN, SIMILAR_WITHIN, SIMILAR_WITHIN },
		{ INDEX_CONTAINS, SIMILAR_CONTAINS, SIMILAR_CONTAINS },
		{ INDEX_SHARES, SIMILAR_SHARES, SIMILAR_SHARES },
		{ INDEX_ALL, SIMILAR_BOILERPLATE, SIMILAR_BOILERPLATE },
	};

	for (; *at_io < (int)(sizeof(all) / sizeof(all[0])); ++*at_io)
		if (is_wanted(job, all[*at_io].first) ||
		    is_wanted(job, all[*at_io].second)) {
			*out = all[(*at_io)++].relation;
			return true;
		}
	return false;
}

enum similar_relation similar_relation_of(enum index_relation relation,
					  int score, enum verdict_reason reason)
{
	switch (relation) {
	case INDEX_WITHIN:
		return SIMILAR_WITHIN;
	case INDEX_CONTAINS:
		return SIMILAR_CONTAINS;
	case INDEX_SHARES:
		return SIMILAR_SHARES;
	default:
		return score == 100                  ? SIMILAR_COPY :
		       reason == VERDICT_BOILERPLATE ? SIMILAR_BOILERPLATE :
						       SIMILAR_VERSION;
	}
}

/* ---- the list ---- */

static void hit_release(struct similar_hit *hit)
{
	free(hit->path);
	free((char *)hit->host);
}

int similar_hits_add(struct similar_hits *hits, const struct similar_hit *hit)
{
	struct similar_hit *all =
		array_with_room(hits->all, hits->count, sizeof(*all));
	struct similar_hit copy = *hit;

	if (all)
		hits->all = all;
	copy.path = strdup(hit->path);
	copy.host = hit->host ? strdup(hit->host) : NULL;
	if (!all || !copy.path || (hit->host && !copy.host)) {
		hit_release(&copy);
		return -ENOMEM;
	}
	all[hits->count++] = copy;
	return 0;
}

void similar_hits_release(struct similar_hits *hits)
{
	while (hits->count)
		hit_release(&hits->all[--hits->count]);
	free(hits->all);
	*hits = (struct similar_hits){ 0 };
}

/* Of two relations to one file the first is told. */
static int by_path(const void *a, const void *b)
{
	const struct similar_hit *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	if (!order)
		order = !!x->host - !!y->host;
	return order ? order : (int)x->relation - (int)y->relation;
}

/* Files here before those of other hosts. */
static int by_score(const void *a, const void *b)
{
	const struct similar_hit *x = a, *y = b;

	if (x->relation != y->relation)
		return (int)x->relation - (int)y->relation;
	if (x->score != y->score)
		return y->score - x->score;
	if (x->shared != y->shared)
		return x->shared < y->shared ? 1 : -1;
	if (!x->host != !y->host)
		return !x->host ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* What the file system knows of it.  False: it is the file itself. */
static bool look_at(const struct similar_job *job, struct similar_hit *hit)
{
	char *path = hit->root && !job->in ?
			     path_shown(hit->root, hit->path, NULL) :
			     NULL;
	struct digests d = { 0 };
	struct stat st;
	bool other = true;

	if (path && !stat(path, &st)) {
		other = st.st_ino != job->self.st_ino ||
			st.st_dev != job->self.st_dev;
		if (S_ISREG(st.st_mode)) {
			hit->size = st.st_size;
			hit->on_disk = (int64_t)st.st_blocks * 512;
		}
		hit->mtime_ns = timespec_to_ns(&st.st_mtim);
		hit->has_mtime = true;
	}
	if (path && other && job->output.verbose && hit->size >= 0) {
		(void)cli_told_digests(path, DIGEST_DEFAULT, &d);
		hit->has_measures =
			!measures_take(&job->digests, &d, &hit->measures);
		digests_release(&d);
	}
	free(path);
	return other;
}

static bool is_listed(const struct similar_job *job, struct similar_hit *hit)
{
	const char *within = hit->root && !job->in ? job->within : NULL;

	return is_wanted(job, hit->relation) &&
	       (!within || path_below(hit->path, within)) &&
	       look_at(job, hit) &&
	       filter_takes(&job->filter, hit->path,
			    hit->size < 0 ? UINT64_MAX : (uint64_t)hit->size);
}

static void settle(struct similar_job *job)
{
	struct similar_hits *h = &job->hits;
	size_t i, kept = 0;

	if (h->count)
		qsort(h->all, h->count, sizeof(*h->all), by_path);
	for (i = 0; i < h->count; i++) {
		bool again = kept &&
			     !strcmp(h->all[kept - 1].path, h->all[i].path) &&
			     !h->all[kept - 1].host == !h->all[i].host;

		if (!again && is_listed(job, &h->all[i]))
			h->all[kept++] = h->all[i];
		else
			hit_release(&h->all[i]);
	}
	h->count = kept;
	if (kept)
		qsort(h->all, kept, sizeof(*h->all), by_score);
	while (job->best.limit && h->count > job->best.limit) {
		hit_release(&h->all[--h->count]);
		job->cut = true;
	}
}

/* ---- printing ---- */

static struct cell measure(const struct similar_hit *hit, int value)
{
	return cell_number(hit->has_measures ? value : -1);
}

static int print_hit(struct similar_job *job, const struct similar_hit *hit)
{
	const struct measures *m = &hit->measures;
	const struct cell cells[] = {
		cell_path(job->of ? job->of : job->path, NULL),
		cell_number(hit->score),
		cell_word(similar_relation_names[hit->relation]),
		cell_number(hit->distinctive),
		cell_word(hit->by_text ? "text" : NULL),
		cell_number(hit->shared),
		measure(hit, m->by_digest[DIGEST_SISE]),
		measure(hit, m->by_digest[DIGEST_SIMHASH]),
		measure(hit, m->by_digest[DIGEST_RDC]),
		measure(hit, m->by_digest[DIGEST_SIF]),
		measure(hit, m->by_digest[DIGEST_SSDEEP]),
		measure(hit, m->distance),
		measure(hit, m->matches),
		cell_number(hit->size),
		cell_number(hit->on_disk),
		hit->has_mtime ? cell_time(hit->mtime_ns) : cell_none(),
		cell_word(hit->host),
		cell_path(hit->path, hit->root),
	};

	return table_row(&job->table, cells);
}

/* With several operands each has a list of its own. */
static void print_heading(struct similar_job *job)
{
	if (!job->several || job->output.json || job->output.nul)
		return;
	if (job->found)
		putchar('\n');
	cli_print_escaped(job->path, ESCAPE_TERMINAL);
	puts(":");
	job->table.has_titles = false;
}

int similar_print(struct similar_job *job)
{
	size_t i;
	int code = EXIT_OK;

	settle(job);
	if (job->hits.count)
		print_heading(job);
	for (i = 0; i < job->hits.count && !code; i++)
		code = print_hit(job, &job->hits.all[i]);
	job->found += job->hits.count;
	return code ? 1 : 0;
}

/* ---- nothing was found ---- */

/* The value of an option, else that of the mount, else the one that kinfs takes by
 * itself. */
static uint64_t setting(const struct similar_job *job, uint64_t wish,
			const char *key, json_int_t otherwise)
{
	const json_int_t told =
		json_integer_value(json_object_get(job->mount.status, key));

	return wish ? wish : (uint64_t)(told > 0 ? told : otherwise);
}

int similar_threshold(const struct similar_job *job)
{
	return (int)setting(job, (uint64_t)job->best.threshold, "threshold",
			    60);
}

uint64_t similar_share_min(const struct similar_job *job)
{
	return setting(job, job->share_min, "share_min", INDEX_SHARE_MIN);
}

static char *shown(const struct similar_job *job, const struct similar_hit *hit)
{
	return path_shown(job->mount.root, hit->path, job->table.base);
}

static void append_passage(const struct similar_job *job,
			   const struct similar_hit *longest, struct buf *out)
{
	char size[TEXT_SIZE_ROOM], least[TEXT_SIZE_ROOM];
	struct sketch *sketch = malloc(sizeof(*sketch));
	char *path = longest ? shown(job, longest) : NULL;

	(void)text_format_size((double)similar_share_min(job), TEXT_UNITS_BRIEF,
			       least);
	if (path)
		(void)buf_append_format(
			out, "; longest passage: %s, --share-min %s, %s",
			text_format_size((double)longest->shared,
					 TEXT_UNITS_BRIEF, size),
			least, path);
	else if (sketch && !digests_sketch(&job->digests, sketch))
		(void)buf_append_format(
			out, "; no passage of %s or more, --share-min %s",
			text_format_size((double)judge_least_passage(sketch),
					 TEXT_UNITS_FULL, size),
			least);
	free(sketch);
	free(path);
}

void similar_complain_near(struct similar_job *job, struct similar_hits *near)
{
	const struct similar_hit *best = NULL, *longest = NULL;
	const int threshold = similar_threshold(job);
	struct buf text = { 0 };
	char *path;
	size_t i;

	for (i = 0; i < near->count; i++) {
		struct similar_hit *hit = &near->all[i];

		if (!look_at(job, hit))
			continue;
		if (hit->shared < 0 && (!best || hit->score > best->score))
			best = hit;
		if (hit->shared > 0 &&
		    (!longest || hit->shared > longest->shared))
			longest = hit;
	}
	path = best ? shown(job, best) : NULL;
	if (!path || !best->score)
		(void)buf_append_text(&text, "nothing resembles it");
	else if (best->score < threshold)
		(void)buf_append_format(&text, "nearest: %d, threshold %d, %s",
					best->score, threshold, path);
	else
		(void)buf_append_format(&text, "nearest: %d, %s, %s",
					best->score,
					best->relation == SIMILAR_BOILERPLATE ?
						"but mere boilerplate "
						"(--relation boilerplate)" :
						"which an option leaves out",
					path);
	if (!job->relation ||
	    !strcmp(job->relation, similar_relation_names[SIMILAR_SHARES]))
		append_passage(job, longest, &text);
	cli_complain(job->of ? job->of : job->path, "%s",
		     text.data ? text.data : "nothing resembles it");
	buf_release(&text);
	free(path);
}
