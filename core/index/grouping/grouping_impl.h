/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_GROUPING_GROUPING_IMPL_H
#define CORE_INDEX_GROUPING_GROUPING_IMPL_H

#include "core/index/weight.h"
#include "core/index/grouping/grouping.h"
#include "core/index/grouping/grouping_keys.h"
#include "core/index/judge.h"

/* Private to core/index: a grouping that is under way. */

#define NO_HEAD UINT32_MAX

/* What step 4 knows of the contents, by rank. */
struct star {
	uint32_t *head;   /* its rank, or NO_HEAD */
	uint8_t *score;   /* with the head */
	uint8_t *plain;   /* keys that it is entered under */
	uint32_t mark;    /* of the sketch of a head that is at hand */
	uint32_t *seen;   /* the last mark that met it */
	uint8_t *matches; /* ... and so many equal keys, or more */
	uint32_t *met;    /* the candidates of the head at hand */
	size_t met_count, met_room;
};

struct grouping {
	struct group_rules rules;
	struct group_content *contents; /* by rank after the first step */
	size_t count, room;
	uint32_t *by_id; /* ranks by ascending ids, as they are stored */
	const struct group_source *source; /* while it runs */
	struct key_rules key_rules;
	struct frequency *frequency;
	struct key_table keys;
	struct star star;
	struct sketch sketch, other;
	struct weighed_sketch weighed; /* of the head, if is_weighed */
	bool is_weighed;
	int which; /* of the head's sketches g->sketch is */
	struct sketch_keys sketch_keys;
};

/* One of the sketches of a content, 0 or 1.  -ENOENT: it has none. */
enum { GROUPING_SKETCHES = 2 };
int grouping_read(const struct grouping *g, uint32_t rank, int which,
		  struct sketch *out);

/* ---- grouping_star.c ---- */

int star_init(struct star *s, size_t count);
void star_release(struct star *s);

/* Makes the content of that rank a head, if it has none, and finds members for
 * it.  Adds the work. */
int star_add_head(struct grouping *g, uint32_t rank, size_t *work);

/* ---- grouping_set.c ---- */

/* Makes the set of the heads. */
int grouping_collect(struct grouping *g, struct group_set **out);

#endif
