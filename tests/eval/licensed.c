/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/licensed.h"

#include <stdlib.h>
#include <string.h>

#include "tests/eval/eval.h"
#include "tests/eval/truth.h"

/* Many more than a value may have and still count fully, as the licences of a
 * real tree do. */
#define FAMILIES 320
#define VERSIONS 2 /* of a source, besides the first */
#define LICENCES 8 /* so that no figure hangs on one pair of sources */
#define LENGTHS 2
#define TEXT_CLASS 0
#define SOURCE_CLASS 1
#define SEED 17

static const size_t licence_bytes[LENGTHS] = { 700, 1500 };

/* How much of a material is left when it is folded: of sources less than of
 * licences, which have hardly any punctuation. */
static double folded_part(const struct material *m)
{
	uint8_t *folded = allocate(m->pool.len);
	size_t left = fold(m->pool.data, m->pool.len, folded);

	free(folded);
	return (double)left / (double)m->pool.len;
}

/* A body so long that the licence is 20 to 80 % of the whole, folded. */
static size_t body_bytes(const struct licensed *l, size_t licence,
			 uint64_t *state)
{
	size_t bytes =
		licence / 4 + draw_below(state, 4 * licence - licence / 4);

	return (size_t)((double)bytes * l->folded);
}

static struct bytes join(const struct bytes *licence, const struct bytes *body)
{
	struct bytes b = { .len = licence->len + body->len };

	b.data = allocate(b.len);
	memcpy(b.data, licence->data, licence->len);
	memcpy(b.data + licence->len, body->data, body->len);
	return b;
}

/* Edits that leave the licence and most of the rest.  In what is cut off until
 * little but the licence is left, that is the content and no boilerplate. */
static void add_versions(struct corpus *c, uint64_t *state)
{
	static const enum edit_kind kinds[] = { EDIT_INSERT, EDIT_REPLACE,
						EDIT_APPEND, EDIT_HUNKS };
	struct edit e;
	size_t i;

	for (i = 0; i < VERSIONS; i++) {
		e.kind = kinds[draw_below(state, 4)];
		e.amount = 100 + (unsigned)draw_below(state, 1900);
		e.seed = draw(state);
		corpus_add_edit(c, &e);
	}
}

static void add_family(struct licensed *l, struct corpus *c,
		       const struct bytes *licence, const char *name,
		       uint64_t *state)
{
	struct base base = { .donor = material_donor(&l->sources) };
	struct bytes body;

	if (!material_cut(&l->sources, body_bytes(l, licence->len, state),
			  &body))
		fail("%s: the material is used up", name);
	base.content = join(licence, &body);
	l->contents = grown(l->contents, l->count, sizeof(*l->contents));
	l->contents[l->count++] = base.content;
	corpus_add_base(c, name, &base);
	add_versions(c, state);
}

void licensed_add(struct licensed *l, struct corpus *c)
{
	uint64_t state = hash_text(LICENSED_GROUP);
	struct bytes licence;
	size_t i, family, len, most = 0;
	char *name;

	for (i = 0; i < LICENCES; i++)
		most += 8 * licence_bytes[i % LENGTHS] * FAMILIES;
	l->sources = material_generate(SOURCE_CLASS, SEED, most + most / 3 + 4);
	l->licences = material_generate(TEXT_CLASS, SEED, 64 * KIB);
	l->folded = folded_part(&l->licences) / folded_part(&l->sources);
	for (i = 0; i < LICENCES; i++) {
		len = licence_bytes[i % LENGTHS];
		if (!material_cut(&l->licences, len, &licence))
			fail("licences: the material is used up");
		for (family = 0; family < FAMILIES; family++) {
			name = allocate_text(LICENSED_GROUP "%zu/%zu", i,
					     family);
			add_family(l, c, &licence, name, &state);
			free(name);
		}
	}
}

void licensed_release(struct licensed *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		free(l->contents[i].data);
	free(l->contents);
	material_release(&l->sources);
	material_release(&l->licences);
}
