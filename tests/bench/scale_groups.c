/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/scale.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/catalog/catalog.h"
#include "core/index/grouping/grouping.h"
#include "tests/bench/bench.h"
#include "tests/support/catalog_open.h"

/* Groups of all contents of a catalog, without a mount. */

enum { THRESHOLD = 60 };

struct collecting {
	struct catalog_txn *txn;
	struct grouping *grouping;
	struct group_content content; /* at hand */
	bool exact;
};

static void add_content(struct collecting *c)
{
	struct digests d;

	if (!c->content.content || (c->exact && c->content.files < 2))
		return;
	fail_errno("content",
		   catalog_content_get(c->txn, c->content.content, 0, &d));
	c->content.size = d.size;
	memcpy(c->content.xxh128, d.xxh128, sizeof(d.xxh128));
	fail_errno("grouping", grouping_add(c->grouping, &c->content));
}

static void take_files(struct collecting *c)
{
	struct catalog_walk *walk;
	struct file_key key;
	uint32_t content;
	int found;

	fail_errno("copies", catalog_copies_begin(c->txn, 1, &walk));
	while ((found = catalog_copies_next(walk, &content, &key)) == 1) {
		if (content != c->content.content) {
			add_content(c);
			c->content =
				(struct group_content){ .content = content };
		}
		c->content.files++;
	}
	fail_errno("copies", found);
	catalog_walk_end(walk);
	add_content(c);
}

static int fetch_sketch(void *arg, uint32_t content, struct sketch *out)
{
	return catalog_sketch_get(arg, content, out);
}

static double heap_mib(void)
{
	struct mallinfo2 m = mallinfo2();

	return (double)(m.uordblks + m.hblkhd) / (double)MIB;
}

/* Looks at the memory that is taken now and then. */
static int look_at_memory(void *arg, size_t work, unsigned done)
{
	static size_t sum;
	double *most = arg;

	(void)done;
	sum += work;
	if (sum < 4096)
		return 0;
	sum = 0;
	if (heap_mib() > *most)
		*most = heap_mib();
	return 0;
}

static struct group_set *find_groups(struct catalog_txn *txn, bool exact)
{
	const struct group_rules rules = { .threshold = THRESHOLD,
					   .exact = exact };
	double start = scale_clock(), before = heap_mib(), most = 0;
	const struct group_source source = {
		.store = { .sketch = fetch_sketch, .arg = txn },
		.spent = look_at_memory,
		.arg = &most,
	};
	struct collecting c = { .txn = txn, .exact = exact };
	double cpu = cpu_seconds();
	struct group_set *set;

	fail_errno("grouping", grouping_new(&rules, &c.grouping));
	take_files(&c);
	scale_figure(exact ? "exact.collect" : "groups.collect", "s",
		     scale_clock() - start);
	fail_errno("grouping", grouping_run(c.grouping, &source, &set));
	grouping_free(c.grouping);
	scale_figure(exact ? "exact.time" : "groups.time", "s",
		     scale_clock() - start);
	scale_figure(exact ? "exact.cpu" : "groups.cpu", "s",
		     cpu_seconds() - cpu);
	scale_figure(exact ? "exact.memory" : "groups.memory", "MiB",
		     most - before);
	return set;
}

void scale_groups(const struct scale *s)
{
	struct catalog_options options = { .source = "/",
					   .digest_set = DIGEST_DEFAULT };
	struct buf directory = { 0 };
	struct catalog *catalog = NULL;
	struct catalog_txn *txn;
	struct group_set *set;

	fail_errno("buf",
		   buf_append_format(&directory, "%s/catalog", s->directory));
	options.directory = directory.data;
	fail_errno("catalog", catalog_open(&options, &catalog));
	fail_errno("catalog", catalog_read(catalog, &txn));
	set = find_groups(txn, true);
	scale_figure("exact.groups", "", (double)set->count);
	group_set_free(set);
	set = find_groups(txn, false);
	scale_figure("groups.groups", "", (double)set->count);
	scale_figure("groups.members", "", (double)set->member_count);
	group_set_free(set);
	catalog_abort(txn);
	catalog_free(catalog);
	buf_release(&directory);
}
