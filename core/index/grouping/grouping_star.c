/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/base/array.h"
#include "core/index/grouping/grouping_impl.h"

/* Heads and their members. */

/* ---- comparing ---- */

/* 1 when they are alike enough. */
static int try_member(struct grouping *g, uint32_t head, uint32_t rank)
{
	const struct weigher w = { .frequency = g->frequency };
	const struct judge_rules rules = {
		.relation = INDEX_ALIKE,
		.threshold = g->rules.threshold,
	};
	struct star *s = &g->stars[rank];
	struct verdict v;
	int err = grouping_read(g, rank, g->others, &g->other);

	if (err)
		return err;
	/* Most heads have no candidate, so it is done for the first one. */
	if (!g->is_weighed)
		weigh_subject(&w, &g->subject, &g->weighed);
	g->is_weighed = true;
	judge_subjects(&w, &g->weighed, &g->other, &rules, &v);
	if (!judge_lists(&rules, &v))
		return 0;
	if (s->head == NO_HEAD || v.score > s->score) {
		s->head = head;
		s->score = (uint8_t)v.score;
		s->by = (uint8_t)v.by;
	}
	return 1;
}

/* ---- candidates ---- */

static int meet(struct grouping *g, uint32_t rank)
{
	struct star *s = &g->stars[rank];
	uint32_t *met;

	if (s->seen == g->mark) {
		if (s->matches < UINT8_MAX)
			s->matches++;
		return 0;
	}
	s->seen = g->mark;
	s->matches = 1;
	met = array_with_room(g->met, g->met_count, sizeof(*met));
	if (!met)
		return -ENOMEM;
	g->met = met;
	g->met[g->met_count++] = rank;
	return 0;
}

static int meet_by_plain_keys(struct grouping *g,
			      const struct sketch_keys *keys)
{
	const uint64_t *entries;
	size_t i, k, count;
	int err = 0;

	for (i = 0; i < keys->plain; i++) {
		count = key_table_find(&g->keys, keys->keys[i], &entries);
		for (k = 0; k < count && !err; k++)
			err = meet(g, key_entry_rank(entries[k]));
	}
	return err;
}

static int try_met(struct grouping *g, uint32_t head, size_t *work)
{
	size_t i;
	int err = 0;

	for (i = 0; i < g->met_count && err >= 0; i++) {
		const uint32_t rank = g->met[i];
		const struct star *s = &g->stars[rank];
		unsigned least = g->key_rules.least;

		if (s->plain < g->key_rules.plain)
			least = 1;
		if (s->head == rank || s->matches < least)
			continue;
		err = try_member(g, head, rank);
		++*work;
	}
	return err < 0 ? err : 0;
}

/*
 * Those that have a band in common may be very many, all alike or hardly any.
 * As long as they mostly are, it goes on; each of them costs one comparison,
 * and is compared no more once it is a member.
 */
enum { BAND_FAILURES = 64, BAND_PASSED = 4096 };

static int try_bands(struct grouping *g, const struct sketch_keys *keys,
		     uint32_t head, size_t *work)
{
	size_t tried = 0, alike = 0, passed = 0, band, k, count;
	const uint64_t *entries;

	for (band = 0; band < keys->bands; band++) {
		count = key_table_find(&g->keys, keys->keys[keys->plain + band],
				       &entries);
		for (k = 0; k < count; k++) {
			const uint32_t rank = key_entry_rank(entries[k]);
			const struct star *s = &g->stars[rank];
			int result;

			if (tried - alike > BAND_FAILURES + 4 * alike ||
			    passed > BAND_PASSED + 64 * alike)
				return 0;
			passed++;
			if (s->head != NO_HEAD ||
			    (s->seen == g->mark &&
			     s->matches >= g->key_rules.least))
				continue;
			result = try_member(g, head, rank);
			if (result < 0)
				return result;
			++*work;
			tried++;
			alike += (size_t)result;
		}
	}
	return 0;
}

int star_add_head(struct grouping *g, uint32_t rank, size_t *work)
{
	int part, err;

	if (g->stars[rank].head != NO_HEAD)
		return 0;
	g->stars[rank].head = rank;
	++*work;
	err = grouping_read(g, rank, g->sketches, &g->subject);
	g->mark++;
	g->met_count = 0;
	g->is_weighed = false;
	for (part = 0; part < SUBJECT_PARTS && !err; part++) {
		g->keys_of[part] = (struct sketch_keys){ .plain = 0 };
		if (g->subject.sketches[part])
			sketch_keys_of(g->subject.sketches[part], g->frequency,
				       g->key_rules.looked_up,
				       &g->keys_of[part]);
		err = meet_by_plain_keys(g, &g->keys_of[part]);
	}
	if (!err)
		err = try_met(g, rank, work);
	for (part = 0; part < SUBJECT_PARTS && !err; part++)
		err = try_bands(g, &g->keys_of[part], rank, work);
	return err;
}
