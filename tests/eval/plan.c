/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/plan.h"

#include <stdlib.h>

#include "tests/eval/eval.h"

#define SMALLEST 64
#define FULL_UP_TO (64 * KIB)

static size_t bases_of(const struct plan *plan, size_t octave)
{
	size_t bases = plan->bases;

	if (octave > FULL_UP_TO)
		bases /= 4;
	if (octave > MIB)
		bases /= 4;
	return bases ? bases : 1;
}

static size_t edits_of(const struct plan *plan, size_t len)
{
	size_t edits = plan->edits;

	if (len > 4 * MIB)
		edits /= 2;
	if (len > 16 * MIB)
		edits /= 2;
	return edits ? edits : 1;
}

size_t plan_bytes(const struct plan *plan)
{
	size_t bytes = 0, octave;

	for (octave = SMALLEST; octave <= plan->largest; octave *= 2)
		bytes += 2 * octave * bases_of(plan, octave);
	return bytes + bytes / 3 + 4;
}

/* Every edit is as likely as another, none comes twice. */
static void add_edits(struct corpus *c, size_t count, uint64_t *state)
{
	size_t all = edit_count(), i, other, *order;
	struct edit e;

	order = allocate(all * sizeof(*order));
	for (i = 0; i < all; i++)
		order[i] = i;
	for (i = 0; i < all && i < count; i++) {
		other = i + draw_below(state, all - i);
		e = edit_at(order[other]);
		order[other] = order[i];
		e.seed = draw(state);
		corpus_add_edit(c, &e);
	}
	free(order);
}

void plan_file(struct corpus *c, const struct plan *plan, const char *name,
	       const struct base *base)
{
	uint64_t state = hash_text(name);

	corpus_add_base(c, name, base);
	add_edits(c, edits_of(plan, base->content.len), &state);
}

void plan_material(struct corpus *c, const struct plan *plan,
		   struct material *m)
{
	uint64_t state = hash_text(m->name);
	struct base base = { .donor = material_donor(m) };
	size_t octave, i;
	char *name;

	for (octave = SMALLEST; octave <= plan->largest; octave *= 2) {
		for (i = 0; i < bases_of(plan, octave); i++) {
			if (!material_cut(m,
					  octave + draw_below(&state, octave),
					  &base.content))
				return;
			name = allocate_text("%s/%zu/%zu", m->name, octave, i);
			plan_file(c, plan, name, &base);
			free(name);
		}
	}
}

/* ---- parts ---- */

#define PARTS_BASES 3 /* of an octave */
#define PARTS_SMALLEST (32 * KIB)
#define PARTS_LARGEST (512 * KIB)
#define PARTS_OF_A_SIZE 4 /* the last one is mostly replaced */

/* In 1/10000 of the base. */
static const unsigned part_amounts[] = { 2500, 600, 200, 110, 40 };

#define PART_AMOUNTS (sizeof(part_amounts) / sizeof(*part_amounts))

size_t plan_parts_bytes(void)
{
	return 4 * PARTS_LARGEST * PARTS_BASES * 4 / 3 + 4;
}

static void add_parts(struct corpus *c, const char *name,
		      const struct base *base)
{
	uint64_t state = hash_text(name);
	struct edit e;
	size_t i, j;

	corpus_add_base(c, name, base);
	for (i = 0; i < PART_AMOUNTS; i++)
		for (j = 1; j <= PARTS_OF_A_SIZE; j++) {
			e.kind = j < PARTS_OF_A_SIZE ? EDIT_PART : EDIT_LESS;
			e.amount = part_amounts[i];
			e.seed = draw(&state);
			corpus_add_edit(c, &e);
		}
}

void plan_parts(struct corpus *c, struct material *m)
{
	uint64_t state = hash_text(m->name);
	struct base base = { .donor = material_donor(m) };
	size_t octave, i;
	char *name;

	for (octave = PARTS_SMALLEST; octave <= PARTS_LARGEST; octave *= 2) {
		for (i = 0; i < PARTS_BASES; i++) {
			if (!material_cut(m,
					  octave + draw_below(&state, octave),
					  &base.content))
				return;
			name = allocate_text(PARTS_GROUP "%s/%zu/%zu", m->name,
					     octave, i);
			add_parts(c, name, &base);
			free(name);
		}
	}
}
