/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/own.h"

#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "tests/eval/eval.h"

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool is_source(const FTSENT *entry)
{
	const char *suffix = strrchr(entry->fts_name, '.');

	return entry->fts_info == FTS_F && suffix && !strcmp(suffix, ".c");
}

/* The one before is the donor; the first gives to itself. */
static void add_source(struct own *own, struct corpus *c,
		       const struct plan *plan, const char *path)
{
	struct base base;
	char *name;

	if (!file_read(path, MIB, &base.content))
		return;
	own->contents =
		grown(own->contents, own->count, sizeof(*own->contents));
	own->contents[own->count] = base.content;
	base.donor = own->contents[own->count ? own->count - 1 : 0];
	own->count++;
	name = allocate_text("own/%s", path);
	plan_file(c, plan, name, &base);
	free(name);
}

void own_add(struct own *own, struct corpus *c, const struct plan *plan,
	     const char *directory)
{
	char *path = allocate_text("%s", directory);
	char *const paths[] = { path, NULL };
	const FTSENT *entry;
	FTS *fts;

	fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	if (!fts)
		fail("%s: cannot be read", directory);
	while ((entry = fts_read(fts)))
		if (is_source(entry))
			add_source(own, c, plan, entry->fts_path);
	(void)fts_close(fts);
	free(path);
}

void own_release(struct own *own)
{
	size_t i;

	for (i = 0; i < own->count; i++)
		free(own->contents[i].data);
	free(own->contents);
}
