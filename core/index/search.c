/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/index_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/index/judge_rules.h"

/* ---- what a caller may learn of ---- */

/* The ids of a key, and behind them the contents that these stand for; the
 * caller frees the array. */
static int copy_list(struct index *ix, uint32_t key, uint32_t **out,
		     size_t *count_out)
{
	const struct row *row;
	size_t count, i;
	uint32_t *ids = NULL;

	(void)pthread_rwlock_rdlock(&ix->rows_lock);
	count = postings_find(ix->postings, key, NULL, 0);
	if (count)
		ids = malloc(2 * count * sizeof(*ids));
	if (ids)
		(void)postings_find(ix->postings, key, ids, count);
	for (i = 0; ids && i < count; i++) {
		row = index_row(ix, ids[i]);
		ids[count + i] = row ? row_content(row) : ids[i];
	}
	(void)pthread_rwlock_unlock(&ix->rows_lock);
	if (count && !ids)
		return -ENOMEM;
	*out = ids;
	*count_out = count;
	return 0;
}

int visible_find(struct index *ix, const struct index_visibility *v,
		 uint32_t key, size_t most, uint32_t *out, size_t *count_out)
{
	size_t count, kept = 0, i;
	uint32_t *ids;
	int err = copy_list(ix, key, &ids, &count);

	if (err)
		return err;
	for (i = 0; i < count && kept <= most; i++)
		if (v->is_visible(v->arg, ids[count + i], ids[i]))
			out[kept++] = ids[i];
	free(ids);
	*count_out = kept;
	return 0;
}

uint32_t visible_limit(struct index *ix)
{
	uint32_t limit;

	(void)pthread_rwlock_rdlock(&ix->rows_lock);
	limit = postings_limit(ix->postings);
	(void)pthread_rwlock_unlock(&ix->rows_lock);
	return limit;
}

/* A value of few contents has the full weight for every caller, so visibility
 * is not asked for. */
static int count_visible(struct visible_index *v, uint32_t key,
			 size_t *count_out)
{
	uint32_t ids[INDEX_VISIBLE_MAX + 1];
	size_t count;

	(void)pthread_rwlock_rdlock(&v->ix->rows_lock);
	count = postings_find(v->ix->postings, key, NULL, 0);
	(void)pthread_rwlock_unlock(&v->ix->rows_lock);
	*count_out = count;
	if (count <= WEIGHT_FEW)
		return 0;
	return visible_find(v->ix, v->visibility, key, INDEX_VISIBLE_MAX, ids,
			    count_out);
}

uint32_t visible_contents(void *arg, uint64_t value)
{
	struct visible_index *v = arg;
	uint32_t key = posting_key(value);
	struct index_count *known =
		&v->visibility->counts[key % INDEX_COUNT_SLOTS];
	size_t count = 0;
	int err;

	if (key >= v->limit)
		return 0;
	if (known->contents && known->key == key)
		return known->contents;
	err = count_visible(v, key, &count);
	if (err && !v->err)
		v->err = err;
	known->key = key;
	known->contents = count ? (uint32_t)count : 1;
	return known->contents;
}

/* How a caller sees the index. */
struct view {
	struct visible_index visible;
	struct weigher weigher;
};

static void view_init(struct view *v, struct index *ix,
		      struct index_visibility *visibility)
{
	v->visible =
		(struct visible_index){ .ix = ix, .visibility = visibility };
	if (visibility)
		v->visible.limit = visible_limit(ix);
	v->weigher = visibility ?
			     (struct weigher){ NULL, visible_contents,
					       &v->visible } :
			     (struct weigher){ .frequency = ix->frequency };
}

/* Frequencies are read with the lock held; is_visible() is called without a
 * lock. */
static void view_lock(const struct view *v)
{
	if (!v->visible.visibility)
		(void)pthread_rwlock_rdlock(&v->visible.ix->rows_lock);
}

static void view_unlock(const struct view *v)
{
	if (!v->visible.visibility)
		(void)pthread_rwlock_unlock(&v->visible.ix->rows_lock);
}

static int view_weigh(struct view *v, const struct subject *subject,
		      struct weighed_subject *out)
{
	view_lock(v);
	weigh_subject(&v->weigher, subject, out);
	view_unlock(v);
	return v->visible.err;
}

static int view_judge(struct view *v, const struct weighed_subject *a,
		      const struct subject *b, const struct judge_rules *rules,
		      struct verdict *out)
{
	view_lock(v);
	judge_subjects(&v->weigher, a, b, rules, out);
	view_unlock(v);
	return v->visible.err;
}

int index_judge(struct index *ix, struct index_visibility *visibility,
		const struct subject *a, const struct subject *b,
		const struct judge_rules *rules, struct verdict *out)
{
	struct weighed_subject *own = malloc(sizeof(*own));
	struct view view;
	int err;

	if (!own)
		return -ENOMEM;
	view_init(&view, ix, visibility);
	err = view_weigh(&view, a, own);
	if (!err)
		err = view_judge(&view, own, b, rules, out);
	free(own);
	return err;
}

int index_match_order(const void *a, const void *b)
{
	const struct index_match *x = a, *y = b;

	if (x->verdict.score != y->verdict.score)
		return y->verdict.score - x->verdict.score;
	if (x->verdict.distinctive != y->verdict.distinctive)
		return y->verdict.distinctive - x->verdict.distinctive;
	if (x->verdict.bytes != y->verdict.bytes)
		return x->verdict.bytes < y->verdict.bytes ? 1 : -1;
	return x->content < y->content ? -1 : x->content > y->content;
}

/* ---- searching ---- */

int index_fetch_subject(const struct index_store *store,
			const uint32_t ids[SUBJECT_PARTS],
			struct sketch room[SUBJECT_PARTS], struct subject *out)
{
	int part, err;

	for (part = 0; part < SUBJECT_PARTS; part++) {
		out->sketches[part] = NULL;
		err = ids[part] ? store->sketch(store->arg, ids[part],
						&room[part]) :
				  -ENOENT;
		if (err && err != -ENOENT)
			return err;
		if (!err)
			out->sketches[part] = &room[part];
	}
	out->has_picture = false;
	if (!ids[SUBJECT_TEXT] || out->sketches[SUBJECT_TEXT] ||
	    !store->picture)
		return 0;
	err = store->picture(store->arg, ids[SUBJECT_TEXT], &out->picture);
	out->has_picture = !err;
	return err == -ENOENT ? 0 : err;
}

/* ---- pictures ---- */

/* A picture that is alike. */
struct picture_found {
	uint32_t id, content;
	unsigned bits; /* that differ */
	enum pdq_turn turn;
};

static int by_bits(const void *a, const void *b)
{
	const struct picture_found *x = a, *y = b;

	if (x->bits != y->bits)
		return x->bits < y->bits ? -1 : 1;
	return x->content < y->content ? -1 : x->content > y->content;
}

/* All that are alike, the nearest first, also those that the caller may not learn
 * of: they must not take the room of others. */
static int find_pictures(struct index *ix, const struct index_query *q,
			 const struct weighed_subject *own,
			 struct picture_found **out, size_t *count_out)
{
	const int most = judge_picture_bits(&q->rules);
	struct picture_found *all = NULL, *more, found;
	const struct picture_row *row;
	size_t i, count = 0;
	int err = 0;

	(void)pthread_rwlock_rdlock(&ix->rows_lock);
	for (i = 0; most >= 0 && i < ix->picture_count && !err; i++) {
		row = &ix->pictures[i];
		found.id = row->id;
		found.content = row->content;
		found.bits = judge_picture_distance(
			own, &row->hash, (unsigned)most, &found.turn);
		if (found.bits > (unsigned)most || row->content == q->self)
			continue;
		more = array_with_room(all, count, sizeof(*all));
		if (more) {
			all = more;
			all[count++] = found;
		} else {
			err = -ENOMEM;
		}
	}
	(void)pthread_rwlock_unlock(&ix->rows_lock);
	if (count)
		qsort(all, count, sizeof(*all), by_bits);
	*out = all;
	*count_out = count;
	return err;
}

/* Adds them to the matches, of which there are so many and room for as many more as
 * are searched for; those that were found by their bytes keep the better
 * verdict. */
static int add_pictures(struct index *ix, const struct index_query *q,
			const struct weighed_subject *own,
			struct index_match *matches, size_t *kept)
{
	const size_t by_bytes = *kept, most = *kept + index_most(q);
	const struct index_visibility *v = q->visibility;
	struct picture_found *all;
	size_t count, i, k;
	int err = find_pictures(ix, q, own, &all, &count);

	for (i = 0; i < count && *kept < most && !err; i++) {
		const struct picture_found *found = &all[i];
		const struct verdict verdict =
			verdict_of_picture(found->bits, found->turn, &q->rules);

		if (v && !v->is_visible(v->arg, found->content, found->id))
			continue;
		for (k = 0; k < by_bytes; k++)
			if (matches[k].content == found->content)
				break;
		if (k == by_bytes)
			matches[(*kept)++] = (struct index_match){
				.content = found->content,
				.verdict = verdict,
			};
		else if (matches[k].verdict.score < verdict.score)
			matches[k].verdict = verdict;
	}
	free(all);
	return err;
}

/* ---- all ---- */

struct index_search {
	struct view view;
	struct weighed_subject own;
	struct sketch room[SUBJECT_PARTS];
	struct index_candidate candidates[];
};

int index_search(struct index *ix, const struct index_query *q,
		 const struct index_store *store, struct index_match *out,
		 size_t *count_out)
{
	const size_t most = index_most(q);
	struct index_match *matches;
	struct index_search *s;
	struct subject other;
	size_t count, kept = 0, i;
	int err;

	s = malloc(sizeof(*s) + SUBJECT_PARTS * most * sizeof(*s->candidates));
	/* The last ones for pictures. */
	matches = calloc((SUBJECT_PARTS + 1) * most, sizeof(*matches));
	err = s && matches ? 0 : -ENOMEM;
	if (!err)
		err = index_candidates(ix, q, true, s->candidates, most,
				       &count);
	if (!err) {
		view_init(&s->view, ix, q->visibility);
		err = view_weigh(&s->view, &q->subject, &s->own);
	}
	for (i = 0; !err && i < count && !(q->any && kept); i++) {
		const struct index_candidate *c = &s->candidates[i];
		struct index_match *m = &matches[kept];

		m->content = c->content;
		err = index_fetch_subject(
			store, (const uint32_t[]){ c->content, c->text },
			s->room, &other);
		if (!err)
			err = view_judge(&s->view, &s->own, &other, &q->rules,
					 &m->verdict);
		kept += !err && judge_lists(&q->rules, &m->verdict);
	}
	if (!err && s->own.has_picture && judge_has_pictures(&q->rules))
		err = add_pictures(ix, q, &s->own, matches, &kept);
	if (!err && kept) {
		qsort(matches, kept, sizeof(*matches), index_match_order);
		kept = kept < most ? kept : most;
		memcpy(out, matches, kept * sizeof(*out));
	}
	if (!err)
		*count_out = kept;
	free(s);
	free(matches);
	return err;
}
